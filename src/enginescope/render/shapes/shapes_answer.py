"""The answer of a sweep of shapes, for terminal, Markdown, CSV, page and JSON alike."""

import shlex

from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant, range_text, with_sign
from enginescope.judge.verdict import none_above
from enginescope.records.verdict.shapes import CostKind, ShapeCost, ShapeLevel, ShapesReport
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, ends_of, printable
from enginescope.render.base.figures import TextTable, figure
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.base.phrases import rounds_text, unstable_mark
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, Spec, marks, quantity, tooltip

_CSV_HEADERS = (
    *("shape", "size", "items", "latency_ms", "low_ms", "high_ms", "items_per_s"),
    *("processes", "profile", "new_ms", "again_ms", "weight", "why"),
)


def shapes_answer(report: ShapesReport) -> Answer:
    """Return the shapes, the costs of changes, and the profiles to build."""
    build = build_command(report)
    tables = (_shape_table(report), _cost_table(report), _profile_table(report))
    return Answer(
        verb="shapes",
        title="Shapes",
        answer=unstable_mark(report.notices) + _answer(report),
        facts=_facts(report),
        tables=tuple(table for table in tables if table is not None),
        notices=report.notices,
        report=report,
        data={"build": build},
        csv=(_CSV_HEADERS, [_csv_row(level) for level in report.levels]),
        leads=False,
        charts=_charts(report),
    )


def _shape_name(report: ShapesReport, label: str | None) -> str:
    return f"{printable(report.dimension)} {UNKNOWN if label is None else label}"


def _answer(report: ShapesReport) -> str:
    knee, last = report.knee, report.measured[-1]
    if knee.why is not None:
        first = report.measured[0]
        if first is last:
            name = _shape_name(report, last.label)
            return f"only {name} was measured: {figure(last.latency_ms)} ms"
        return (
            f"{_shape_name(report, first.label)} takes {figure(first.latency_ms)} ms, "
            f"{_shape_name(report, last.label)} {figure(last.latency_ms)} ms"
        )
    gain = f"{knee.gain_pct:g} %"
    if report.is_unstable:
        return "no shape is recommended: measure again on an idle machine"
    sure = f" (uncertainty unknown: only {report.rounds} processes)"
    if knee.low is not None:
        high = f"beyond {last.label}" if knee.high is None else knee.high
        is_one = knee.low == knee.high or (knee.high is None and knee.low == last.label)
        sure = f" (95 %: {high if is_one else f'{knee.low} … {high}'})"
    if not knee.is_decided:
        return f"the knee is not decided{sure}: measure more rounds, or on an idle machine"
    if knee.label is None:
        name = _shape_name(report, last.label)
        return f"no knee up to {name}: throughput still grows by {gain} or more{sure}"
    name = _shape_name(report, knee.label)
    return f"run {name}: larger ones have less than {gain} more throughput{sure}"


def _facts(report: ShapesReport) -> tuple[tuple[str, str], ...]:
    processes = rounds_text(report, "process", "processes")
    firsts = {"a new shape": report.cost("new"), "an earlier one": report.cost("again")}
    changes = [f"first request of {name}: {_cost_text(c)}" for name, c in firsts.items() if c]
    if switch := report.cost("profile"):
        changes.append(f"switch of the profile: {figure(switch.value_ms)} ms")
    spans = "; ".join(f"min {p.low}, opt {p.opt}, max {p.high}" for p in report.proposals)
    shape = report.shape_to_run
    alone = f"{_shape_name(report, shape)} alone, or for all shapes: " if shape else ""
    build = spans and f"{alone}{spans}: opt is the median shape by time, with {_basis(report)}"
    return stated(
        ("change", "; ".join(changes) or "not measured"),
        ("slower", _cliffs(report)),
        ("build for", build),
        ("trace", _trace(report)),
        ("model", f"{printable(report.model)} · {printable(report.backend)}"),
        ("evidence", f"{processes}, shapes in random order in each"),
    )


def _cost_text(cost: ShapeCost) -> str:
    """Return what a first request takes more, or that it is not known to take more."""
    ends = f"95 %: {_ends(cost.interval)}"
    if cost.interval is not None and cost.interval.low <= 0:
        most = max(-cost.interval.low, cost.interval.high)
        return f"{none_above(most, 'ms')} is detected ({ends} ms)"
    ratio = "" if cost.ratio is None else f", × {format_significant(cost.ratio, 3)}"
    return f"{with_sign(cost.value_ms)} ms{ratio} ({ends})"


def _cliffs(report: ShapesReport) -> str:
    """Say which shapes take longer than a larger one; else by how much at most, by intervals."""
    if report.cliffs:
        return "; ".join(
            f"{_shape_name(report, cliff.label)} takes {cliff.ratio:.3g} × as long as "
            f"{cliff.faster} (95 %: {cliff.interval.low:.3g} … {cliff.interval.high:.3g}): "
            f"pad it to {cliff.faster}"
            for cliff in report.cliffs
        )
    ends = [level.interval for level in report.measured]
    pairs = [(a, b) for at, a in enumerate(ends) for b in ends[at + 1 :]]
    known = [100 * (a.high / b.low - 1) for a, b in pairs if a and b]
    if not known or len(known) < len(pairs):
        return "inconclusive: not every shape has an interval"
    if max(known) <= 0:
        return "none: every shape takes less time than a larger one"
    return f"{none_above(max(known))} to a larger shape is detected"


def _basis(report: ShapesReport) -> str:
    weights = {
        "uniform": "equal weights of the shapes",
        "given": "your weights",
        "trace": "weights from the trace",
    }
    return f"{weights[report.weights]} and times of {printable(report.backend)}"


def _trace(report: ShapesReport) -> str:
    use = report.trace
    if use is None:
        return ""
    share = "an unknown share" if use.change_share is None else f"{100 * use.change_share:.2g} %"
    text = f"{use.requests:,} requests, {use.changes:,} changes that take {share} of the time"
    if use.padded:
        text += f"; padded to the next measured shape: {use.padded:,}"
    if use.beyond:
        text += f"; larger than every measured shape and skipped: {use.beyond:,}"
    return text


def _ends(interval: Interval | None) -> str:
    if interval is None:
        return "interval unknown"
    return f"{with_sign(interval.low)} … {with_sign(interval.high)}"


def _shape_table(report: ShapesReport) -> TextTable:
    headers = (
        *(printable(report.dimension), "ms", "95 % interval", "ms/item", "items/s"),
        *("new, ms", "again, ms"),
    )
    return TextTable(
        title="Shapes",
        headers=headers,
        rows=tuple(_row(report, level) for level in report.levels),
        numbers=(headers[0], "ms", "ms/item", "items/s", "new, ms", "again, ms"),
        note="Items/s: one request at a time; new, again: what the first request after a change "
        "takes more; *: the knee",
    )


def _row(report: ShapesReport, level: ShapeLevel) -> tuple[str, ...]:
    name = f"{level.label} *" if level.label == report.shape_to_run else level.label
    if level.latency_ms is None:
        return (name, UNKNOWN, "not measured", *(UNKNOWN,) * 4)
    per_s, costs = level.items_per_s, (level.cost("new"), level.cost("again"))
    return (
        name,
        figure(level.latency_ms),
        _interval_text(level.interval),
        figure(level.latency_ms / max(level.items, 1)),
        f"{per_s:,.0f}" if per_s and per_s >= 1_000 else figure(per_s),
        *(UNKNOWN if cost is None else with_sign(cost.value_ms) for cost in costs),
    )


def _cost_table(report: ShapesReport) -> TextTable | None:
    if not report.costs:
        return None
    texts: dict[CostKind, str] = {
        "new": "first request of a new shape",
        "again": "first request of an earlier shape",
        "profile": "of these: profile switched",
        "bind": "of these: inputs and outputs bound",
        "graph": "of these: CUDA graph captured",
    }
    return TextTable(
        title="Changes of the shape",
        headers=("Median of all shapes", "ms", "95 % interval", "ratio", "changes"),
        rows=tuple(
            (
                texts[cost.kind],
                with_sign(cost.value_ms),
                UNKNOWN if cost.interval is None else _ends(cost.interval),
                UNKNOWN if cost.ratio is None else f"× {format_significant(cost.ratio, 3)}",
                f"{cost.changes:,}",
            )
            for cost in report.costs
        ),
        numbers=("ms", "ratio", "changes"),
        note="Above a request of the same shape after an equal pause",
    )


def _profile_table(report: ShapesReport) -> TextTable | None:
    if not report.proposals:
        return None
    headers = ("Profile", "min", "opt", "max", "requests", "time")
    shares = ((100 * one.requests, 100 * one.time) for one in report.proposals)
    return TextTable(
        title="Optimization profiles to build",
        headers=headers,
        rows=tuple(
            (str(at), one.low, one.opt, one.high, *(f"{share_pct:.3g} %" for share_pct in pcts))
            for at, (one, pcts) in enumerate(zip(report.proposals, shares, strict=True))
        ),
        numbers=headers,
        note=f"opt is the median shape by time, with {_basis(report)}; TensorRT chooses tactics "
        "for opt: build it and measure again",
    )


def build_command(report: ShapesReport) -> str | None:
    """Return a command that builds the proposed profiles; ``None`` for an engine."""
    bounds = [
        f"--{end}-shape {shlex.quote(shape.name)}:{'x'.join(map(str, shape.dims))}"
        for profile in report.proposals
        for end in ("min", "opt", "max")
        for shape in getattr(profile, f"{end}_shapes")
    ]
    if not bounds or not report.file.endswith(".onnx"):
        return None
    return " ".join(["enginescope", "build", shlex.quote(report.file), *bounds])


def _csv_row(level: ShapeLevel) -> tuple[object, ...]:
    new, again = level.cost("new"), level.cost("again")
    return (
        *(level.label, level.size, level.items, level.latency_ms, *ends_of(level.interval)),
        *(level.items_per_s, level.processes, level.profile, new and new.value_ms),
        *(again and again.value_ms, level.weight, level.why),
    )


def _interval_text(interval: Interval | None) -> str:
    return UNKNOWN if interval is None else range_text(interval.low, interval.high)


def _charts(report: ShapesReport) -> tuple[Chart, ...]:
    knee, measured = report.shape_to_run, report.measured
    rates = [_point(report, level, level.items_per_s, level.items_interval) for level in measured]
    times = [_point(report, level, level.latency_ms, level.interval) for level in measured]
    slow = [row for row in times if row["shape"] in {cliff.label for cliff in report.cliffs}]
    dashed = f"; the dashed line is the knee, {printable(report.dimension)} {knee}" if knee else ""
    curve = _curve(rates, _x(report), "items per second", BLUE)
    slower = "; triangles take longer than a larger shape" if slow else ""
    late = _curve(times, _x(report), "latency, ms", ORANGE)
    mark = {"type": "point", "shape": "triangle-down", "size": 260, "color": VERMILLION}
    y = quantity("y", "latency, ms")
    triangles = marks(slow, {**mark, "filled": True}, x=_x(report), y=y)
    at_knee = [{"x": row["x"]} for row in rates if row["shape"] == report.knee.named]
    line = {"type": "rule", "strokeDash": [6, 3], "color": GREY, "strokeWidth": 1.4}
    return (
        Chart(
            key="shapes_throughput",
            title=f"Throughput by shape{dashed}",
            subtitle=("One request at a time; bars are 95 % intervals",),
            spec={"layer": [*curve, *([marks(at_knee, line, x=_x(report))] if at_knee else [])]},
        ),
        Chart(
            key="shapes_latency",
            title=f"Latency by shape{slower}",
            subtitle=("Bars are 95 % intervals",),
            spec={"layer": [*late, *([triangles] if slow else [])]},
        ),
    )


def _point(
    report: ShapesReport, level: ShapeLevel, value: float | None, interval: Interval | None
) -> Spec:
    place = level.label if _is_whole(report) else level.size
    row: Spec = {"x": place, "shape": level.label, "y": value}
    if interval is not None:
        row |= {"low": interval.low, "high": interval.high, "ends": _interval_text(interval)}
    return row


def _is_whole(report: ShapesReport) -> bool:
    return any(not one.label.isdecimal() for one in report.levels)


def _x(report: ShapesReport) -> Spec:
    """Return the channel of sizes; of whole shapes, their names in order."""
    title = printable(report.dimension)
    if _is_whole(report):
        slanted = {"labelAngle": -30, "labelOverlap": True}
        return {"field": "x", "type": "ordinal", "sort": None, "title": title, "axis": slanted}
    sizes = [one.size for one in report.measured]
    axis = {"values": sizes, "labelOverlap": "greedy", "format": "d", "grid": False}
    if sizes[-1] >= 8 * sizes[0]:
        scale: Spec = {"type": "log", "base": 2, "nice": False, "padding": 12}
        return quantity("x", f"{title} (log)", scale=scale, axis=axis)
    return quantity("x", title, scale={"zero": False, "nice": False, "padding": 12}, axis=axis)


def _curve(rows: list[Spec], x: Spec, title: str, color: str) -> list[Spec]:
    y = quantity("y", title, scale={"zero": True})
    tips = tooltip(shape="shape", y=f"{title}#", ends="95 % interval")
    shared = {"x": x, "color": {"value": color}}
    known = [row for row in rows if "low" in row]
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 55, "opacity": 1}
    return [
        marks(rows, {"type": "line", "strokeWidth": 1.6}, **shared, y=y),
        marks(known, {"type": "rule", "strokeWidth": 3, "opacity": 0.6}, **shared, **ends),
        marks(rows, point, **shared, y=y, tooltip=tips),
    ]
