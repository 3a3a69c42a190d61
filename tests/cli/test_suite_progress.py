"""What is shown of a suite while it runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.live import Live

from enginescope.backends.base import Progress
from enginescope.cli import suite_progress
from enginescope.cli.suite_progress import SuiteProgress
from tests.suites.made import cell


@pytest.fixture
def progress(monkeypatch) -> SuiteProgress:
    shown = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(suite_progress, "live_lines", lambda _console: Live(console=shown))
    return SuiteProgress(todo=2, before=0)


def lines(progress: SuiteProgress) -> list[str]:
    return str(progress._live.renderable).splitlines()[1:]


def test_which_of_several_processes_measures(progress) -> None:
    one = cell(mode="both", processes=3)
    watcher = progress.watcher(0)
    progress.started(one, 0)
    watcher.progressed(0, Progress(phase="answers"))
    assert lines(progress) == ["  m · ort-cpu: answering"]
    for number in (0, 1):
        watcher.started(number, one.job)
        watcher.progressed(number, Progress(phase="load"))
        said = f"  m · ort-cpu: process {number + 1} of 3, loading the model"
        assert lines(progress) == [said]
    progress.started(one, 0)
    watcher.progressed(0, Progress(phase="answers"))
    assert lines(progress) == ["  m · ort-cpu: answering"]


def test_one_process_is_not_counted(progress) -> None:
    one = cell()
    progress.started(one, 0)
    progress.watcher(0).started(0, one.job)
    progress.watcher(0).progressed(0, Progress(phase="load"))
    assert lines(progress) == ["  m · ort-cpu: loading the model"]


def test_a_cell_in_another_python_says_where_it_runs(progress) -> None:
    progress.started(cell("m", "ort-cpu@old"), 0)
    assert lines(progress) == ["  m · ort-cpu@old: runs in environment old"]
