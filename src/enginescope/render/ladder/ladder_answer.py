"""The answer of a ladder, for terminal, Markdown, page and JSON alike, and its waterfall."""

import math
from collections.abc import Iterator, Sequence

from enginescope.core.record import replace
from enginescope.judge.samples import Interval
from enginescope.judge.units import listed, signed
from enginescope.judge.verdict import none_above
from enginescope.records.verdict.ladder import LadderReport, LadderStep, Placement, Rung, RungKey
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import rounds_text, unstable_mark
from enginescope.render.charts.bars import Bar, waterfall_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, ChartTable

#: Rung -> its name; braces: the number of streams or requests.
_TITLES = {
    RungKey.LAYERS: "layers' own times",
    RungKey.GRAPH: "GPU compute, CUDA graph",
    RungKey.EAGER: "GPU compute, eager",
    RungKey.DEVICE: "call, tensors on the device",
    RungKey.SYNC: "host latency, no copies",
    RungKey.BOUND: "call, tensors bound once",
    RungKey.PYTHON: "the same, calls from Python",
    RungKey.PINNED: "pinned copies",
    RungKey.PAGEABLE: "pageable copies",
    RungKey.ARRAYS: "call with NumPy arrays",
    RungKey.CLIENT: "call that copies its arrays",
    RungKey.PROVIDER: "ONNX Runtime's TensorRT",
    RungKey.ONE_AHEAD: "per query, one ahead",
    RungKey.STREAMS: "per query, {} in parallel",
    RungKey.ENQUEUE: "enqueue call from Python",
    RungKey.TRTEXEC: "latency as trtexec sums it",
}
#: Rung -> what the step to it adds; a step can be negative.
_ADDS = {
    RungKey.GRAPH: "CUDA graph hides launches",
    RungKey.EAGER: "launches one by one",
    RungKey.DEVICE: "the session's own work",
    RungKey.SYNC: "enqueue and wait",
    RungKey.BOUND: "session and threads",
    RungKey.PYTHON: "the interpreter",
    RungKey.PINNED: "copies",
    RungKey.PAGEABLE: "memory not page-locked",
    RungKey.ARRAYS: "arrays in and out",
    RungKey.CLIENT: "the caller's copies",
    RungKey.PROVIDER: "ONNX Runtime",
    RungKey.ONE_AHEAD: "overlap of queries",
    RungKey.STREAMS: "more at a time",
}
#: Rung -> what a figure near it means for the one who has it.
_MEANINGS = {
    RungKey.LAYERS: "has the work of the layers alone: no launch, no copy, no waiting",
    RungKey.GRAPH: "has GPU work launched as a CUDA graph, and nothing of the host",
    RungKey.EAGER: "has GPU work launched kernel by kernel: trtexec prints this as GPU Compute "
    "Time",
    RungKey.DEVICE: "has a whole call whose tensors stay on the device",
    RungKey.SYNC: "has the enqueue and the wait of each query, and no copies",
    RungKey.BOUND: "has a whole call, without arrays passed in and out",
    RungKey.PYTHON: "has a whole call from Python, without arrays passed in and out",
    RungKey.PINNED: "waits for each query and copies from page-locked memory",
    RungKey.PAGEABLE: "waits for each query and copies from ordinary memory: page-locked memory "
    "or queries ahead may be faster",
    RungKey.ARRAYS: "passes NumPy arrays in each call: bound tensors may be faster",
    RungKey.CLIENT: "copies arrays for each call: reuse them, or bind the tensors",
    RungKey.PROVIDER: "has a call through ONNX Runtime",
    RungKey.ONE_AHEAD: "is a time per query with another one in flight, as trtexec's "
    "throughput is; it is not the latency of a query",
    RungKey.STREAMS: "is a time per query with several in flight; it is not the latency of a query",
    RungKey.ENQUEUE: "has the enqueue call alone: it does not wait for the GPU",
    RungKey.TRTEXEC: "adds up copies and GPU work on the GPU's clock, as trtexec's Latency does",
}
_RUNG_HEADERS = ("Measured", "ms per query", "95 % interval", "Processes")
_STEP_HEADERS = ("Step", "From", "To", "ms", "95 % interval, ms")
_LABEL, _VALUE, _ENDS = 30, 8, 19
_LEAST_BAR, _MOST_BAR = 12, 60
_RUNG, _YOURS, _MORE_TIME, _LESS_TIME = "█", "▬", "▒", "░"


def ladder_answer(report: LadderReport) -> Answer:
    """Return the answer, its facts, every rung and every step."""
    answer, meaning = _answer(report)
    return Answer(
        verb="ladder",
        title="Ladder",
        answer=unstable_mark(report.notices) + answer,
        facts=_facts(report, meaning),
        tables=(
            TextTable(
                title="Rungs",
                headers=_RUNG_HEADERS,
                rows=tuple(_rung_cells(report, rung) for rung in report.rungs),
                numbers=(_RUNG_HEADERS[1], _RUNG_HEADERS[3]),
                sentences=_RUNG_HEADERS[2:3],
                note="Every way to measure; each process is one figure",
            ),
            TextTable(
                title="Steps",
                headers=_STEP_HEADERS,
                rows=tuple(
                    (
                        *(_adds(step), _title_of(report, step.base), _title_of(report, step.to)),
                        *(_signed_ms(report, step.value_ms), _signed_ends(report, step.interval)),
                    )
                    for step in report.steps
                ),
                numbers=_STEP_HEADERS[3:4],
                note="Steps, from the pairs of processes of each round",
            ),
        ),
        notices=report.notices,
        report=report,
        data={"meaning": meaning, "titles": {r.key.value: _title(r) for r in report.rungs}},
        leads=False,
        charts=(ladder_chart(report),),
    )


def _title(rung: Rung) -> str:
    return _TITLES[rung.key].format(rung.count)


def _title_of(report: LadderReport, key: RungKey) -> str:
    rung = report.rung(key)
    return _title(rung) if rung is not None else key.value


def _adds(step: LadderStep) -> str:
    return _ADDS.get(step.to, step.to.value)


def _places_of(report: LadderReport) -> int:
    """Return the decimals of all figures: four significant digits of the largest rung."""
    most = max((rung.value_ms or 0.0 for rung in report.measured), default=1.0)
    return max(0, 3 - math.floor(math.log10(most or 1.0)))


def _level_text(report: LadderReport, rung: Rung) -> str:
    return UNKNOWN if rung.value_ms is None else f"{rung.value_ms:,.{_places_of(report)}f}"


def _signed_ms(report: LadderReport, value_ms: float) -> str:
    return signed(value_ms, _places_of(report))


def _ends_text(report: LadderReport, interval: Interval | None) -> str:
    if interval is None:
        return UNKNOWN
    places = _places_of(report)
    return f"{interval.low:,.{places}f} … {interval.high:,.{places}f}"


def _signed_ends(report: LadderReport, interval: Interval | None) -> str:
    if interval is None:
        return UNKNOWN
    return f"{_signed_ms(report, interval.low)} … {_signed_ms(report, interval.high)}"


def _answer(report: LadderReport) -> tuple[str, str | None]:
    if report.mine is not None:
        return _placement(report, report.mine)
    ends = [(step, step.interval) for step in report.steps]
    steps = [step for step, own in ends if own is None or not own.low <= 0 <= own.high]
    if not steps:
        most = [max(-own.low, own.high) for _, own in ends if own]
        if not most:
            return "inconclusive: no step between two rungs was measured", None
        return f"{none_above(max(most), 'ms')} between two rungs is detected", None
    largest = max(steps, key=lambda step: abs(step.value_ms))
    place = f"from {_named(report, largest.base)} to {_named(report, largest.to)}"
    value = _signed_ms(report, largest.value_ms)
    return f"the largest step is “{_adds(largest)}”, {value} ms", place


def _placement(report: LadderReport, mine: Placement) -> tuple[str, str]:
    text = printable(mine.text)
    if len(mine.alike) > 1:
        why = "measure more rounds, or give more digits"
        return f"{text} fits {_several(report, mine.alike)}", why
    if mine.alike:
        (key,) = mine.alike
        rung = report.rung(key)
        ends = rung.interval if rung is not None else None
        if ends is not None and ends.high > 1.5 * ends.low:
            why = f"its interval is {_ends_text(report, ends)} ms: measure more rounds"
            return f"{text} fits {_named(report, key)}, whose interval is wide", why
        return f"{text} is {_named(report, key)}", f"it {_MEANINGS[key]}"
    ratio = mine.value_ms / (report.level_ms(mine.nearest) or mine.value_ms)
    place = f"{text} is nearest to {_named(report, mine.nearest, f', × {ratio:.3g}')}"
    if mine.above is None:
        return place, "it is above all rungs: it contains work that no rung contains"
    if mine.below is None:
        return place, "it is below all rungs: it leaves out work that every rung contains"
    between = f"it is between {_named(report, mine.below)} and {_named(report, mine.above)}"
    return place, f"{between}; “{_title_of(report, mine.nearest)}” {_MEANINGS[mine.nearest]}"


def _named(report: LadderReport, key: RungKey, more: str = "") -> str:
    rung = report.rung(key)
    level = _level_text(report, rung) if rung is not None else UNKNOWN
    return f"“{_title_of(report, key)}” ({level} ms{more})"


def _several(report: LadderReport, keys: Sequence[RungKey]) -> str:
    """Return the names of up to three rungs; of more, their number and range."""
    if len(keys) <= 3:
        return listed([_named(report, key) for key in keys])
    rungs = [rung for rung in report.measured if rung.key in keys]
    low, *_, high = sorted(rungs, key=lambda rung: rung.value_ms or 0.0)
    ends = f"{_level_text(report, low)} … {_level_text(report, high)} ms"
    return f"{len(keys)} of {len(report.measured)} rungs ({ends})"


def _facts(report: LadderReport, meaning: str | None) -> tuple[tuple[str, str], ...]:
    sums = []
    for total in report.sums:
        name, ends = _title_of(report, total.whole.to), _signed_ends(report, total.whole.interval)
        steps, whole = (_signed_ms(report, ms) for ms in (total.steps_ms, total.whole.value_ms))
        sums.append(f"{name}: steps {steps} ms, whole {whole} ms ({ends})")
    return stated(
        ("meaning", meaning),
        ("model", f"{printable(report.model)} · {report.backend}"),
        ("evidence", rounds_text(report)),
        ("adds up", "; ".join(sums)),
    )


def _rung_cells(report: LadderReport, rung: Rung) -> tuple[str, ...]:
    if rung.value_ms is None:
        return (_title(rung), UNKNOWN, f"not measured: {rung.why or 'unknown'}", "0")
    figures = (_level_text(report, rung), _ends_text(report, rung.interval))
    return (_title(rung), *figures, str(rung.processes))


def waterfall(report: LadderReport, *, width: int) -> tuple[str, ...]:
    """Return a line for each rung and each step: name, bar, milliseconds, 95 % interval."""
    room = max(_LEAST_BAR, min(width - _LABEL - _VALUE - _ENDS - 4, _MOST_BAR))
    rows = tuple(_rows(report))
    most_ms = max((bar.end_ms for bar, _ in rows if bar and bar.kind != "step"), default=1.0)
    head = _line("", " " * room, "ms", "95 % interval").rstrip()
    lines = (_bar_line(report, label, bar, room / most_ms, room) for bar, label in rows)
    return (head, *lines, *_missing(report))


def _rows(report: LadderReport) -> Iterator[tuple[Bar | None, str]]:
    """Yield every bar with its label on a terminal; none before what is not part of a sum."""
    steps = {step.to: step for step in report.steps}
    before: RungKey | None = None
    for rung in report.measured:
        step, level_ms = steps.get(rung.key), rung.value_ms or 0.0
        if step is not None:
            bar = _bar(_adds(step), "step", step.value_ms, step.interval)
            base_ms = report.level_ms(step.base) or 0.0
            bar = replace(bar, start_ms=base_ms, end_ms=base_ms + step.value_ms)
            yield bar, f"  {bar.name}{'' if step.base is before else ' *'}"
        elif before in steps:
            yield None, ""
        yield _bar(_title(rung), "measured", level_ms, rung.interval), _title(rung)
        before = rung.key
        if report.mine is not None and rung.key is report.mine.nearest:
            yield _bar("yours", "yours", report.mine.value_ms), "► yours"


def _bar(name: str, kind: str, level_ms: float, interval: Interval | None = None) -> Bar:
    return Bar(
        name=name, kind=kind, start_ms=0.0, end_ms=level_ms, value_ms=level_ms, interval=interval
    )


def _bar_line(report: LadderReport, label: str, bar: Bar | None, scale: float, room: int) -> str:
    if bar is None:
        return ""
    if bar.kind == "step":
        low, high = sorted(min(room, round(end * scale)) for end in (bar.start_ms, bar.end_ms))
        low = min(low, room - 1)
        drawn = " " * low + (_MORE_TIME if bar.value_ms >= 0 else _LESS_TIME) * max(1, high - low)
        value, interval = _signed_ms(report, bar.value_ms), _signed_ends(report, bar.interval)
    else:
        mine = report.mine if bar.kind == "yours" else None
        ends = Interval(low=mine.low_ms, high=mine.high_ms) if mine else bar.interval
        drawn = (_YOURS if mine else _RUNG) * max(1, round(bar.value_ms * scale))
        value, interval = f"{bar.value_ms:,.{_places_of(report)}f}", _ends_text(report, ends)
    return _line(label, drawn.ljust(room), value, interval)


def _missing(report: LadderReport) -> Iterator[str]:
    """Yield what a star means, and why rungs have no figure."""
    order = [rung.key for rung in report.measured]
    for step in report.steps:
        if order.index(step.to) - order.index(step.base) != 1:
            yield f"  * from {_title_of(report, step.base)}"
    for rung in report.rungs:
        if rung.value_ms is None:
            yield f"  {_title(rung)}: not measured; {printable(rung.why or 'unknown')}"


def _line(label: str, bar: str, value: str, ends: str) -> str:
    shown = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
    return f"{shown:<{_LABEL}} {bar} {value:>{_VALUE}}  {ends}"


def ladder_chart(report: LadderReport) -> Chart:
    """Return the waterfall of a ladder."""
    cells = tuple(_rung_cells(report, rung)[:3] for rung in report.measured)
    bars = tuple(bar for bar, _ in _rows(report) if bar is not None)
    title, subtitle = "Where the time of a query goes", ("Lines are 95 % intervals",)
    table = ChartTable(headers=_RUNG_HEADERS[:3], rows=cells)
    return waterfall_chart(title, bars, table, subtitle=subtitle, axis="time per query")
