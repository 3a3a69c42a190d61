"""Writers of a verdict: terminal, JSON, CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Any

import msgspec
import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
    meant_conditions,
)
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.judge.verdict import Reason, Verdict, VerdictKind
from enginescope.records.progress import RoundPlan
from enginescope.records.run.rounds import plan_of
from enginescope.render.base.data_table import csv_bytes, inert_text
from enginescope.render.base.phrases import shorten_apart
from enginescope.render.base.shared_options import ToldApart, told_apart
from enginescope.render.base.text import label_row, notice_lines, stacked, table
from enginescope.render.verdicts.measured_section import (
    mark_notes,
    pair_table,
    place_facts,
    sentences_of,
    verdict_facts,
    verdict_table,
)
from enginescope.render.verdicts.ranking_text import ranking_data, ranking_table
from enginescope.render.verdicts.verdict_phrases import (
    across_hint,
    comparison_tag,
    headline_sentence,
    is_other_ratio,
    rate_note,
    ratio_note,
    title_of,
    unit_of,
    why_text,
)

#: From here on there is room for the codes of the reasons.
_WIDE = 100
#: Below this width, the table has no column of intervals.
_NARROW = 76
#: Larger differences matter to most people: no threshold above it is proposed.
_MOST_THRESHOLD_PCT = 5


def verdict_text(
    found: MeasuredComparison, *, width: int = 80, is_whole: bool = False
) -> RenderableType:
    """Return the verdicts, the sides, their tables, what would settle the rest, and the notices.

    Args:
        is_whole: Every fact, reason and notice, too.
    """
    lines: list[RenderableType] = [
        *(Text(sentence, style="bold") for sentence in sentences_of(found)),
        Text(),
        *_titles(found, width),
        Text(),
    ]
    ranked, every = ranking_table(found), pair_table(found)
    if ranked is not None:
        lines += [Text(ranked.title, style="bold"), *stacked([ranked])]
    for pair in found.pairs:
        lines += [Text(f"{pair.b} against {pair.a}", style="bold")] if found.other_pairs else []
        lines += [_table(pair, width), *map(Text, mark_notes(pair)), Text()]
        lines += [label_row(name, text) for name, text in _open(pair, found, is_whole=is_whole)]
    if every is not None:
        lines += [Text(every.title, style="bold"), *stacked([every])]
    lines += [label_row(name, text) for name, text in verdict_facts(found, is_whole=is_whole)]
    return Group(*lines, Text(), *notice_lines(measured_notices(found), is_whole=is_whole))


def _titles(comparison: MeasuredComparison, width: int) -> list[Text]:
    names = [inert_text(one.name) for one in comparison.sides]
    room = width - 3
    is_wide = any(len(one) > room for one in names)
    apart = told_apart(names) if is_wide else ToldApart(labels=tuple(names))
    lines = [
        Text(f"{side.label}  ", style="bold").append(name)
        for side, name in zip(comparison.sides, shorten_apart(apart.labels, room), strict=True)
    ]
    lines += [Text(f"   {one}", style="dim") for one in wrap(apart.shared or "", room)]
    return [*lines, *(Text(f"   {place}", style="dim") for _, place in place_facts(comparison))]


def _table(pair: MeasuredPair, width: int) -> RenderableType:
    made = verdict_table(pair, reasons=width >= _WIDE)
    kept = [
        at for at, name in enumerate(made.headers) if width >= _NARROW or not name.endswith("CI")
    ]
    rows = [tuple(row[at] for at in kept) for row in made.rows]
    return table(tuple(made.headers[at] for at in kept), rows, right=made.numbers)


def _open(
    pair: MeasuredPair, comparison: MeasuredComparison, *, is_whole: bool
) -> Iterator[tuple[str, str]]:
    """Yield why the headline is inconclusive, what would decide it, and what other rows lack."""
    why = why_text(pair.headline)
    if why is not None:
        yield "why", f"{why} ({pair.headline.reason.value})"
    hints: Iterable[str | None] = (across_hint(pair),)
    if not pair.differing:
        plan = plan_of([side.runs for side in comparison.sides])
        hints = settling_hints(
            pair, comparison.comparison, plan, _unplanned(pair, comparison, plan)
        )
    yield from (("or" if at else "next", hint) for at, hint in enumerate(filter(None, hints)))
    for verdict in pair.verdicts[1:] if is_whole else ():
        lack = why_text(verdict)
        if lack is not None:
            yield title_of(verdict.metric), lack


def _unplanned(
    pair: MeasuredPair, comparison: MeasuredComparison, plan: RoundPlan | None
) -> list[str]:
    """Return the conditions whose difference is meant now, but was not at the start."""
    if plan is None:
        return []
    a, b = (one for one in comparison.sides if one.label in (pair.a, pair.b))
    planned = {*plan.across, *meant_conditions(a, b), "precision"}
    return [one.key for one in pair.meant if one.key not in planned]


def settling_hints(
    pair: MeasuredPair,
    comparison: str | None,
    plan: RoundPlan | None = None,
    unplanned: Sequence[str] = (),
) -> Iterator[str]:
    """Yield what to do: the threshold that makes both sides the same, the rounds that would decide.

    Of unstable sides: where to look for the cause.

    Args:
        comparison: Name of a stored comparison; ``None``: the runs are of none.
        plan: Of a comparison that can be continued.
        unplanned: Conditions whose difference was not meant at the start: who continues keeps that.
    """
    verdict, estimate = pair.headline, pair.headline.estimate
    if verdict.kind is not VerdictKind.INCONCLUSIVE or estimate is None:
        return
    if verdict.reason is Reason.UNSTABLE:
        yield _steadying(pair, comparison)
        return
    interval = estimate.interval
    if interval is not None and comparison and verdict.reason is Reason.INTERVAL_TOO_WIDE:
        threshold = math.floor(100 * (max(interval.high, 1 / interval.low) - 1)) + 1
        if threshold <= _MOST_THRESHOLD_PCT:
            command = f"enginescope compare {comparison_tag(comparison)} --threshold {threshold}"
            yield f"{command}, if differences up to {threshold} % do not matter"
    if unplanned:
        yield f"enginescope bench … --compare --across {','.join(unplanned)}"
        return
    again = f"enginescope compare {comparison_tag(comparison or '')} --continue"
    if plan is not None and verdict.reason is Reason.NO_INTERVAL:
        yield again
    rounds = estimate.n_a + (verdict.more or 0)
    if verdict.more is None or estimate.method != "rounds" or rounds > MOST_ROUNDS:
        return
    if plan is None:
        yield f"enginescope bench … --compare --rounds {rounds}"
    else:
        yield f"{again} --rounds {rounds}" if rounds > 2 * plan.rounds else again


def _steadying(pair: MeasuredPair, comparison: str | None) -> str:
    """Return where to look for what makes sides unstable."""
    estimate = pair.headline.estimate
    disturbed = estimate.disturbed if estimate else None
    if comparison is not None and disturbed is not None and disturbed.unstable is not None:
        label = pair.a if disturbed.unstable == "a" else pair.b
        command = f"enginescope compare {comparison_tag(comparison)} --html compare.html"
        return f"{command} shows the processes of {label}"
    return "enginescope doctor says what keeps the machine busy; then enginescope bench … --compare"


def measured_data(found: MeasuredComparison) -> dict[str, Any]:
    """Return everything that is known, for JSON; times in ms, sizes in bytes."""
    return {
        "comparison": found.comparison,
        "threshold_pct": found.threshold_pct,
        "is_decided": found.is_decided,
        "throughput_is": rate_note(found),
        "sides": [_side(side) for side in found.sides],
        "evidence": evidence_level(*(side.runs for side in found.sides)),
        "ranking": ranking_data(found),
        "pairs": [_pair(pair) for pair in found.pairs],
        "other_pairs": [_pair(pair) for pair in found.other_pairs],
        "noise_floor": found.floor,
        "notices": measured_notices(found),
    }


def verdict_csv(comparison: MeasuredComparison) -> bytes:
    """Return a row for each verdict."""
    pairs = (*comparison.pairs, *comparison.other_pairs)
    rows = [_flat(pair, verdict) for pair in pairs for verdict in pair.verdicts]
    return csv_bytes(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _side(side: MeasuredSide) -> dict[str, Any]:
    return {
        "label": side.label,
        "name": side.name,
        "processes": len(side.measured),
        "runs": [_process(run) for run in side.runs],
    }


def _process(run: Any) -> dict[str, Any]:
    headline = run.headline
    median = float(np.median(headline.values_ms)) if headline else None
    return {
        "run": run.id,
        "outcome": run.outcome.kind.value,
        "round": run.turn.round if run.turn else None,
        "place": run.turn.place if run.turn else None,
        "median_ms": median,
    }


def _pair(pair: MeasuredPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "sentence": headline_sentence(pair),
        "ratio_note": ratio_note(pair),
        "meant": pair.meant,
        "differing": pair.differing,
        "verdicts": [_verdict(verdict) for verdict in pair.verdicts],
    }


def _verdict(one: Verdict) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    more = {"title": title_of(one.metric), "unit": unit_of(one.metric)}
    return {
        **made,
        **more,
        "is_decided": one.is_decided,
        "ratio_per": one.estimate.basis if one.estimate else None,
        "is_other_ratio": is_other_ratio(one),
    }


def _flat(pair: MeasuredPair, one: Verdict) -> dict[str, Any]:
    estimate = one.estimate
    interval = estimate.interval if estimate else None
    disturbed = estimate.disturbed if estimate else None
    return {
        "side": pair.b,
        "against": pair.a,
        "metric": one.metric,
        "unit": unit_of(one.metric),
        "verdict": one.kind.value,
        "reason": one.reason.value,
        "a": one.a,
        "b": one.b,
        "ratio": estimate.ratio if estimate else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "confidence": interval.confidence if interval else None,
        "threshold_pct": one.threshold_pct,
        "method": estimate.method if estimate else None,
        "processes_a": one.processes_a,
        "processes_b": one.processes_b,
        "samples_a": one.samples_a,
        "samples_b": one.samples_b,
        "effective_a": one.effective_a,
        "effective_b": one.effective_b,
        "more": one.more,
        "evidence": one.evidence.value if one.evidence else None,
        "ratio_per": estimate.basis if estimate else None,
        "corrected_ratio": one.corrected_ratio,
        "is_tested": one.is_tested,
        "rounds_left_out": estimate.left_out if estimate else None,
        "disturbed_a": disturbed.a if disturbed else None,
        "disturbed_b": disturbed.b if disturbed else None,
        "disturbed_both": disturbed.both if disturbed else None,
        "unstable": disturbed.unstable if disturbed else None,
    }
