"""What is shown of a suite while it runs."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.live import Live

from enginescope.cli.suites import suite_progress
from enginescope.cli.suites.suite import present
from enginescope.cli.suites.suite_progress import SuiteProgress
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.progress import Progress
from enginescope.runner.suites.suite_cells import resume_state
from enginescope.services.suites.request import SuiteObserver
from enginescope.services.suites.run import write_tables
from tests.suites.made import cell, result, timed


@pytest.fixture
def progress(monkeypatch) -> Iterator[SuiteProgress]:
    shown = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(suite_progress, "live_lines", lambda _console: Live(console=shown))
    plan = result([], cells=(cell("a"), cell("b"))).plan
    with SuiteProgress() as started:
        started.session_started(plan, resume_state(plan.cells, {}, None))
        yield started


def lines(progress: SuiteProgress) -> list[str]:
    return str(progress._live.get_renderable()).splitlines()[1:]


def test_which_of_several_processes_measures(progress) -> None:
    one = cell(mode="both", processes=3)
    progress.cell_started(one, 0)
    progress.cell_progressed(0, Progress(phase="answers"))
    assert lines(progress) == ["  m · ort-cpu: answering"]
    for number in (0, 1):
        progress.process_started(0, number)
        progress.cell_progressed(0, Progress(phase="load"))
        said = f"  m · ort-cpu: process {number + 1} of 3, loading the model"
        assert lines(progress) == [said]
    progress.cell_started(one, 0)
    progress.cell_progressed(0, Progress(phase="answers"))
    assert lines(progress) == ["  m · ort-cpu: answering"]


def test_one_process_is_not_counted_and_another_python_is_named(progress) -> None:
    progress.cell_started(cell(), 0)
    progress.process_started(0, 0)
    progress.cell_progressed(0, Progress(phase="load"))
    assert lines(progress) == ["  m · ort-cpu: loading the model"]
    progress.cell_started(cell("m", "ort-cpu@old"), 0)
    assert lines(progress) == ["  m · ort-cpu@old: runs in environment old"]


def test_busy_cells_and_what_could_not_be_read_are_named(capsys, tmp_path) -> None:
    busy, calm = replace(timed(cell("a"), 1.0), is_unstable=True), timed(cell("b"), 1.0)
    made = result((busy, calm))
    rows = {row.cell.key: row for row in (busy, calm)}
    with SuiteProgress() as started:
        started.session_started(made.plan, resume_state(made.plan.cells, rows, None))
    assert "1 cell measured on a busy machine (!); --retry-busy runs" in capsys.readouterr().err
    stray = Notice(code="W-SUITE-LINE", message="line 2 of cells.jsonl cannot be read")
    for one, count in ((made, 0), (replace(made, notices=(stray,)), 1)):
        write_tables(one, tmp_path, SuiteObserver())
        present(one, tmp_path, as_json=False)
        assert capsys.readouterr().out.count("! line 2 of cells.jsonl cannot") == count
        assert (tmp_path / "suite.html").read_text().count("line 2 of cells.jsonl") == 2 * count
