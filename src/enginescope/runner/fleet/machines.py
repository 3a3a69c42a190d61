"""Machines of a fleet, what runs on them, and which cell may start where.

Two cells on one machine do not disturb each other only where each has a GPU of its own. So a cell
on the processor has a machine to itself, and so has one that asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell
from enginescope.runner.machine.gpu_notices import gpu_index


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
