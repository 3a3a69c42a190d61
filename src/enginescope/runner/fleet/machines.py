"""Machines of a fleet, which cell may start where, and the bytes that go to them and come back.

Two cells on one machine do not disturb each other only where each has a GPU of its own. So a cell
on the processor has a machine to itself, and so has one that asks for it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell, CellRow
from enginescope.runner.machine.gpu_condition import gpu_index
from enginescope.runner.session import makes_first


class Machine(Record, frozen=True, kw_only=True):
    """A machine as its fleet describes it.

    Attributes:
        cpus, gpus: That cells may have.
        kinds: Of its GPUs, as the fleet calls them.
    """

    id: str
    name: str
    cpus: int
    gpus: int = 0
    kinds: tuple[str, ...] = ()


class Share(Record, frozen=True, kw_only=True):
    """What of a machine a cell gets."""

    machine: Machine
    cpus: int
    gpus: int


def uses_gpu(cell: Cell) -> bool:
    """Whether a cell needs a GPU: its backend uses one, or it asks for a kind."""
    return cell.needs.gpu is not None or gpu_index(cell.job) is not None


def is_alone(cell: Cell) -> bool:
    """Whether a cell must have a machine to itself."""
    return cell.needs.exclusive or not uses_gpu(cell)


def suits(cell: Cell, machine: Machine) -> bool:
    """Whether a machine has what a cell asks for, busy or not."""
    if machine.cpus < 1 or (uses_gpu(cell) and machine.gpus < 1):
        return False
    wanted = cell.needs.gpu
    return wanted is None or any(is_kind(wanted, kind) for kind in machine.kinds)


def is_kind(wanted: str, kind: str) -> bool:
    """Whether a GPU, as its fleet or its driver calls it, is of the kind that was asked for.

    Capitals and marks do not count, and words before or after it do not either: ``h200`` is
    ``NVIDIA-H200``, and ``A100`` is ``A100-80G``, but not ``A1000``.
    """
    return f" {_words(wanted)} " in f" {_words(kind)} "


def place_for(
    cell: Cell, machines: Sequence[Machine], running: Mapping[str, Sequence[Cell]]
) -> Share | None:
    """Return where a cell may start now; ``None``: nowhere yet.

    Args:
        running: By the ids of machines.
    """
    for machine in machines:
        there = running.get(machine.id, ())
        if not suits(cell, machine) or any(is_alone(other) for other in there):
            continue
        if is_alone(cell):
            if not there:
                gpus = machine.gpus if cell.needs.exclusive else int(uses_gpu(cell))
                return Share(machine=machine, cpus=machine.cpus, gpus=gpus)
        elif len(there) < machine.gpus:
            return Share(machine=machine, cpus=max(1, machine.cpus // machine.gpus), gpus=1)
    return None


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


T = TypeVar("T")

#: Started with ``-m`` in containers and other Pythons; it takes the file of a task and of a result.
REMOTE_CELL = "enginescope.services.suites.remote_cell"
#: Folder of reference outputs, in a suite's folder.
REFERENCES = "references"

#: Runs a task where it is called: the bytes of a `CellTask` in, those of a `CellTaskResult` out.
Doing: TypeAlias = Callable[[bytes], bytes]


class CellTask(Record, frozen=True, kw_only=True):
    """A cell to be done elsewhere.

    Attributes:
        command: The command line to record.
        is_placed: The fleet has seen to it that the machine is of the kind that the cell asks for.
        references: Folder of the session's reference outputs; used where the machine has it.
    """

    cell: Cell
    command: str | None = None
    is_placed: bool = True
    references: str | None = None


class CellTaskResult(Record, frozen=True, kw_only=True):
    """What a cell came to elsewhere.

    Attributes:
        runs: Each attempt's run, as a zip file of one run.
    """

    row: CellRow
    runs: tuple[bytes, ...] = ()


class Lost(Record, frozen=True, kw_only=True):
    """A cell of which nothing came back.

    Attributes:
        is_fault: Its machines were lost with it, or its container died; else nothing could run it
            at all.
    """

    cell: Cell
    reason: str
    is_fault: bool = True
    hint: str | None = None
    attempts: int = 1


class FleetWatch(Record, frozen=True, kw_only=True):
    """What is told while cells are elsewhere; each call comes from the thread that runs the fleet.

    Attributes:
        lost: The cell is given up.
        again: It was lost, and will be done once more.
    """

    started: Callable[[Cell, str], None]
    returned: Callable[[Cell, CellTaskResult], None]
    lost: Callable[[Lost], None]
    again: Callable[[Cell, str], None]


class Fleet(Protocol):
    """Machines that do cells."""

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell, and tell of each as soon as it has ended."""


def packed_task(
    cell: Cell, command: str | None, *, is_placed: bool = True, references: str | None = None
) -> bytes:
    task = CellTask(cell=cell, command=command, is_placed=is_placed, references=references)
    return msgspec.msgpack.encode(task)


def unpacked_task(data: bytes) -> CellTask:
    return unpacked(data, CellTask, "a remote task")


def packed_returned(returned: CellTaskResult) -> bytes:
    return msgspec.msgpack.encode(returned)


def unpacked_returned(data: bytes) -> CellTaskResult:
    return unpacked(data, CellTaskResult, "the result of a remote task")


def unpacked(data: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        expected = "a result of this version: every machine needs the same enginescope"
        raise FormatError(what, why=str(error), expected=expected) from error


#: Beside what a cell may take by itself: starting, and sending back.
_BESIDE_S = 120.0
#: Where answers are compared, a cell and its reference each say what they take, and answer.
_SIDES, _ANSWERING = 2, 4


def longest_s(cell: Cell) -> float:
    """Return how long a cell may take at most: all its processes, each up to its limits."""
    limits = cell.job.limits
    each_s = limits.timeout_s
    build_s = limits.build_timeout_s if makes_first(cell.job) else 0.0
    attempts = cell.processes * (1 + cell.retries) if cell.mode != "validate" else 0
    answering_s = _ANSWERING * each_s + _SIDES * build_s if cell.mode != "benchmark" else 0.0
    return attempts * (each_s + build_s) + answering_s + _BESIDE_S
