"""A gate's rows on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.model.gate import GateReport, GateRow
from enginescope.render.gate_phrases import (
    UNLISTED,
    details,
    figures_sentence,
    shown_notices,
)

#: Columns of the table of rows.
HEADERS = ("result", "job")


def gate_rows(report: GateReport, *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`, the worst first.

    Parameters
    ----------
    report : GateReport
    everything : bool
        Jobs without regression too.
    """
    return tuple(
        (one.outcome.value, "\n".join(_lines(report, one)))
        for one in report.rows
        if everything or one.outcome not in UNLISTED
    )


def _lines(report: GateReport, row: GateRow) -> Iterator[str]:
    yield row.job
    figures = figures_sentence(row)
    if figures:
        yield figures
    yield from details(row)
    for one in shown_notices(report, row):
        yield f"{'!' if one.level == 'warning' else '·'} {one.message} ({one.code})"
