"""The table of verdicts, as text cells; where it is shown it is fitted and styled."""

from __future__ import annotations

from enginescope.analysis.measured_sides import MeasuredPair
from enginescope.render.compare_tables import CompareTable
from enginescope.render.verdict_phrases import (
    kind_text,
    range_of,
    ratio_text,
    title_of,
    value_text,
)


def verdict_table(pair: MeasuredPair, *, reasons: bool = True) -> CompareTable:
    """Return a pair's verdicts, a row each.

    Parameters
    ----------
    pair : MeasuredPair
    reasons : bool
        Whether their codes stand in a column.
    """
    headers = ("metric", pair.a, pair.b, f"{pair.b} ÷ {pair.a}", "95 % CI", "verdict")
    rows = [
        (
            title_of(one.metric),
            value_text(one.metric, one.a),
            value_text(one.metric, one.b),
            ratio_text(one.estimate)
            if one.estimate or not one.a or one.b is None
            else f"{one.b / one.a:.3f}",
            range_of(one.estimate),
            kind_text(one),
            *((one.reason.value,) if reasons else ()),
        )
        for one in pair.verdicts
    ]
    return CompareTable(
        title=f"{pair.b} against {pair.a}",
        headers=(*headers, "reason") if reasons else headers,
        rows=tuple(rows),
        numbers=headers[1:5],
    )
