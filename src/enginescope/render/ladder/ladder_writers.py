"""Writers of a ladder: the waterfall of the terminal, JSON, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.core.record import replace
from enginescope.judge.samples import Interval
from enginescope.records.verdict.ladder import LadderReport, LadderStep, RungKey
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.data_table import printable
from enginescope.render.base.figures import TextTable
from enginescope.render.charts.waterfall import Bar, waterfall_chart
from enginescope.render.html.answer_page import answer_page, table_section
from enginescope.render.html.images import Chart, ChartTable
from enginescope.render.ladder.ladder_phrases import (
    ROW_HEADERS,
    STEP_HEADERS,
    adds,
    answer_text,
    ends_text,
    level_text,
    meaning_text,
    places_of,
    rung_cells,
    scope_facts,
    signed_ends,
    signed_ms,
    step_cells,
    title,
    title_of,
)

#: Version of the document's shape.
LADDER_SCHEMA = 1
_LABEL, _VALUE, _ENDS = 30, 8, 19
_LEAST_BAR, _MOST_BAR = 12, 60
_RUNG, _MORE, _LESS = "█", "▒", "░"


def ladder_json(report: LadderReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return answer_json(
        LADDER_SCHEMA,
        answer=answer_text(report),
        meaning=meaning_text(report),
        titles={rung.key.value: title(rung) for rung in report.rungs},
        report=report,
    )


def ladder_markdown(report: LadderReport) -> bytes:
    """Return the answer, what it is about, every rung and every step."""
    return answer_markdown(ladder_answer(report))


def ladder_answer(report: LadderReport) -> AnswerTables:
    """Return the answer, its facts, every rung and every step."""
    rungs = TextTable(
        title="Rungs",
        headers=ROW_HEADERS,
        rows=tuple(rung_cells(report, rung) for rung in report.rungs),
        numbers=(ROW_HEADERS[1], ROW_HEADERS[3]),
    )
    steps = TextTable(
        title="Steps",
        headers=STEP_HEADERS,
        rows=tuple(step_cells(report, step) for step in report.steps),
        numbers=STEP_HEADERS[3:4],
    )
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(rungs, steps),
        notices=report.notices,
    )


def waterfall(report: LadderReport, *, width: int) -> tuple[str, ...]:
    """Return a line for each rung and each step: name, bar, milliseconds, 95 % interval."""
    room = width - _LABEL - _VALUE - _ENDS - 4
    room = max(_LEAST_BAR, min(room, _MOST_BAR))
    levels = [rung.value_ms for rung in report.measured if rung.value_ms is not None]
    if report.mine is not None:
        levels.append(report.mine.value_ms)
    bars = _Bars(max(levels, default=1.0), room)
    head = _line("", " " * room, "ms", "95 % interval")
    return (head.rstrip(), *_lines(report, bars), *_missing(report))


def _lines(report: LadderReport, bars: _Bars) -> Iterator[str]:
    steps = {step.to: step for step in report.steps}
    before: RungKey | None = None
    for rung in report.measured:
        step = steps.get(rung.key)
        if step is not None:
            yield _step_line(report, step, bars, is_next=step.base is before)
        elif before in steps:  # what follows is not part of a sum
            yield ""
        value_ms = rung.value_ms or 0.0
        ends = ends_text(report, rung.interval)
        yield _line(title(rung), bars.of(value_ms), level_text(report, rung), ends)
        before = rung.key
        if report.mine is not None and rung.key is report.mine.nearest:
            mine = report.mine
            ends = ends_text(report, Interval(low=mine.low_ms, high=mine.high_ms))
            level = f"{mine.value_ms:,.{places_of(report)}f}"
            yield _line("► yours", bars.of(mine.value_ms, "▬"), level, ends)


def _step_line(report: LadderReport, step: LadderStep, bars: _Bars, *, is_next: bool) -> str:
    base = report.level_ms(step.base) or 0.0
    name = adds(step) if is_next else f"{adds(step)} *"
    bar = bars.between(base, base + step.value_ms)
    ends = signed_ends(report, step.interval)
    return _line(f"  {name}", bar, signed_ms(report, step.value_ms), ends)


def _missing(report: LadderReport) -> Iterator[str]:
    """Yield what a star means, and why rungs have no figure."""
    order = [rung.key for rung in report.measured]
    for step in report.steps:
        if order.index(step.to) - order.index(step.base) != 1:
            yield f"  * from {title_of(report, step.base)}"
    for rung in report.rungs:
        if rung.value_ms is None:
            yield f"  {title(rung)}: not measured; {printable(rung.why or 'unknown')}"


class _Bars:
    """Bars from 0 to the largest figure, in so many columns."""

    def __init__(self, most_ms: float, room: int) -> None:
        self._scale, self._room = room / most_ms, room

    def of(self, value_ms: float, sign: str = _RUNG) -> str:
        return (sign * max(1, round(value_ms * self._scale))).ljust(self._room)

    def between(self, first_ms: float, second_ms: float) -> str:
        ends = (min(self._room, round(end * self._scale)) for end in (first_ms, second_ms))
        low, high = sorted(ends)
        low = min(low, self._room - 1)
        sign = _MORE if second_ms >= first_ms else _LESS
        return (" " * low + sign * max(1, high - low)).ljust(self._room)


def _line(label: str, bar: str, value: str, ends: str) -> str:
    shown = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
    return f"{shown:<{_LABEL}} {bar} {value:>{_VALUE}}  {ends}"


def ladder_page(report: LadderReport) -> bytes:
    """Return the page: the answer, the waterfall, then the tables of rungs and steps."""
    answered = ladder_answer(report)
    rungs, steps = answered.tables
    ways = rungs.figures("Every way to measure; each process is one figure")
    pairs = steps.figures("Steps, from the pairs of processes of each round")
    return answer_page(
        "ladder",
        answered,
        {"ladder.json": ladder_json(report)},
        title="Ladder",
        skip="ladder",
        charts=[ladder_chart(report)],
        sections=[
            table_section(rungs, replace(ways, sentences=(2,))),
            table_section(steps, pairs),
        ],
    )


def ladder_chart(report: LadderReport) -> Chart:
    """Return the waterfall of a ladder."""
    rows = (rung_cells(report, rung)[:3] for rung in report.measured)
    table = ChartTable(headers=ROW_HEADERS[:3], rows=tuple(rows))
    return waterfall_chart("Where the time of a query goes", tuple(_bars(report)), table)


def _bars(report: LadderReport) -> Iterator[Bar]:
    steps = {step.to: step for step in report.steps}
    for rung in report.measured:
        step = steps.get(rung.key)
        if step is not None:
            yield _step_bar(report, step)
        level = rung.value_ms or 0.0
        yield Bar(
            name=title(rung),
            kind="measured",
            start_ms=0.0,
            end_ms=level,
            value_ms=level,
            interval=rung.interval,
        )
        mine = report.mine
        if mine is not None and rung.key is mine.nearest:
            level = mine.value_ms
            yield Bar(name="yours", kind="yours", start_ms=0.0, end_ms=level, value_ms=level)


def _step_bar(report: LadderReport, step: LadderStep) -> Bar:
    start = report.level_ms(step.base) or 0.0
    return Bar(
        name=adds(step),
        kind="step",
        start_ms=start,
        end_ms=start + step.value_ms,
        value_ms=step.value_ms,
        interval=step.interval,
    )
