"""An array's file, and the index that picks a task of it."""

from __future__ import annotations

import pytest

from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.runner.fleet.cell_array import arrays_of, task_of_index
from enginescope.runner.fleet.cell_task import packed_task, packed_tasks
from enginescope.services.suites.remote_cell import main
from tests.runner.fleet.cells import cell

VARIABLES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")


@pytest.fixture(autouse=True)
def no_index(monkeypatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", VARIABLES)
def test_the_index_picks_the_cell(monkeypatch, variable) -> None:
    data = packed_tasks([cell("a"), cell("b")], "cmd")
    monkeypatch.setenv(variable, "1")
    task = task_of_index(data)
    assert (task.cell.key, task.command, task.is_placed) == ("b", "cmd", True)


def test_a_pod_that_submits_to_slurm(monkeypatch) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    assert task_of_index(packed_tasks([cell("a"), cell("b")], None)).cell.key == "b"


@pytest.mark.parametrize("index", [None, "", "2", "-1", "x", "²"])
def test_an_index_of_no_cell(monkeypatch, index) -> None:
    if index is not None:
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", index)
    with pytest.raises(UsageError, match="the array has 2 cells") as caught:
        task_of_index(packed_tasks([cell("a"), cell("b")], None))
    assert "JOB_COMPLETION_INDEX" in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"nothing", packed_task(cell(), None), b"\x91" * 5_000])
def test_a_file_of_something_else(monkeypatch, data) -> None:
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "0")
    with pytest.raises(FormatError, match="an array of remote tasks"):
        task_of_index(data)


def test_a_task_writes_the_result_of_its_cell(tmp_path, monkeypatch) -> None:
    (array,) = arrays_of([cell("a", "fake"), cell("b", "fake")], tmp_path)
    array.write(None)
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    python, *arguments = array.arguments()
    assert python == "-m"
    assert main(arguments[1:]) == 0
    assert [file.name for file in (tmp_path / "returned").iterdir()] == ["b"]


def test_a_folder_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "tasks").touch()
    (array,) = arrays_of([cell()], tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        array.write(None)
