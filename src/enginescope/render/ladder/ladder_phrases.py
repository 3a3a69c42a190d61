"""Phrase a ladder, for terminal, page and JSON alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginescope.judge.difference import none_above
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, listed, signed
from enginescope.records.verdict.ladder import (
    LadderReport,
    LadderStep,
    Placement,
    Rung,
    RungKey,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.phrases import unstable_mark

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
_MORE = "measure more rounds, or give more digits"
#: An interval from a value to this many times it is too wide to name a rung.
_WIDE = 1.5
#: Rungs that a sentence has room for.
_NAMED = 3
ROW_HEADERS = ("Measured", "ms per query", "95 % interval", "Processes")
STEP_HEADERS = ("Step", "From", "To", "ms", "95 % interval")


def title(rung: Rung) -> str:
    """Return a rung's name."""
    return _TITLES[rung.key].format(rung.count)


def title_of(report: LadderReport, key: RungKey) -> str:
    """Return the name of a rung of a report."""
    rung = report.rung(key)
    return title(rung) if rung is not None else key.value


def adds(step: LadderStep) -> str:
    """Return what a step adds."""
    return _ADDS.get(step.to, step.to.value)


def places_of(report: LadderReport) -> int:
    """Return the decimals of all figures: four significant digits of the largest rung."""
    most = max((rung.value_ms or 0.0 for rung in report.measured), default=1.0)
    return max(0, 3 - math.floor(math.log10(most or 1.0)))


def level_text(report: LadderReport, rung: Rung) -> str:
    """Return a rung's milliseconds; an em dash where it has none."""
    return UNKNOWN if rung.value_ms is None else f"{rung.value_ms:,.{places_of(report)}f}"


def signed_ms(report: LadderReport, value_ms: float) -> str:
    """Return milliseconds with their sign."""
    return signed(value_ms, places_of(report))


def ends_text(report: LadderReport, interval: Interval | None) -> str:
    """Return the interval of a rung as ``1.61 … 1.64``; an em dash if it is not known."""
    if interval is None:
        return UNKNOWN
    places = places_of(report)
    return f"{interval.low:,.{places}f} … {interval.high:,.{places}f}"


def signed_ends(report: LadderReport, interval: Interval | None) -> str:
    """Return the interval of a step, with signs."""
    if interval is None:
        return UNKNOWN
    return f"{signed_ms(report, interval.low)} … {signed_ms(report, interval.high)}"


def answer_text(report: LadderReport) -> str:
    """Return the answer: where the figure of the user is, else the largest step."""
    return unstable_mark(report.notices) + _answer(report)[0]


def meaning_text(report: LadderReport) -> str | None:
    """Return what the answer means, in a sentence of its own."""
    return _answer(report)[1]


def _answer(report: LadderReport) -> tuple[str, str | None]:
    if report.mine is not None:
        return _placement(report, report.mine)
    steps = [step for step in report.steps if step.interval is None or not _spans_zero(step)]
    if not steps:
        most = [max(-one.interval.low, one.interval.high) for one in report.steps if one.interval]
        if not most:
            return "inconclusive: no step between two rungs was measured", None
        return f"{none_above(max(most), 'ms')} between two rungs is detected", None
    largest = max(steps, key=lambda step: abs(step.value_ms))
    ends = f"from {_named(report, largest.base)} to {_named(report, largest.to)}"
    return f"the largest step is “{adds(largest)}”, {signed_ms(report, largest.value_ms)} ms", ends


def _spans_zero(step: LadderStep) -> bool:
    return step.interval is not None and step.interval.low <= 0 <= step.interval.high


def _placement(report: LadderReport, mine: Placement) -> tuple[str, str]:
    """Return where the figure of the user is, and what that means."""
    text = printable(mine.text)
    if len(mine.alike) > 1:
        return f"{text} fits {_several(report, mine.alike)}", _MORE
    if mine.alike:
        (key,) = mine.alike
        rung = report.rung(key)
        ends = rung.interval if rung is not None else None
        if ends is not None and ends.high > _WIDE * ends.low:
            why = f"its interval is {ends_text(report, ends)} ms: measure more rounds"
            return f"{text} fits {_named(report, key)}, whose interval is wide", why
        return f"{text} is {_named(report, key)}", f"it {_MEANINGS[key]}"
    ratio = mine.value_ms / (report.level_ms(mine.nearest) or mine.value_ms)
    place = f"{text} is nearest to {_named(report, mine.nearest, f', × {ratio:.3g}')}"
    if mine.above is None:
        return place, "it is above all rungs: it contains work that no rung contains"
    if mine.below is None:
        return place, "it is below all rungs: it leaves out work that every rung contains"
    between = f"it is between {_named(report, mine.below)} and {_named(report, mine.above)}"
    nearest = f"“{title_of(report, mine.nearest)}” {_MEANINGS[mine.nearest]}"
    return place, f"{between}; {nearest}"


def _named(report: LadderReport, key: RungKey, more: str = "") -> str:
    rung = report.rung(key)
    level = level_text(report, rung) if rung is not None else UNKNOWN
    return f"“{title_of(report, key)}” ({level} ms{more})"


def _several(report: LadderReport, keys: Sequence[RungKey]) -> str:
    """Return the names of up to three rungs; of more, their number and range."""
    if len(keys) <= _NAMED:
        return listed([_named(report, key) for key in keys])
    rungs = [rung for rung in report.measured if rung.key in keys]
    low, *_, high = sorted(rungs, key=lambda rung: rung.value_ms or 0.0)
    ends = f"{level_text(report, low)} … {level_text(report, high)} ms"
    return f"{len(keys)} of {len(report.measured)} rungs ({ends})"


def scope_facts(report: LadderReport) -> tuple[tuple[str, str], ...]:
    """Return the model, the evidence and the sums, as names and texts."""
    disturbed = report.measured_rounds - report.rounds
    rounds = counted(report.rounds, "round") + (
        f", {disturbed} disturbed excluded" if disturbed else ""
    )
    level = f"{report.evidence.value}, {rounds}" if report.evidence else rounds
    sums = "; ".join(
        f"{title_of(report, total.whole.to)}: steps {signed_ms(report, total.steps_ms)} ms, whole "
        f"{signed_ms(report, total.whole.value_ms)} ms "
        f"({signed_ends(report, total.whole.interval)})"
        for total in report.sums
    )
    facts = (
        ("meaning", meaning_text(report) or ""),
        ("model", f"{printable(report.model)} · {report.backend}"),
        ("evidence", level),
        ("adds up", sums),
    )
    return tuple((name, text) for name, text in facts if text)


def rung_cells(report: LadderReport, rung: Rung) -> tuple[str, ...]:
    """Return a rung below `ROW_HEADERS`; without a figure, the reason."""
    if rung.value_ms is None:
        return (title(rung), UNKNOWN, f"not measured: {rung.why or 'unknown'}", "0")
    ends = ends_text(report, rung.interval)
    return (title(rung), level_text(report, rung), ends, str(rung.processes))


def step_cells(report: LadderReport, step: LadderStep) -> tuple[str, ...]:
    """Return a step below `STEP_HEADERS`."""
    base, to = title_of(report, step.base), title_of(report, step.to)
    figures = (signed_ms(report, step.value_ms), signed_ends(report, step.interval))
    return (adds(step), base, to, *figures)
