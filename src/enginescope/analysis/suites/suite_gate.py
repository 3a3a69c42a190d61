"""What a gate says of cells whose outputs were compared: a wrong output is a failure too."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.core.record import replace
from enginescope.records.suite.suite import CellRow, CellStatus
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow

_ORDER = {outcome: place for place, outcome in enumerate(GateOutcome)}
#: Outcomes of runs that only say that a cell has none: the cell's own row says why.
_OF_ABSENCE = frozenset({GateOutcome.LOST, GateOutcome.NEW, GateOutcome.NO_BASELINE})


def with_cells(
    report: GateReport, baseline: Iterable[CellRow], current: Iterable[CellRow]
) -> GateReport:
    """Return a gate's report with the cells that it cannot tell of by their runs alone.

    Those were validated, and on one side at least not measured: because their outputs were wrong or
    could not be had, or because nothing but outputs was asked for.
    """
    rows_now = tuple(current)
    before, now = _validated(baseline), _validated(rows_now)
    made: list[GateRow] = []
    said: set[str] = set()
    for key in dict.fromkeys((*before, *now)):
        a, b = before.get(key), now.get(key)
        if a is not None and b is not None and a.run and b.run:
            continue
        made.append(_row(a, b))
        said |= {name for one in (a, b) if one is not None for name in one.run_ids}
    kept = [row for row in report.rows if not _is_said(row, said)]
    newest = max(rows_now, key=lambda one: one.ended, default=None)
    return replace(
        report,
        rows=tuple(sorted((*kept, *made), key=lambda one: _ORDER[one.outcome])),
        jobs=report.jobs + len(made) - _dropped(report, kept),
        measured=report.measured or (newest.ended if newest else None),
        host=report.host or (newest.host if newest else None),
    )


def _dropped(report: GateReport, kept: list[GateRow]) -> int:
    return len({row.job for row in report.rows} - {one.job for one in kept})


def _validated(rows: Iterable[CellRow]) -> dict[tuple[str, str, str], CellRow]:
    return {
        (row.cell.model, row.cell.spec, row.cell.case): row
        for row in rows
        if row.cell.mode != "benchmark"
    }


def _row(a: CellRow | None, b: CellRow | None) -> GateRow:
    one = b or a
    assert one is not None
    outcome, why = _outcome(a, b)
    return GateRow(
        job=f"{one.cell.label} · outputs",
        model=one.cell.model,
        backend=one.cell.spec,
        outcome=outcome,
        why=why,
        path=one.cell.job.subject.path,
    )


def _outcome(a: CellRow | None, b: CellRow | None) -> tuple[GateOutcome, str | None]:
    if b is None:
        return GateOutcome.LOST, None
    is_good = b.status is CellStatus.OK
    said = None if is_good else f"{b.status.value.replace('_', ' ')}: {b.reason}"
    if a is None:
        return (GateOutcome.NEW if is_good else GateOutcome.NEW_FAILURE), said
    if a.status is CellStatus.OK:
        return (GateOutcome.NO_REGRESSION if is_good else GateOutcome.NEW_FAILURE), said
    return (GateOutcome.FIXED if is_good else GateOutcome.STILL_FAILING), said


def _is_said(row: GateRow, said: set[str]) -> bool:
    return row.outcome in _OF_ABSENCE and any(one in said for one in (*row.baseline, *row.current))
