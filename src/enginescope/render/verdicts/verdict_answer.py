"""The answer of measured sides, for terminal, Markdown, page, JSON, CSV and notebook alike."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.verdicts.compared_figures import TAILS
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    RankedSide,
    meant_conditions,
    ranking_of,
)
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import MOST_ROUNDS
from enginescope.judge.units import format_ms, listed
from enginescope.judge.verdict import Reason, Verdict, VerdictKind, reason_text
from enginescope.records.progress import RoundPlan
from enginescope.records.run.rounds import plan_of
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, csv_bytes, printable
from enginescope.render.base.facts import place_line
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import within_sentence
from enginescope.render.base.short_names import told_apart
from enginescope.render.charts.overlay import side_distributions
from enginescope.render.html.answer_page import Answer
from enginescope.render.verdicts import verdict_phrases as phrases


def verdict_answer(found: MeasuredComparison) -> Answer:
    """Return the verdicts, the sides, what would settle the rest, and a table a pair."""
    ranks = ranking_sentence(found)
    first, *others = [*([ranks] if ranks else []), *map(phrases.headline_sentence, found.pairs)]
    apart = told_apart([side.name for side in found.sides])
    heads = [pair.headline for pair in found.pairs]
    figures = [(heads[0].metric, heads[0].a), *((one.metric, one.b) for one in heads)]
    sides = (
        (side.label, f"{printable(name)}: {phrases.value_text(*figure)}")
        for side, name, figure in zip(found.sides, apart.labels, figures, strict=True)
    )
    counts = (
        phrases.counts_text(side, found.pairs[max(0, at - 1)], is_base=at == 0)
        for at, side in enumerate(found.sides)
    )
    has_several = bool(found.other_pairs)
    pairs = (replace(verdict_table(pair), is_titled=has_several) for pair in found.pairs)
    tables = (ranking_table(found), *pairs, pair_table(found))
    return Answer(
        verb="compare",
        title="Comparison",
        report=found,
        answer=first,
        facts=(
            *sides,
            *stated(("sides", apart.shared)),
            *(("verdict", sentence) for sentence in others),
            *place_facts(found),
            *(fact for pair in found.pairs for fact in _settling(pair, found)),
            ("samples", " · ".join(counts)),
            (
                "evidence",
                phrases.levels_text(pair.headline for pair in (*found.pairs, *found.other_pairs)),
            ),
        ),
        more_facts=(
            *stated(*(("look", _worse_text(pair)) for pair in found.pairs)),
            *(
                (
                    phrases.title_of(verdict.metric),
                    f"{f'{pair.b}: ' if has_several else ''}{why} ({verdict.reason.value})",
                )
                for pair in found.pairs
                for verdict in pair.verdicts[1:]
                if (why := phrases.why_text(verdict)) is not None
            ),
            *stated(
                ("took", took_text(found)),
                ("looks", phrases.looks_text(found)),
                ("figures", base_note(found)),
                ("throughput", phrases.rate_note(found)),
                ("percentiles", tail_note(found)),
            ),
        ),
        tables=tuple(table for table in tables if table is not None),
        notices=measured_notices(found),
        charts=side_distributions(found),
        is_table_first=True,
    )


def verdict_table(pair: MeasuredPair) -> TextTable:
    """Return a pair's verdicts, a row each."""
    level, note, most = _level(pair.headline), phrases.ratio_note(pair), pair.headline.threshold_pct
    ratio_header, interval = f"{pair.b} ÷ {pair.a}", f"{level} CI".lstrip()
    headers = ("metric", pair.a, pair.b, ratio_header, interval, "verdict", "reason")
    return TextTable(
        title=f"{pair.b} against {pair.a}; differences up to {most:g} % do not matter",
        headers=headers,
        rows=tuple(
            (
                phrases.title_of(verdict.metric),
                phrases.value_text(verdict.metric, verdict.a),
                phrases.value_text(verdict.metric, verdict.b),
                _ratio(verdict, padded=note is not None),
                phrases.range_of(verdict.estimate)
                + (f" ({_level(verdict)})" if _level(verdict) not in ("", level) else ""),
                phrases.kind_text(verdict),
                _reason(verdict, pair.headline),
            )
            for verdict in pair.verdicts
        ),
        numbers=headers[1:5],
        note=f"{phrases.OTHER_RATIO} {note}." if note else None,
        spared=("reason", interval),
        sentences=("reason",),
    )


def _beyond(verdict: Verdict) -> str | None:
    """Return where the interval is that leaves out all that does not matter: better or worse."""
    interval, most = phrases.interval_of(verdict), 1 + verdict.threshold_pct / 100
    if interval is None or (interval.low <= most and interval.high >= 1 / most):
        return None
    return "better" if (interval.low > most) is verdict.higher_is_better else "worse"


def _worse_text(pair: MeasuredPair) -> str:
    """Name the metrics that are not tested: those shown to be worse, and those that may be."""
    worse, may_be, most = list[str](), list[str](), 1 + pair.headline.threshold_pct / 100
    comparable = (one for one in pair.verdicts if one.kind is not VerdictKind.INCOMPARABLE)
    for one in (one for one in comparable if not one.is_tested):
        name, ends = within_sentence(phrases.title_of(one.metric)), phrases.interval_of(one)
        sides = [phrases.value_text(one.metric, value) for value in (one.a, one.b)]
        if ends is None and one.a and one.b:
            if (one.a / one.b if one.higher_is_better else one.b / one.a) > most:
                worse.append(f"{name} {' → '.join(sides)} ({reason_text(one.reason)})")
        elif _beyond(one) == "worse":
            worse.append(f"{name} {' → '.join(sides)}")
        elif ends and (most * ends.low < 1 if one.higher_is_better else ends.high > most):
            may_be.append(name)
    much = f"worse by over {pair.headline.threshold_pct:g} %"
    told = f"{much}, not tested: {', '.join(worse)}" if worse else f"no other metric shown {much}"
    return told + (f"; unclear: {', '.join(may_be)}" if may_be else "")


def _reason(verdict: Verdict, headline: Verdict) -> str:
    """Return the verdict's reason in words; of a metric that is not tested, why it is not."""
    if verdict.is_tested or verdict.kind is VerdictKind.INCOMPARABLE or not _level(verdict):
        return reason_text(verdict.reason)
    far = f"its interval says {beyond}; " if (beyond := _beyond(verdict)) else ""
    return f"{far}only {within_sentence(phrases.title_of(headline.metric))} is tested"


def _ratio(verdict: Verdict, *, padded: bool) -> str:
    """Return the ratio; `padded`: with a mark or a blank behind it, so that points are aligned."""
    text = phrases.ratio_text(verdict.estimate)
    if verdict.estimate is None and verdict.a and verdict.b is not None:
        text = f"{verdict.b / verdict.a:.3f}"
    mark = phrases.OTHER_RATIO if phrases.is_other_ratio(verdict) else "\u2007"
    return f"{text}{mark}" if padded else text


def _level(verdict: Verdict) -> str:
    interval = phrases.interval_of(verdict)
    return phrases.confidence_text(interval) if interval else ""


def pair_table(found: MeasuredComparison) -> TextTable | None:
    """Return the headline of every two sides, a row each; ``None`` where there is one pair."""
    if not found.other_pairs:
        return None
    pairs = (*found.pairs, *found.other_pairs)
    title = phrases.title_of(found.pairs[0].headline.metric)
    interval = phrases.interval_header(pair.headline.estimate for pair in pairs)
    headers = ("sides", "ratio", interval, "verdict")
    return TextTable(
        title=f"{title} of every two sides",
        headers=headers,
        rows=tuple(
            (
                f"{pair.b} ÷ {pair.a}",
                phrases.ratio_text(pair.headline.estimate),
                phrases.range_of(pair.headline.estimate),
                phrases.kind_text(pair.headline),
            )
            for pair in pairs
        ),
        numbers=headers[1:3],
        is_titled=True,
    )


def place_facts(found: MeasuredComparison) -> tuple[tuple[str, str], ...]:
    """Return the machines that measured the sides."""
    places = dict.fromkeys(place_line(run) for side in found.sides for run in side.runs)
    return stated(("on", " and ".join(filter(None, places))))


def took_text(found: MeasuredComparison) -> str | None:
    """Return the total time of each side's processes, and how much of it was timed.

    ``None`` where a process does not say, as an imported one.
    """
    parts = []
    for side in found.sides:
        timed = [run.phase_ms("steady_state") for run in side.measured]
        known = [time_ms for time_ms in timed if time_ms is not None]
        if not known or len(known) < len(timed):
            return None
        whole = sum(phase.duration_ms for run in side.measured for phase in run.phases)
        parts.append(f"{side.label} {format_ms(whole)}, {format_ms(sum(known))} of it timed")
    return " · ".join(parts)


def base_note(comparison: MeasuredComparison) -> str | None:
    """Say why the first side has other figures against each other one; ``None`` where it has not.

    A round that one pair leaves out because a process was disturbed may count for another pair.
    """
    figures: dict[str, set[float | None]] = {}
    for pair in comparison.pairs:
        for verdict in pair.verdicts:
            figures.setdefault(verdict.metric, set()).add(verdict.a)
    if all(len(values) == 1 for values in figures.values()):
        return None
    base = comparison.pairs[0].a
    return f"those of {base} are of the rounds that count for each pair, so they may differ"


def tail_note(comparison: MeasuredComparison) -> str | None:
    """Say what percentiles are of, where that is not all samples of each process; else ``None``."""
    shown = {verdict.metric for pair in comparison.pairs for verdict in pair.verdicts}
    series = [run.headline for side in comparison.sides for run in side.measured]
    counts = {len(samples) for samples in series if samples is not None}
    if len(counts) < 2 or shown.isdisjoint(figure.name for figure in TAILS):
        return None
    return (
        f"of stretches of {min(counts):,} samples, so that no side has more; those of a whole run "
        "may differ"
    )


def _settling(pair: MeasuredPair, found: MeasuredComparison) -> Iterator[tuple[str, str]]:
    of = f"{pair.b}: " if found.other_pairs else ""
    if (why := phrases.why_text(pair.headline)) is not None:
        yield "why", f"{of}{why} ({pair.headline.reason.value})"
    plan = plan_of([side.runs for side in found.sides])
    hints = settling_hints(pair, found.comparison, plan, _unplanned(pair, found, plan))
    if pair.differing:
        hints = iter([phrases.across_text(one.key for one in pair.differing)])
    for at, hint in enumerate(hints):
        yield "or" if at else "next", f"{of}{hint}"


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
    if estimate is not None and estimate.method == "samples":
        yield "measure both sides in interleaved processes: enginescope bench … --compare"
        return
    if verdict.kind is not VerdictKind.INCONCLUSIVE or estimate is None:
        return
    if verdict.reason is Reason.UNSTABLE:
        yield _steadying(pair, comparison)
        return
    interval = estimate.interval
    if interval is not None and comparison and verdict.reason is Reason.INTERVAL_TOO_WIDE:
        threshold = math.floor(100 * (max(interval.high, 1 / interval.low) - 1)) + 1
        if threshold <= 5:  # larger differences matter to most people
            command = (
                f"enginescope compare {phrases.comparison_tag(comparison)} --threshold {threshold}"
            )
            yield f"if differences up to {threshold} % do not matter: {command}"
    if unplanned:
        yield f"measure again: enginescope bench … --compare --across {','.join(unplanned)}"
        return
    tag = phrases.comparison_tag(comparison or "")
    again = f"measure more: enginescope compare {tag} --continue"
    if plan is not None and verdict.reason is Reason.NO_INTERVAL:
        yield again
    rounds = estimate.n_a + (verdict.more or 0)
    if verdict.more is None or estimate.method != "rounds" or rounds > MOST_ROUNDS:
        return
    if plan is None:
        yield f"measure more: enginescope bench … --compare --rounds {rounds}"
    else:
        yield f"{again} --rounds {rounds}" if rounds > 2 * plan.rounds else again


def _steadying(pair: MeasuredPair, comparison: str | None) -> str:
    estimate = pair.headline.estimate
    disturbed = estimate.disturbed if estimate else None
    if comparison is not None and disturbed is not None and disturbed.unstable is not None:
        label = pair.a if disturbed.unstable == "a" else pair.b
        command = f"enginescope compare {phrases.comparison_tag(comparison)} --html compare.html"
        return f"look at the processes of {label}: {command}"
    return "find what keeps the machine busy, then measure again: enginescope doctor"


def ranking_sentence(found: MeasuredComparison) -> str | None:
    """Return ``C is fastest, then A and B (tie), then D``; ``None`` without a ranking."""
    ranking = ranking_of(found)
    if ranking is None:
        return None
    ranks = groupby(ranking.sides, lambda one: one.rank)
    first, *others = ([side.label for side in sides] for _, sides in ranks)
    verb = "is fastest" if len(first) == 1 else "tie for fastest"
    then = [f"then {listed(group)}{' (tie)' if len(group) > 1 else ''}" for group in others]
    text = ", ".join([f"{listed(first)} {verb}", *then])
    missing = [label for label, _ in ranking.left_out]
    return f"{text}; not ranked: {listed(missing)}" if missing else text


def ranking_table(found: MeasuredComparison) -> TextTable | None:
    """Return a row for each side, the best first; ``None`` without a ranking."""
    ranking = ranking_of(found)
    if ranking is None:
        return None
    first = ranking.sides[0]
    title = phrases.title_of(ranking.metric)
    interval = phrases.interval_header(side.estimate for side in ranking.sides)
    headers = ("rank", "side", title, f"÷ {first.label}", interval, "tied with")
    rows = [
        (
            str(side.rank),
            side.label,
            phrases.value_text(ranking.metric, side.value),
            "1" if side is first else phrases.ratio_text(side.estimate),
            UNKNOWN if side is first else phrases.range_of(side.estimate),
            _ties(side),
        )
        for side in ranking.sides
    ]
    rows += [(UNKNOWN, label, UNKNOWN, UNKNOWN, UNKNOWN, why) for label, why in ranking.left_out]
    return TextTable(
        title=f"{title}, the fastest first",
        headers=headers,
        rows=tuple(rows),
        numbers=(headers[0], *headers[2:5]),
        is_titled=True,
    )


def _ties(side: RankedSide) -> str:
    same = [f"{label} (same)" for label in side.same]
    return ", ".join([*same, *(f"{label} (inconclusive)" for label in side.open)])


def measured_data(found: MeasuredComparison) -> dict[str, Any]:
    """Return everything that is known, for JSON; times in ms, sizes in bytes."""
    return {
        "comparison": found.comparison,
        "tag": found.comparison and phrases.comparison_tag(found.comparison),
        "threshold_pct": found.threshold_pct,
        "is_decided": found.is_decided,
        "throughput_is": phrases.rate_note(found),
        "sides": [
            {
                "label": side.label,
                "name": side.name,
                "processes": len(side.measured),
                "runs": [_process(run) for run in side.runs],
            }
            for side in found.sides
        ],
        "evidence": evidence_level(*(side.runs for side in found.sides)),
        "ranking": ranking_of(found),
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


def _process(run: Any) -> dict[str, Any]:
    return {
        "run": run.id,
        "outcome": run.outcome.kind.value,
        "round": run.turn.round if run.turn else None,
        "place": run.turn.place if run.turn else None,
        "median_ms": float(np.median(run.headline.values_ms)) if run.headline else None,
    }


def _pair(pair: MeasuredPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "sentence": phrases.headline_sentence(pair),
        "ratio_note": phrases.ratio_note(pair),
        "meant": pair.meant,
        "differing": pair.differing,
        "verdicts": [
            {
                **msgspec.to_builtins(verdict),
                "title": phrases.title_of(verdict.metric),
                "unit": phrases.unit_of(verdict.metric),
                "is_decided": verdict.is_decided,
                "ratio_per": verdict.estimate.basis if verdict.estimate else None,
                "is_other_ratio": phrases.is_other_ratio(verdict),
            }
            for verdict in pair.verdicts
        ],
    }


def _flat(pair: MeasuredPair, one: Verdict) -> dict[str, Any]:
    estimate, interval = one.estimate, phrases.interval_of(one)
    disturbed = estimate.disturbed if estimate else None
    counts = (f"{of}_{side}" for of in ("processes", "samples", "effective") for side in "ab")
    return {
        "side": pair.b,
        "against": pair.a,
        "metric": one.metric,
        "unit": phrases.unit_of(one.metric),
        "verdict": one.kind.value,
        "reason": one.reason.value,
        "a": one.a,
        "b": one.b,
        "ratio": estimate.ratio if estimate else None,
        **{name: getattr(interval, name, None) for name in ("low", "high", "confidence")},
        "threshold_pct": one.threshold_pct,
        "method": estimate.method if estimate else None,
        **{name: getattr(one, name) for name in counts},
        "more": one.more,
        "evidence": one.evidence.value if one.evidence else None,
        "ratio_per": estimate.basis if estimate else None,
        "corrected_ratio": one.corrected_ratio,
        "is_tested": one.is_tested,
        "rounds_left_out": estimate.left_out if estimate else None,
        **{f"disturbed_{of}": getattr(disturbed, of, None) for of in ("a", "b", "both")},
        "unstable": disturbed.unstable if disturbed else None,
    }
