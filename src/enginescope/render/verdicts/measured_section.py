"""What measured sides have on the page of a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
)
from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.render.base.facts import made_text, place_line
from enginescope.render.base.figures import Figures
from enginescope.render.charts.sides import process_medians, side_distributions
from enginescope.render.html.images import Chart
from enginescope.render.plan_comparison.compare_tables import CompareTable
from enginescope.render.verdicts.verdict_phrases import (
    across_hint,
    counts_text,
    headline_sentence,
    looks_text,
    title_of,
    why_text,
)
from enginescope.render.verdicts.verdict_tables import pair_table, verdict_table


class SideCard(Record, frozen=True, kw_only=True):
    """One side on the first screen."""

    label: str
    name: str
    counts: str


class MeasuredSection(Record, frozen=True, kw_only=True):
    """The part of the page about verdicts.

    Attributes:
        answer: The first pair's sentence.
        others: Those of further pairs.
        told: Where, in which order, how sure.
        tables: Verdicts, one table a pair.
        still_open: What is undecided, and what would decide it.
        runs: Every process.
    """

    answer: str
    others: tuple[str, ...]
    cards: tuple[SideCard, ...]
    told: tuple[str, ...]
    notices: tuple[Notice, ...]
    tables: tuple[Figures, ...]
    still_open: tuple[str, ...]
    charts: tuple[Chart, ...]
    runs: Figures


def measured_section(found: MeasuredComparison) -> MeasuredSection:
    """Return what the page says of verdicts."""
    sentences = [headline_sentence(pair) for pair in found.pairs]
    charts = (side_distributions(found), process_medians(found))
    return MeasuredSection(
        answer=sentences[0],
        others=tuple(sentences[1:]),
        cards=tuple(_cards(found)),
        told=tuple(_told(found)),
        notices=measured_notices(found),
        tables=(
            *(_table(pair) for pair in found.pairs),
            *((_figures(every, every.title),) if (every := pair_table(found)) else ()),
        ),
        still_open=tuple(text for pair in found.pairs for text in _open(pair)),
        charts=tuple(chart for chart in charts if chart is not None),
        runs=_runs(found),
    )


def _cards(found: MeasuredComparison) -> Iterator[SideCard]:
    base, *others = found.sides
    yield _card(base, found.pairs[0], is_base=True)
    for side, pair in zip(others, found.pairs, strict=True):
        yield _card(side, pair, is_base=False)


def _card(side: MeasuredSide, pair: MeasuredPair, *, is_base: bool) -> SideCard:
    counts = counts_text(side, pair, is_base=is_base).removeprefix(f"{side.label} ")
    return SideCard(label=side.label, name=side.name, counts=counts)


def _told(found: MeasuredComparison) -> Iterator[str]:
    places = dict.fromkeys(place_line(run) for side in found.sides for run in side.runs)
    known = [place for place in places if place]
    if known:
        yield f"On {' and '.join(known)}."
    looks = looks_text(found)
    if looks:
        yield f"Measured in turn: {looks}."


def _table(pair: MeasuredPair) -> Figures:
    made = verdict_table(pair)
    threshold = f"differences up to {pair.headline.threshold_pct:g} % do not matter"
    return _figures(made, f"{made.title}; {threshold}")


def _figures(made: CompareTable, caption: str) -> Figures:
    return Figures(
        caption=caption,
        headers=made.headers,
        rows=made.rows,
        numbers=tuple(at for at, one in enumerate(made.headers) if one in made.numbers),
    )


def _open(pair: MeasuredPair) -> Iterator[str]:
    hint = across_hint(pair)
    if hint is not None:
        yield f"{pair.b} and {pair.a}, {hint}."
    for verdict in pair.verdicts:
        why = why_text(verdict)
        if why is not None:
            yield f"{title_of(verdict.metric)} of {pair.b}: {why} ({verdict.reason.value})."


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
