"""A plan's layers: tactics, reformats, memory, precisions, nodes, and limits of the GPU."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from enginescope.analysis.layers.layer_table import LayerRow, tactic_shares
from enginescope.analysis.layers.reformats import ReformatShare, reformats, reformats_by
from enginescope.analysis.onnx.onnx_map import OnnxMap
from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES, Attributes
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import WORST, GpuLimits, Roofline, rate_precision
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.formats.plan.plan_layer import layer_json
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.facts import shape_text
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.charts.card.sums import memory_chart
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, Spec, marks
from enginescope.render.html.page_frame import deflated
from enginescope.render.memory.memory_text import memory_sentences, memory_tables
from enginescope.render.plans import plan_headline, plan_tables
from enginescope.render.sections.section import Section, known

#: Plans with more layers leave the fields of their file out of the page.
MOST_WITH_FIELDS = 5_000


def layers(subject: plan_headline.PageSubject) -> Section | None:
    """What is known of each layer, the slowest first; ``None`` without layers."""
    rows, view, view_sum = subject.layers, subject.plan, subject.view.layer_sum
    position = subject.position_of_layer
    at = [position.get(row.index) if row.in_plan else None for row in rows]
    limits = _limits(view.roofline if view else None, at)
    columns = (*_first(subject, rows, limits), *_of_plan(view, at), *_last(rows, view, at))
    sum_ms, totals = view_sum.sum_ms if view_sum else None, subject.view.plan_totals
    of = f"; their sum is {format_ms(sum_ms)}" if sum_ms else ""
    timed = plan_headline.timed_at_rest(subject.view.layers)
    answer = plan_headline.layers_text(totals, timed) if totals else counted(len(rows), "layer")
    slowest_ms = max((row.time_ms for row in rows if row.time_ms is not None), default=None)
    answer += f", the slowest {format_ms(slowest_ms, 3)}" if slowest_ms else ""
    table = data_table(
        plan_tables.LAYERS, f"Layers, the slowest first{of}", plan_tables.LAYER, columns
    )
    if table is None:
        return None
    idle = tuple(at for at, row in enumerate(rows) if row.is_inert and not row.took_time)
    if len(idle) < len(rows):
        table = replace(table, aside=idle, aside_words="launch nothing")
    return Section(
        key=plan_tables.LAYERS,
        title="Layers",
        answer=answer,
        tables=(table,),
        facts={"fields": _fields(subject), "most": f"{MOST_WITH_FIELDS:,}"},
    )


def _fields(subject: plan_headline.PageSubject) -> str | None:
    """Return each row's layer as the plan's file has it, deflated; ``None`` for too many."""
    plan = subject.view.run.plan
    if plan is None or len(plan.layers) > MOST_WITH_FIELDS:
        return None
    position = subject.position_of_layer
    fields = [
        layer_json(plan.layers[position[row.index]], plan.source_schema) if row.in_plan else None
        for row in subject.layers
    ]
    return deflated(fields)


_Unit: TypeAlias = tuple[str, float, int]


def _unit(values: Iterable[float | None]) -> _Unit:
    """Return the unit that times in ms read best in, its factor, and decimals."""
    longest = max((value for value in values if value is not None), default=1.0)
    return ("µs", 1e3, 2) if longest < 1 else ("ms", 1.0, 5)


def _times(
    key: str, title: str, values: Sequence[float | None], unit: _Unit, **more: Any
) -> DataColumn:
    """Return a column of times, its key and unit added; `more` are other fields of it."""
    name, factor, places = unit
    scaled = (None if value is None else value * factor for value in values)
    return column(f"{title} {name}", scaled, places, key=key, **more)


def _first(
    subject: plan_headline.PageSubject, rows: Sequence[LayerRow], limits: tuple[DataColumn, ...]
) -> tuple[DataColumn, ...]:
    """Return what one looks for first: name, time, limit, precision, tactic, findings, type."""
    codes = {
        index: " ".join(dict.fromkeys(one.code for one in found))
        for index, found in subject.findings_of_layer.items()
    }
    found = [codes.get(row.index) if row.in_plan else None for row in rows]
    times, shares = _field(rows, "time_ms"), _field(rows, "share_pct")
    precisions, of = _field(rows, "precision"), "type of the first input"
    return (
        column("Layer", _field(rows, "name"), key="name"),
        column(plan_tables.SHARE, shares, 2, meaning="of the sum over all layers", is_share=True),
        _times("time", "Time", times, _unit(times)),
        *limits,
        column("Precision", precisions, meaning=of, is_choice=True, key="precision"),
        column("Tactic", _field(rows, "tactic"), key="tactic"),
        column("Provider", _field(rows, "provider"), is_choice=True),
        column("Findings", found, is_mark=True, key="findings"),
        column("Type", _field(rows, "type"), is_choice=True, key="type"),
    )


def _limits(found: Roofline | None, at: Sequence[int | None]) -> tuple[DataColumn, ...]:
    """Return each layer's limit; how far it is from it only where the limit is not a part."""
    if found is None:
        return ()
    of_position = {layer.position: layer for layer in found.layers}
    roofs = [None if one is None else of_position.get(one) for one in at]
    whole = [None if roof is None or roof.is_partial else roof for roof in roofs]
    least = [roof.attainable_ms if roof else None for roof in roofs]
    lost = [roof.excess_ms if roof else None for roof in whole]
    distance = [roof and roof.distance for roof in whole]
    unit, is_hidden = _unit([roof.time_ms if roof else None for roof in roofs]), any(lost)
    unit = unit if is_hidden else _unit(least)
    on_gpu, above = f"least time on {found.gpu.name}", "own time − least time"
    return (
        column("× floor", distance, 2, meaning="own time ÷ least time", key="distance"),
        column("Bound by", [roof and roof.bound for roof in roofs], is_choice=True, key="bound"),
        _times("limit", "Floor", least, unit, meaning=on_gpu, is_hidden=is_hidden),
        _times("lost", "Above floor", lost, unit, meaning=above, is_hidden=True),
    )


def _of_plan(view: PlanView | None, at: Sequence[int | None]) -> tuple[DataColumn, ...]:
    if view is None:
        return ()
    is_timed = view.total_ms is not None
    sizes = [None if one is None else view.sizes[one] for one in at]
    works = [None if one is None else view.works[one] for one in at]
    macs = [None if work is None or work.macs is None else work.macs / 1e6 for work in works]
    per_byte = [work and work.arithmetic_intensity for work in works]
    weights = [size and size.weights_bytes for size in sizes]
    both = [size and size.footprint_bytes for size in sizes]
    meaning = "weights and activations, without padding"
    return (
        column("MACs, millions", macs, 3, is_hidden=is_timed),
        column("MAC/byte", per_byte, 2, meaning="arithmetic intensity", is_hidden=True),
        *_attributes([{} if one is None else view.attributes[one] for one in at]),
        column("Weights, bytes", weights, 0, is_hidden=True),
        column("Footprint, bytes", both, 0, meaning=meaning, is_hidden=is_timed),
    )


def _attributes(found: Sequence[Attributes]) -> tuple[DataColumn, ...]:
    known_of = set[str]().union(*{id(own): own for own in found}.values())  # few: kinds share them
    return tuple(
        column(
            one.title,
            [own.get(one.key) for own in found],
            0 if one.is_number else None,
            meaning=one.meaning,
            is_hidden=True,
        )
        for one in LAYER_ATTRIBUTES
        if one.key in known_of
    )


def _last(
    rows: Sequence[LayerRow], view: PlanView | None, at: Sequence[int | None]
) -> tuple[DataColumn, ...]:
    raw, unit = _field(rows, "raw_ms"), _unit(_field(rows, "time_ms"))
    is_timed = any(row.time_ms is not None for row in rows)
    shapes = _joined(view, at, lambda one: shape_text(one.shape))
    nodes = (", ".join(row.onnx_nodes) or None for row in rows)
    meaning = "as the profiler reported it, with its own part"
    return (
        column("Implementation", _field(rows, "subtype"), is_hidden=True),
        column("Formats", _joined(view, at, _format), is_hidden=is_timed),
        column("Shapes", shapes, is_hidden=is_timed),
        _times("raw", "As profiled", raw, unit, meaning=meaning, is_hidden=True),
        column("ONNX nodes", nodes, key="nodes", is_hidden=True),
        column("#", _field(rows, "index"), 0, meaning="place in the plan", is_hidden=True),
    )


def _field(rows: Sequence[LayerRow], name: str) -> tuple[Any, ...]:
    return tuple(map(attrgetter(name), rows))


def _joined(
    view: PlanView | None, at: Sequence[int | None], text: Callable[[Tensor], str]
) -> tuple[str | None, ...]:
    """Something of the inputs → the same of the outputs; ``None`` without tensors."""
    if view is None:
        return (None,) * len(at)

    def sides(layer: Layer) -> str | None:
        both = [", ".join(map(text, tensors)) for tensors in (layer.inputs, layer.outputs)]
        return " → ".join(side or "nothing" for side in both) if any(both) else None

    texts = view.kinds.spread(map(sides, view.kinds.examples))
    return tuple([None if one is None else texts[one] for one in at])


def _format(tensor: Tensor) -> str:
    words = tensor.dtype and tensor.dtype.value, tensor.layout.name if tensor.layout else None
    return " ".join(filter(None, words)) or "not known"


def tactics(subject: plan_headline.PageSubject) -> Section | None:
    """Tactics by time; ``None`` where the plan names none."""
    shares = tactic_shares(subject.view.layers)
    table = plan_tables.tactic_table(shares)
    if table is None:
        return None
    first = shares[0].share_pct
    share = "" if first is None else f", the first {format_significant(first, 3)} %"
    answer = f"{counted(len(shares), 'tactic')}{share}"
    return Section(key="tactics", title="Tactics", answer=answer, tables=(table,))


def reformat_layers(subject: plan_headline.PageSubject) -> Section | None:
    """Reformats by origin, by conversion, and one by one; ``None`` without a plan."""
    plan, profile = subject.view.run.plan, subject.view.run.profile
    if plan is None or plan.source_schema == "names-only":
        return None
    found = reformats(plan, subject.view.layers)
    whole_ms = profile.sum_ms if profile else None
    by_origin = reformats_by(found, lambda one: one.origin, whole_ms)
    tables = (
        plan_tables.origin_table(by_origin),
        plan_tables.conversion_table(reformats_by(found, lambda one: one.conversion, whole_ms)),
        plan_tables.reformat_table(found, subject.row_of_layer),
    )
    return Section(
        key="reformats",
        title="Reformats",
        empty=None if found else "No layer of this plan only rewrites a tensor.",
        sentences=(_reformat_sentence(by_origin),),
        tables=known(*tables),
    )


def _reformat_sentence(by_origin: Sequence[ReformatShare]) -> str:
    count = sum(one.layers for one in by_origin)
    what = "1 layer only rewrites a tensor" if count == 1 else f"{count:,} layers rewrite a tensor"
    times = [one.time_ms for one in by_origin if one.time_ms is not None]
    shares = [one.share_pct for one in by_origin if one.share_pct is not None]
    if not times:
        return f"{what}."
    share = f", {format_significant(sum(shares), 2)} % of the sum over all layers" if shares else ""
    return f"{what}: {format_ms(sum(times), 3)}{share}."


def memory(subject: plan_headline.PageSubject) -> Section | None:
    """What makes the peak, what is alive at each layer, and what the largest layers keep."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    found = subject.memory
    has_sizes = found is not None and found.peak_bytes > 0
    over_time = memory_chart(found) if found is not None else None
    charts = (*known(over_time), *charts_of(view, "footprint-per-layer"))
    return Section(
        key="memory",
        title="Memory of the layers",
        answer=plan_headline.memory_text(view.totals),
        sentences=memory_sentences(found) if found is not None and has_sizes else (),
        charts=charts,
        figures=memory_tables(found, 10) if found is not None and has_sizes else (),
        is_gallery=True,
        empty=None if charts else "The plan has no sizes of tensors.",
    )


def precisions(subject: plan_headline.PageSubject) -> Section | None:
    """What part each precision has, and by type; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    charts = charts_of(view, "precision-rollup", "latency-per-type")
    is_known = any(chart.key == "precision-rollup" for chart in charts)
    nothing = "The plan has no precisions: it was built or written without detailed verbosity."
    return Section(
        key="precision",
        title="Precisions",
        answer=charts[0].title.partition(": ")[2] if is_known else None,
        charts=charts,
        is_gallery=True,
        empty=None if is_known else nothing,
    )


def onnx_nodes(subject: plan_headline.PageSubject) -> Section | None:
    """Nodes of the model by cost, and what could not be matched; ``None`` without a plan."""
    view = subject.plan
    if view is None:
        return None
    section, found, graph = Section(key="onnx", title="ONNX nodes"), view.onnx_map, view.onnx
    if graph is None or found is None:
        text = (
            "The cost of the model's nodes is unknown without --onnx. Name the model that the "
            "engine was built from: enginescope explore … --onnx MODEL --html FILE."
        )
        return replace(section, empty=text)
    sentence = plan_tables.node_sentence(found, graph)
    answer = sentence.partition(". ")[0]
    tables = (
        plan_tables.node_table(view, subject.row_of_layer),
        _unmatched(subject, view, found, graph),
    )
    return replace(section, answer=answer, sentences=(sentence,), tables=known(*tables))


def _unmatched(
    subject: plan_headline.PageSubject, view: PlanView, found: OnnxMap, graph: OnnxGraph
) -> DataTable | None:
    nodes = [graph.nodes[at] for at in found.unmatched_nodes]
    layers = [view.all_layers[at] for at in found.unmatched_layers]
    own = [(layer, view.time_of(layer), subject.row_of_layer.get(layer.index)) for layer in layers]
    rows = (
        *((node.name, "node in no layer", node.op_type, None, None) for node in nodes),
        *(
            (layer.name, "layer without a node", layer.type, timing and timing.time_ms, row)
            for layer, timing, row in own
        ),
        *((name, "name that the model lacks", None, None, None) for name in found.unknown_names),
    )
    names, kinds, types, took, there = zip(*rows, strict=True) if rows else ((),) * 5
    return data_table(
        "onnx-unmatched",
        "Not matched: folded away, merged without a trace, copies, or of another model",
        ("name", "names"),
        (
            column("Name", names, leads_to=plan_tables.LAYERS, rows_there=there),
            column("Is", kinds, is_choice=True),
            column("Operator or type", types, is_choice=True),
            column("Time ms", took, 5),
        ),
    )


def roofline_of(subject: plan_headline.PageSubject) -> Section | None:
    """Intensity against rate, and what layers lose together; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    section, found = Section(key="roofline", title="Roofline"), view.roofline
    if found is None:
        name = subject.device_name
        why = name and f"The limits of {name} are not known here"
        why = why or "The plan does not name its GPU"
        text = f"{why}: name one with enginescope explore … --gpu NAME --html FILE."
        return replace(section, empty=text)
    if view.profile is None:
        text = "No layer times, so the loss against the GPU's limits is unknown."
        more = "The table of layers has the least time of each layer."
        return replace(section, empty=f"{text} {more}")
    chart = roofline_chart(view)
    gpu = found.gpu
    rates = [f"{name} {format_significant(peak)}" for name, peak in gpu.peak_tflops.items()]
    memory = f"memory {format_significant(gpu.memory_gb_per_s, 4)} GB/s"
    peaks = f"Peaks of {gpu.name}: {memory}; 10¹² operations/s: {', '.join(rates)}."
    none = (
        "No layer that multiplies has a time, known work and known bytes, so there are no points."
    )
    sentences = (plan_tables.limit_sentence(found, view.engine_ms, WORST),)
    notes = known(peaks, None if chart else none)
    return replace(section, sentences=sentences, notes=notes, charts=known(chart))


def roofline_chart(view: PlanView) -> Chart | None:
    """Rate against intensity of the layers that multiply, under the GPU's limits.

    ``None`` without a GPU, or where no layer has a time, work and bytes.
    """
    found, chart = view.roofline, scatter(view, x="intensity", y="compute")
    if found is None or chart is None:
        return None
    rows = [row for row in view.facts if row.time_ms and row.work.arithmetic_intensity]
    precisions = list(dict.fromkeys(rate_precision(row.layer) or "" for row in rows))
    values = chart.spec["data"]["values"]
    ends = (min(one["x"] for one in values) / 2, max(one["x"] for one in values) * 2)
    lines = list(_limit_lines(found.gpu, precisions, ends))
    every = (*values, *lines)
    place = {
        axis: {**chart.spec["encoding"][axis], **log_axis([one[axis] for one in every])}
        for axis in ("x", "y")
    }
    legend = {"title": "limits", "symbolType": "stroke", "orient": "top", "labelLimit": 300}
    dash = {"field": "limit", "type": "nominal", "legend": legend}
    points = {**chart.spec, "encoding": {**chart.spec["encoding"], **place}}
    line = {"type": "line", "strokeDash": [5, 3], "tooltip": False}
    limits = marks(lines, line, **place, detail={"field": "limit"}, strokeDash=dash)
    title = f"Layers that multiply under the limits of {found.gpu.name}"
    return replace(chart, key="roofline", title=title, spec={"layer": [limits, points]}, height=380)


def _limit_lines(
    gpu: GpuLimits, precisions: Sequence[str], ends: tuple[float, float]
) -> Iterator[Spec]:
    """Yield ends and ridge of the limit of each precision; rates in billion MACs per second."""
    low, high = ends
    for precision in precisions:
        # TF32 runs at the rate of FP32 where no own rate is known
        macs = gpu.macs_per_ms(precision) or gpu.macs_per_ms("FP32" if precision == "TF32" else "")
        if macs is None:
            continue
        ridge = macs / gpu.bytes_per_ms
        name = f"{precision}: {format_significant(macs / 1e9)} × 10¹²/s"
        for x in sorted({low, max(ridge, low), max(high, ridge * 2)}):
            yield {"limit": name, "x": x, "y": min(macs, x * gpu.bytes_per_ms) / 1e6}
