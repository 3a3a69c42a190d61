"""Which cells of a suite are done, which failed before, and which are to be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.core.optional import has_come
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, ResumeState

#: Results that another limit can change.
_OF_LIMITS = frozenset({CellStatus.TIMED_OUT, CellStatus.OUT_OF_MEMORY})


class Fingerprints(Record, frozen=True, kw_only=True):
    """Versions and hardware that the cells of a suite run on; see `environment_fingerprint`.

    Attributes:
        own: Of this Python.
        environments: Of other Pythons of this machine, by their names in the suite.
    """

    own: dict[str, str]
    environments: dict[str, dict[str, str]] = {}  # noqa: RUF012 - msgspec copies empty defaults

    def of(self, cell: Cell) -> dict[str, str]:
        """Return the fingerprint of the Python that runs `cell`."""
        return self.own if cell.environment is None else self.environments[cell.environment]


def resume_state(
    cells: Sequence[Cell],
    rows: Mapping[str, CellRow],
    fingerprints: Fingerprints | None,
    *,
    retry_failed: bool = False,
) -> ResumeState:
    """Compare cells with the rows of former sessions.

    Args:
        rows: Rows of cells that ended before, by the cells' keys.
        fingerprints: A row with another fingerprint is not done; ``None``: any row counts.
        retry_failed: Run failed cells again.
    """
    done, bad, todo = [], [], []
    changed = 0
    for cell in cells:
        row = rows.get(cell.key)
        if row is None:
            todo.append(cell)
        elif fingerprints is not None and row.versions != fingerprints.of(cell):
            changed += bool(row.versions)  # a row without versions could not even be started
            todo.append(cell)
        elif row.status is CellStatus.OK:
            done.append(row)
        elif retry_failed or _can_end_otherwise(cell, row, is_here=fingerprints is not None):
            todo.append(cell)
        else:
            bad.append(row)
    return ResumeState(done=tuple(done), known_bad=tuple(bad), todo=tuple(todo), changed=changed)


def _can_end_otherwise(cell: Cell, row: CellRow, *, is_here: bool) -> bool:
    if row.status in _OF_LIMITS:
        return row.cell.job.limits != cell.job.limits
    # the packages of other environments and machines are not known here
    return is_here and cell.environment is None and has_come(row.reason)
