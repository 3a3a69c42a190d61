"""The table of verdicts, as text cells; where it is shown it is fitted and styled."""

from __future__ import annotations

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.records.verdict.verdict import Verdict
from enginescope.render.plan_comparison.compare_tables import CompareTable
from enginescope.render.verdicts.verdict_phrases import (
    basis_text,
    confidence_text,
    kind_text,
    range_of,
    ratio_text,
    title_of,
    value_text,
)


def pair_table(found: MeasuredComparison) -> CompareTable | None:
    """Return the headline of every two sides, a row each; ``None`` where there is one pair."""
    if not found.other_pairs:
        return None
    pairs = (*found.pairs, *found.other_pairs)
    title = title_of(found.pairs[0].headline.metric)
    headers = ("sides", "ratio", "95 % CI", "verdict")
    return CompareTable(
        title=f"{title} of every two sides",
        headers=headers,
        rows=tuple(
            (
                f"{pair.b} ÷ {pair.a}",
                ratio_text(pair.headline.estimate),
                range_of(pair.headline.estimate),
                kind_text(pair.headline),
            )
            for pair in pairs
        ),
        numbers=headers[1:3],
    )


def verdict_table(pair: MeasuredPair, *, reasons: bool = True) -> CompareTable:
    """Return a pair's verdicts, a row each.

    Args:
        reasons: Whether their codes stand in a column.
    """
    basis = basis_text(pair.headline.estimate)
    level = _level(pair.headline)
    ratio_header = f"{pair.b} ÷ {pair.a}{basis}"
    headers = ("metric", pair.a, pair.b, ratio_header, f"{level} CI".lstrip(), "verdict")
    rows = [
        (
            title_of(verdict.metric),
            value_text(verdict.metric, verdict.a),
            value_text(verdict.metric, verdict.b),
            _ratio(verdict, basis),
            range_of(verdict.estimate)
            + (f" ({_level(verdict)})" if _level(verdict) not in ("", level) else ""),
            kind_text(verdict),
            *((verdict.reason.value,) if reasons else ()),
        )
        for verdict in pair.verdicts
    ]
    return CompareTable(
        title=f"{pair.b} against {pair.a}",
        headers=(*headers, "reason") if reasons else headers,
        rows=tuple(rows),
        numbers=headers[1:5],
    )


def _ratio(verdict: Verdict, basis: str) -> str:
    """Return the ratio; with what it is a ratio of where the header does not say so."""
    estimate = verdict.estimate
    if estimate is None and verdict.a and verdict.b is not None:
        return f"{verdict.b / verdict.a:.3f}"
    own = basis_text(estimate)
    return ratio_text(estimate) + (own if own != basis else "")


def _level(verdict: Verdict) -> str:
    """Return the confidence of a verdict's interval; nothing without one."""
    interval = verdict.estimate.interval if verdict.estimate else None
    return confidence_text(interval) if interval else ""
