"""What measured sides have on the page of a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.measured_notices import measured_notices
from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredPair, MeasuredSide
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.render.charts.sides import process_medians, side_distributions
from enginescope.render.charts.spec import Chart
from enginescope.render.facts import made_text, place_line
from enginescope.render.figures import Figures
from enginescope.render.verdict_phrases import (
    across_hint,
    counts_text,
    headline_sentence,
    looks_text,
    title_of,
    why_text,
)
from enginescope.render.verdict_tables import verdict_table


class SideCard(Record, frozen=True, kw_only=True):
    """One side on the first screen."""

    label: str
    name: str
    counts: str


class MeasuredSection(Record, frozen=True, kw_only=True):
    """The part of the page about verdicts.

    Attributes
    ----------
    answer : str
        The first pair's sentence.
    others : tuple of str
        Those of further pairs.
    cards : tuple of SideCard
    told : tuple of str
        Where, in which order, how sure.
    notices : tuple of Notice
    tables : tuple of Figures
        Verdicts, one table a pair.
    still_open : tuple of str
        What is undecided, and what would decide it.
    charts : tuple of Chart
    runs : Figures
        Every process.
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
    sentences = [headline_sentence(one) for one in found.pairs]
    charts = (side_distributions(found), process_medians(found))
    return MeasuredSection(
        answer=sentences[0],
        others=tuple(sentences[1:]),
        cards=tuple(_cards(found)),
        told=tuple(_told(found)),
        notices=measured_notices(found),
        tables=tuple(_table(one) for one in found.pairs),
        still_open=tuple(text for one in found.pairs for text in _open(one)),
        charts=tuple(one for one in charts if one is not None),
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
    known = [one for one in places if one]
    if known:
        yield f"On {' and '.join(known)}."
    looks = looks_text(found)
    if looks:
        yield f"Measured in turn: {looks}."


def _table(pair: MeasuredPair) -> Figures:
    made = verdict_table(pair)
    return Figures(
        caption=f"{made.title}; differences up to {pair.headline.threshold_pct:g} % do not matter",
        headers=made.headers,
        rows=made.rows,
        numbers=tuple(at for at, one in enumerate(made.headers) if one in made.numbers),
    )


def _open(pair: MeasuredPair) -> Iterator[str]:
    hint = across_hint(pair)
    if hint is not None:
        yield f"{pair.b} and {pair.a}, {hint}."
    for one in pair.verdicts:
        why = why_text(one)
        if why is not None:
            yield f"{title_of(one.metric)} of {pair.b}: {why} ({one.reason.value})."


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
