"""Which cells of a suite are done, which are known to be bad, and which are to be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from enginescope.core.optional import has_come
from enginescope.core.record import Record
from enginescope.model.suite import Cell, CellRow, CellStatus
from enginescope.probe.environment import probe_environment, versions

#: Ends that another limit can change.
_OF_LIMITS = frozenset({CellStatus.TIMED_OUT, CellStatus.OUT_OF_MEMORY})

#: Versions and hardware of every environment of a suite, by its name; ``None``: this Python's.
Here: TypeAlias = Mapping[str | None, Mapping[str, str]]


class Standing(Record, frozen=True, kw_only=True):
    """Where a suite stands before it goes on.

    Attributes
    ----------
    done : tuple of CellRow
        Not to be run again.
    known_bad : tuple of CellRow
        Failed before, under the same conditions; not to be run again either.
    todo : tuple of Cell
    changed : int
        Cells of `todo` that were done on other versions or another machine.
    """

    done: tuple[CellRow, ...]
    known_bad: tuple[CellRow, ...]
    todo: tuple[Cell, ...]
    changed: int = 0


def standing_of(
    cells: Sequence[Cell],
    rows: Mapping[str, CellRow],
    here: Here | None,
    *,
    retry_failed: bool = False,
) -> Standing:
    """Return what is done and what is to be done.

    Parameters
    ----------
    rows : mapping of str to CellRow
        What ended before, by the keys of cells.
    here : mapping, optional
        Of `conditions_here`, by environment: a row made under others is not done. Not given: any
        row counts.
    retry_failed : bool
        Run what failed again.
    """
    done, bad, todo = [], [], []
    changed = 0
    for cell in cells:
        row = rows.get(cell.key)
        if row is None:
            todo.append(cell)
        elif here is not None and row.versions != here[cell.environment]:
            changed += bool(row.versions)  # without them it could not even be started
            todo.append(cell)
        elif row.status is CellStatus.OK:
            done.append(row)
        elif retry_failed or _can_end_otherwise(cell, row, is_here=here is not None):
            todo.append(cell)
        else:
            bad.append(row)
    return Standing(done=tuple(done), known_bad=tuple(bad), todo=tuple(todo), changed=changed)


def conditions_here(cores: int | None = None) -> dict[str, str]:
    """Return versions and hardware of this machine, a change of which makes other figures.

    Parameters
    ----------
    cores : int, optional
        Logical processors that each cell has, where it is not given all.
    """
    environment = probe_environment()
    found = dict(versions())
    if environment.host.cpu_model:
        found["cpu"] = environment.host.cpu_model
    for number, one in enumerate(environment.devices):
        found[f"gpu{number}"] = f"{one.name}, driver {one.driver}"
    if cores is not None:
        found["cores"] = str(cores)
    return found


def _can_end_otherwise(cell: Cell, row: CellRow, *, is_here: bool) -> bool:
    if row.status in _OF_LIMITS:
        return row.cell.job.limits != cell.job.limits
    # what other environments and machines have is not known here
    return is_here and cell.environment is None and has_come(row.reason)
