"""What measured sides have on the page of a comparison.

The table of verdicts, as text cells; where it is shown it is fitted and styled.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.verdicts.compared_figures import TAILS
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
)
from enginescope.core.record import Record, replace
from enginescope.judge.difference import reason_text
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_ms
from enginescope.judge.verdict import Verdict, VerdictKind
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.base.facts import made_text, place_line
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.base.shared_options import told_apart
from enginescope.render.charts.overlay import process_medians, side_distributions
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.evidence_phrases import levels_text
from enginescope.render.verdicts.ranking_text import ranking_sentence, ranking_table
from enginescope.render.verdicts.verdict_phrases import (
    OTHER_RATIO,
    across_hint,
    confidence_text,
    counts_text,
    headline_sentence,
    interval_header,
    is_other_ratio,
    kind_text,
    looks_text,
    range_of,
    rate_note,
    ratio_note,
    ratio_text,
    title_of,
    value_text,
    why_text,
)


def evidence_text(found: MeasuredComparison) -> str:
    """Return the evidence levels of the pairs' headlines."""
    return levels_text(pair.headline for pair in (*found.pairs, *found.other_pairs))


def pair_table(found: MeasuredComparison) -> TextTable | None:
    """Return the headline of every two sides, a row each; ``None`` where there is one pair."""
    if not found.other_pairs:
        return None
    pairs = (*found.pairs, *found.other_pairs)
    title = title_of(found.pairs[0].headline.metric)
    interval = interval_header(pair.headline.estimate for pair in pairs)
    headers = ("sides", "ratio", interval, "verdict")
    return TextTable(
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


def verdict_table(pair: MeasuredPair, *, reasons: bool = True) -> TextTable:
    """Return a pair's verdicts, a row each.

    Args:
        reasons: Whether they stand in a column.
    """
    level = _level(pair.headline)
    ratio_header = f"{pair.b} ÷ {pair.a}"
    headers = ("metric", pair.a, pair.b, ratio_header, f"{level} CI".lstrip(), "verdict")
    marked = any(map(is_other_ratio, pair.verdicts))
    rows = [
        (
            title_of(verdict.metric),
            value_text(verdict.metric, verdict.a),
            value_text(verdict.metric, verdict.b),
            _ratio(verdict, padded=marked),
            range_of(verdict.estimate)
            + (f" ({_level(verdict)})" if _level(verdict) not in ("", level) else ""),
            kind_text(verdict),
            *((_reason(verdict),) if reasons else ()),
        )
        for verdict in pair.verdicts
    ]
    return TextTable(
        title=f"{pair.b} against {pair.a}",
        headers=(*headers, "reason") if reasons else headers,
        rows=tuple(rows),
        numbers=headers[1:5],
    )


def _reason(verdict: Verdict) -> str:
    """Return the verdict's reason in words; a dash without a verdict."""
    is_verdict = verdict.is_tested or verdict.kind is VerdictKind.INCOMPARABLE
    return reason_text(verdict.reason) if is_verdict else UNKNOWN


def _ratio(verdict: Verdict, *, padded: bool) -> str:
    """Return the ratio, marked where it is not the quotient.

    Args:
        padded: Others have a blank instead of the mark, so that decimal points are aligned.
    """
    if verdict.estimate is None and verdict.a and verdict.b is not None:
        text = f"{verdict.b / verdict.a:.3f}"
    else:
        text = ratio_text(verdict.estimate)
    if not padded:
        return text
    return text + (OTHER_RATIO if is_other_ratio(verdict) else "\u2007")


def _level(verdict: Verdict) -> str:
    """Return the confidence of a verdict's interval; nothing without one."""
    interval = verdict.estimate.interval if verdict.estimate else None
    return confidence_text(interval) if interval else ""


class SideCard(Record, frozen=True, kw_only=True):
    """One side on the first screen, with a line on it."""

    label: str
    name: str
    text: str


class MeasuredSection(Record, frozen=True, kw_only=True):
    """The part of the page about verdicts.

    Attributes:
        answer: The ranking of several sides, else the first pair's sentence.
        others: Those of further pairs.
        ranking: Of three or more sides.
        shared: Options that all sides have, said once.
        tables: Verdicts, one table a pair.
        marks: What marks in the tables mean.
        facts: Where, how many, how sure, and how figures are computed.
        still_open: What is inconclusive, and what would decide it.
        charts: Of two sides one distribution, small multiples of more.
        medians: Of every process.
        runs: Every process.
    """

    answer: str
    others: tuple[str, ...]
    cards: tuple[SideCard, ...]
    ranking: Figures | None
    shared: str | None
    notices: tuple[Notice, ...]
    tables: tuple[Figures, ...]
    marks: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    still_open: tuple[str, ...]
    charts: tuple[Chart, ...]
    medians: Chart | None
    runs: Figures


def measured_section(found: MeasuredComparison) -> MeasuredSection:
    """Return what the page says of verdicts."""
    first, *others = sentences_of(found)
    ranked = ranking_table(found)
    apart = told_apart([side.name for side in found.sides])
    return MeasuredSection(
        answer=first,
        others=tuple(others),
        cards=tuple(
            SideCard(label=side.label, name=name, text=text.removeprefix(f"{side.label} "))
            for side, name, text in zip(found.sides, apart.labels, side_counts(found), strict=True)
        ),
        ranking=ranked.figures(ranked.title) if ranked else None,
        shared=apart.shared,
        notices=measured_notices(found),
        tables=(
            *(_table(pair) for pair in found.pairs),
            *((every.figures(every.title),) if (every := pair_table(found)) else ()),
        ),
        marks=tuple(dict.fromkeys(mark for pair in found.pairs for mark in mark_notes(pair))),
        facts=(*place_facts(found), *verdict_facts(found)),
        still_open=tuple(text for pair in found.pairs for text in _open(pair)),
        charts=side_distributions(found),
        medians=process_medians(found),
        runs=_runs(found),
    )


def sentences_of(found: MeasuredComparison) -> list[str]:
    """Return the ranking of several sides, then the headline of each pair."""
    ranks = ranking_sentence(found)
    return [*([ranks] if ranks else []), *map(headline_sentence, found.pairs)]


def verdict_answer(found: MeasuredComparison) -> Answer:
    """Return the verdicts as an answer: sides and facts, a table a pair, and the notices."""
    first, *others = sentences_of(found)
    ranked, every = ranking_table(found), pair_table(found)
    tables = [] if ranked is None else [ranked]
    for pair in found.pairs:
        notes = [*mark_notes(pair), *_open(pair)]
        tables.append(replace(verdict_table(pair), note=" ".join(notes) or None))
    return Answer(
        verb="compare",
        title="Comparison",
        report=found,
        answer=first,
        facts=(
            *((side.label, side.name) for side in found.sides),
            *(("verdict", sentence) for sentence in others),
            *place_facts(found),
            *verdict_facts(found),
        ),
        tables=(*tables, *([every] if every else [])),
        notices=measured_notices(found),
    )


def side_counts(found: MeasuredComparison) -> list[str]:
    """Return ``A 7 processes, n 4,321 (effective 1,200)`` of each side."""
    pairs = (found.pairs[0], *found.pairs)
    return [
        counts_text(side, pair, is_base=at == 0)
        for at, (side, pair) in enumerate(zip(found.sides, pairs, strict=True))
    ]


def place_facts(found: MeasuredComparison) -> tuple[tuple[str, str], ...]:
    """Return the machines that measured the sides."""
    places = dict.fromkeys(place_line(run) for side in found.sides for run in side.runs)
    known = [place for place in places if place]
    return (("on", " and ".join(known)),) if known else ()


def verdict_facts(
    found: MeasuredComparison, *, is_whole: bool = True
) -> tuple[tuple[str, str], ...]:
    """Return how much was measured, how sure it is, and how figures are computed.

    Args:
        is_whole: Else the counts and the evidence alone.
    """
    facts = (("samples", " · ".join(side_counts(found))), ("evidence", evidence_text(found)))
    more = (
        ("took", took_text(found)),
        ("looks", looks_text(found)),
        ("figures", base_note(found)),
        ("throughput", rate_note(found)),
        ("percentiles", tail_note(found)),
    )
    return (*facts, *((name, text) for name, text in more if text and is_whole))


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


def _table(pair: MeasuredPair) -> Figures:
    table = verdict_table(pair)
    threshold = f"differences up to {pair.headline.threshold_pct:g} % do not matter"
    return table.figures(f"{table.title}; {threshold}")


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
    tails = {figure.name for figure in TAILS}
    shown = {verdict.metric for pair in comparison.pairs for verdict in pair.verdicts}
    series = [run.headline for side in comparison.sides for run in side.measured]
    counts = {len(samples) for samples in series if samples is not None}
    if not tails & shown or len(counts) < 2:
        return None
    return (
        f"of stretches of {min(counts):,} samples, so that no side has more; those of a whole run "
        "may differ"
    )


def mark_notes(pair: MeasuredPair) -> list[str]:
    """Return what the mark in a pair's table means; nothing without it."""
    note = ratio_note(pair)
    return [f"{OTHER_RATIO} {note}."] if note else []


def _open(pair: MeasuredPair) -> Iterator[str]:
    hint = across_hint(pair)
    if hint is not None:
        yield f"{pair.b} and {pair.a}: {hint}."
    for verdict in pair.verdicts:
        why = why_text(verdict)
        if why is not None:
            yield f"{title_of(verdict.metric)}, {pair.b}: {why} ({verdict.reason.value})."


def _runs(found: MeasuredComparison) -> Figures:
    rows = [
        (
            side.label,
            "—" if run.turn is None else str(run.turn.round + 1),
            "—" if run.turn is None else str(run.turn.place + 1),
            run.id,
            made_text(run),
            run.outcome.kind.value,
        )
        for side in found.sides
        for run in side.runs
    ]
    return Figures(
        caption="Every process, as a stored run",
        headers=("Side", "Round", "Place in it", "Run", "Made", "Outcome"),
        rows=tuple(rows),
        numbers=(1, 2),
    )
