"""What sbatch is asked for, and what becomes of tasks that leave the queue."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from enginescope.core.errors import BackendError, UsageError
from enginescope.runner.fleet import slurm_fleet, slurm_queue
from enginescope.runner.fleet.cell_array import CellArray, arrays_of
from enginescope.runner.fleet.cell_task import (
    REMOTE_CELL,
    CellTaskResult,
    longest_s,
    packed_returned,
)
from enginescope.runner.fleet.slurm_fleet import SlurmFleet
from enginescope.runner.fleet.slurm_queue import SlurmQueue
from tests.runner.fleet.cells import Heard, cell, row

#: What a task does: leaves its result, a damaged one, or none.
FINE, DAMAGED, NONE = packed_returned(CellTaskResult(row=row(cell()))), b"damaged", None


class Queue:
    """A queue whose tasks end between two looks, each as its cell's key says for each attempt."""

    late_s = 0.0

    def __init__(self, ends: dict[str, list[bytes | None]]) -> None:
        self.ends, self.arrays = ends, []
        self.is_canceled = False

    def submit(self, array: CellArray, options: Mapping[str, str], logs: Path) -> str:
        self.arrays.append(array)
        for index, one in enumerate(array.cells):
            assert not array.result(one).exists()
            left = self.ends[one.key].pop(0)
            if left is None:
                (logs / f"{len(self.arrays)}_{index}.log").write_text("begun\nNODE FAILURE\n\n")
            else:
                array.result(one).write_bytes(left)
        return str(len(self.arrays))

    def places(self) -> Mapping[str, str]:
        return {}

    def cancel(self) -> None:
        self.is_canceled = True


@pytest.fixture
def ran(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm_fleet, "_LOOK_S", 0.01)

    def run(heard: Heard, **ends: list[bytes | None]) -> Queue:
        fleet = SlurmFleet(tmp_path, {})
        fleet._queue = queue = Queue(ends)
        fleet.run([cell(key) for key in ends], "cmd", heard.watch)
        return queue

    return run


def test_lost_and_damaged_results_are_run_once_more(ran, tmp_path) -> None:
    heard = Heard()
    (tmp_path / "returned").mkdir()
    (tmp_path / "returned" / "fine").write_bytes(b"damaged in a former session")
    queue = ran(
        heard, fine=[FINE], once=[NONE, FINE], spoilt=[DAMAGED, FINE], never=[NONE, DAMAGED]
    )
    assert len(heard.returned) == 3
    assert [key for key, _ in heard.again] == ["once", "spoilt", "never"]
    assert heard.again[0][1] == "job 1_1 was lost (NODE FAILURE)"
    assert f"{tmp_path}/returned/spoilt: the result of a remote task" in heard.again[1][1]
    (lost,) = heard.lost
    assert (lost.cell.key, lost.attempts) == ("never", 2)
    assert "its job was lost 2 times" in lost.reason
    assert [len(array.cells) for array in queue.arrays] == [4, 3]  # one array of what was lost
    assert not queue.is_canceled


def test_an_interruption_cancels_what_was_submitted(ran, monkeypatch) -> None:
    queues = []
    monkeypatch.setattr(Queue, "places", lambda queue: queues.append(queue) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ran(Heard(), fine=[FINE])
    assert queues[0].is_canceled


def asked(tmp_path, *cells, jobs: int | None = None, **options: str) -> dict[str, str]:
    (array,) = arrays_of(cells, tmp_path)
    return SlurmFleet(tmp_path, {"partition": "gpu", **options}, jobs).options_of(array)


def test_what_an_array_asks_for(tmp_path) -> None:
    common = {"partition": "gpu", "no-requeue": ""}
    on_gpu = asked(tmp_path, cell(backend="trt", gpu="H200"), cell("k1", backend="trt", gpu="H200"))
    assert on_gpu == {**common, "array": "0-1", "time": "132", "gres": "gpu:h200:1"}
    assert asked(tmp_path, cell(backend="trt"))["gres"] == "gpu:1"
    alone = asked(tmp_path, cell(backend="trt", exclusive=True))
    assert {"exclusive", "gres"} <= alone.keys()
    on_cpu = asked(tmp_path, cell(), cell("k1", processes=3), jobs=1)
    assert on_cpu == {**common, "array": "0-1%1", "time": "32", "exclusive": ""}
    own = asked(tmp_path, cell(backend="trt", gpu="H200"), gres="gpu:a100:2", cpus_per_task="8")
    assert (own["gres"], own["cpus-per-task"]) == ("gpu:a100:2", "8")


@pytest.mark.parametrize("name", ["array", "job_name", "job-name", "wrap", "parsable"])
def test_options_by_which_tasks_are_found(tmp_path, name) -> None:
    with pytest.raises(UsageError, match="enginescope sets it"):
        SlurmFleet(tmp_path, {name: "x"})


def test_cells_that_ask_for_the_same_are_one_array(tmp_path) -> None:
    gpu = {"backend": "trt", "gpu": "H200"}
    cells = [cell("a"), cell("b", **gpu), cell("c"), cell("d", backend="trt"), cell("e", **gpu)]
    arrays = arrays_of(cells, tmp_path)
    assert [[one.key for one in array.cells] for array in arrays] == [["a", "c"], ["b", "e"], ["d"]]
    assert len({array.name for array in arrays}) == 3
    many = arrays_of([cell(str(number)) for number in range(1_001)], tmp_path)
    assert [len(array.cells) for array in many] == [1_000, 1]  # MaxArraySize


def test_the_time_of_a_task_covers_what_a_cell_may_take() -> None:
    assert longest_s(cell()) == 720
    assert longest_s(cell(retries=1)) == 1_320
    assert longest_s(cell(processes=3)) == 120 + 3 * 600
    assert longest_s(cell(backend="trt")) == 720 + 7_200
    # both sides say what they take, and answer; only then is it measured
    assert longest_s(cell(mode="validate")) == 120 + 4 * 600
    assert longest_s(cell(mode="both", retries=1)) == 120 + (4 + 2) * 600
    assert longest_s(cell(backend="trt", mode="validate")) == 120 + 4 * 600 + 2 * 7_200
    assert longest_s(cell(precision="fp16")) == 720 + 7_200  # of a model that is made first


class Commands:
    """Commands of Slurm that print what the test says, or fail."""

    def __init__(self, monkeypatch) -> None:
        self.calls: list[list[str]] = []
        self.prints, self.fails = "", None
        monkeypatch.setattr(slurm_queue.subprocess, "run", self.run)

    def run(self, command, **options) -> subprocess.CompletedProcess[bytes]:
        self.calls.append(command)
        assert not any(name.startswith("SQUEUE_") for name in options["env"])
        why = (self.fails or "").encode()
        return subprocess.CompletedProcess(command, bool(why), self.prints.encode(), why)


@pytest.fixture
def commands(monkeypatch) -> Commands:
    monkeypatch.setenv("SQUEUE_STATES", "R")
    return Commands(monkeypatch)


def test_the_command_lines(tmp_path, commands) -> None:
    folder = tmp_path / "two words 100%"
    (array,) = arrays_of([cell("a"), cell("b")], folder)
    queue = SlurmQueue()
    commands.prints = "sbatch: a word of the site\n1234;cluster\n"
    assert queue.submit(array, {"array": "0-1", "exclusive": ""}, folder / "slurm") == "1234"
    program, *flags = commands.calls[0]
    assert program == "sbatch"
    assert {"--parsable", "--array=0-1", "--exclusive"} <= set(flags)
    assert f"--output={tmp_path}/two words 100%%/slurm/%A_%a.log" in flags
    script = flags[-1].removeprefix("--wrap=exec ")
    results = folder / "returned"
    expected = [sys.executable, "-m", REMOTE_CELL, str(array.file), str(results), "indexed"]
    assert shlex.split(script) == expected
    assert queue.places() == {}  # none in what was printed
    commands.prints = "CLUSTER: a\n1234_0 node1\n1234_1 \n"
    assert queue.places() == {"1234_0": "node1", "1234_1": ""}
    name = next(one for one in flags if one.startswith("--job-name=")).partition("=")[2]
    assert f"--name={name}" in commands.calls[-1]
    queue.cancel()
    assert commands.calls[-1] == ["scancel", f"--name={name}"]


def test_a_squeue_that_fails_loses_no_task(tmp_path, commands, monkeypatch) -> None:
    (array,) = arrays_of([cell("a")], tmp_path)
    queue = SlurmQueue()
    commands.prints = "7\n"
    queue.submit(array, {}, tmp_path)
    commands.fails = "slurm_load_jobs error: Unable to contact slurm controller"
    assert queue.places() == {"7_0": ""}
    monkeypatch.setattr(slurm_queue, "_SILENCE_S", 0.0)
    with pytest.raises(BackendError, match="squeue does not list the jobs") as caught:
        queue.places()
    assert caught.value.why == commands.fails


def test_an_sbatch_that_says_no_number(tmp_path, commands) -> None:
    (array,) = arrays_of([cell("a")], tmp_path)
    commands.prints = "maintenance until noon"
    with pytest.raises(BackendError, match="Slurm accepts no jobs") as caught:
        SlurmQueue().submit(array, {}, tmp_path)
    assert caught.value.why == commands.prints
