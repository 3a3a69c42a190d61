"""Being told to end: said once, with what stands."""

import pytest

from enginescope.cli.main import main
from enginescope.services.suites import run, session


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_suite_says_it_once(tmp_path, convnet, monkeypatch, capsys) -> None:
    monkeypatch.setattr(session, "run_cells", interrupted)
    asked = ["suite", str(convnet.parent), "--include", convnet.stem, "--on", "fake"]
    assert main([*asked, "--name", "zoo", "--store", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 1 cells are done; run the same command" in said
    assert (tmp_path / "suites" / "zoo" / "results.csv").is_file()


@pytest.mark.parametrize(("raised", "ended"), [(KeyboardInterrupt, 130), (SystemExit(143), 143)])
def test_a_fleet_says_it_once(tmp_path, convnet, monkeypatch, capsys, raised, ended) -> None:
    class Fleet:
        def run(self, *_: object) -> None:
            raise raised

    monkeypatch.setattr(run, "fleet_for", lambda *_: Fleet())
    asked = ["suite", str(convnet.parent), "--on", "fake", "--on", "ort-cpu", "--in-docker", "i"]
    asked += ["--include", convnet.stem, "--name", "zoo", "--store", str(tmp_path)]
    try:
        status = main(asked)
    except SystemExit as leave:  # as it does at the top
        status = leave.code
    assert status == ended
    said = capsys.readouterr().err
    assert said.count("interrupted") == 1
    assert "enginescope: interrupted; 0 of 2 cells are done; run the same command" in said


def test_a_suite_that_ends_before_its_first_cell_says_so(
    tmp_path, convnet, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(run, "environment_fingerprint", interrupted)
    asked = ["suite", str(convnet.parent), "--on", "fake", "--name", "zoo"]
    assert main([*asked, "--store", str(tmp_path)]) == 130
    assert "enginescope: interrupted; no cell was started" in capsys.readouterr().err
