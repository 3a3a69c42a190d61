"""Being told to end: said once, with what stands."""

from __future__ import annotations

import pytest

from enginescope.cli.main import main
from enginescope.cli.suite_fleet_sitting import FleetSitting
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder
from tests.suites.made import cell, result


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_suite_says_it_once(tmp_path, convnet, monkeypatch, capsys) -> None:
    monkeypatch.setattr("enginescope.cli.suite_sitting.run_cells", interrupted)
    asked = ["suite", str(convnet.parent), "--include", convnet.stem, "--on", "fake"]
    assert main([*asked, "--name", "zoo", "--store", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 1 cells are done, and the same command" in said
    assert (tmp_path / "suites" / "zoo" / "results.csv").is_file()


@pytest.mark.parametrize(("raised", "ended"), [(KeyboardInterrupt, 130), (SystemExit(143), 143)])
def test_a_fleet_says_it_once(tmp_path, monkeypatch, capsys, raised, ended) -> None:
    class Fleet:
        def run(self, *_: object) -> None:
            raise raised

    plan, store = result([], cells=(cell("a"), cell("b"))).plan, Store(tmp_path)
    sitting = FleetSitting(plan, SuiteFolder(tmp_path / "suite"), store)
    monkeypatch.setattr(
        "enginescope.cli.doctor.command.callback",
        lambda **_: sitting.run(plan.cells, Fleet(), quiet=True),
    )
    try:
        status = main(["doctor"])
    except SystemExit as leave:  # as it does at the top
        status = leave.code
    assert status == ended
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 2 cells are done, and the same command" in said
