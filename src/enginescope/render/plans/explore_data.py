"""A plan and what is asked for beside it: as CSV, JSON, and as a time line for Perfetto.

Real stamps stay apart from what is laid end to end: each is a process whose name says which it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import asdict

from enginescope._version import __version__
from enginescope.analysis.build_log.build_log_summary import choices, tuning_costs, tuning_total_s
from enginescope.analysis.layers.layer_table import is_stamped, layer_spans, tactic_family
from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.analysis.plans.plan_view import Exploration, ExploredLayer, PlanView
from enginescope.analysis.roofline.roofline import WORST
from enginescope.analysis.runs.throughput import PARTS, part_spans
from enginescope.core.jsonio import encode
from enginescope.formats.plan.plan_layer import layer_json
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.records.run.run import Run
from enginescope.records.samples import QueryTrace
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.facts import tensor_text
from enginescope.render.base.phrases import metric_title

_JSON = msgspec.json.Encoder()
_ROW = (
    *("index", "name", "type", "subtype", "precision"),
    *("time_ms", "raw_ms", "share_pct", "tactic"),
)
_SIZES = ("weights_bytes", "bias_bytes", "activation_bytes", "footprint_bytes")
_WORK = ("macs", "arithmetic_intensity")
_SIZES_OF, _WORK_OF = attrgetter(*_SIZES), attrgetter(*_WORK)
#: Columns of the CSV file; times are per iteration.
COLUMNS = (
    *_ROW,
    "tactic_family",
    *_SIZES,
    *("inputs", "outputs", "onnx_nodes", "in_plan", "is_inert"),
    *_WORK,
    *(one.key for one in LAYER_ATTRIBUTES),
)


def explore_csv(layers: Sequence[ExploredLayer]) -> bytes:
    """Return layers as CSV in the order they are given, with `COLUMNS`."""
    return csv_bytes(COLUMNS, explore_cells(layers))


def explore_json(
    found: Exploration,
    layers: Sequence[ExploredLayer],
    *,
    device: str | None = None,
    tensorrt_version: str | None = None,
    notices: Sequence[Notice] = (),
    more: Mapping[str, Any] | None = None,
    raw: bool = False,
) -> Iterator[bytes]:
    """Yield everything that is known as strict JSON, a line for each layer.

    Times are in ms, sizes in bytes. Layers are encoded one after another, so that a plan of any
    size is never in memory a second time.

    Args:
        layers: Its layers, in the order they are to have.
        raw: Add each layer's fields as the plan's file has them.
        tensorrt_version: That built the plan, or ran it.
        notices: Of reading the files; those of `found` follow.
        more: Further parts of the document.
    """
    rest = {
        name: getattr(found, name)
        for name in found.__struct_fields__
        if name not in ("layers", "notices", "roles", "time")
    }
    time, roles = found.time, found.roles
    parts = {
        "schema": 1,  # version of the document's shape
        "enginescope": __version__,
        "device": device,
        "tensorrt_version": tensorrt_version,
        **rest,
        "roles": roles
        and {  # by the indices of layers and the names of tensors, which `layers` describes
            "active": [layer.index for layer in roles.active],
            "constants": roles.constants,
            "sources": {name: source.name for name, source in roles.sources.items()},
        },
        "time": time and {**msgspec.to_builtins(time), "ratio": time.ratio},
        "notices": [*notices, *found.notices],
        **(more or {}),
    }
    yield _JSON.encode(parts)[:-1] + b',"layers":['
    known: dict[Any, bytes] = {}  # what the layers of a kind share, without brackets
    names = (*_SIZES, *_WORK, "tactic_family")
    schema = found.plan_schema if raw else None
    for position, one in enumerate(layers):
        key = id(one.sizes), id(one.work), id(one.attributes), one.row.tactic
        own = known.get(key)
        if own is None:
            sizes, work = _figures(one)
            family = tactic_family(one.row.tactic) if one.row.tactic else None
            figures = dict(zip(names, (*sizes, *work, family), strict=True))
            own = known[key] = _JSON.encode(figures | one.attributes)[1:-1]
        if one.layer is not None and schema is not None:
            own += b"," + _JSON.encode({"plan_fields": layer_json(one.layer, schema)})[1:-1]
        yield b"%b%b,%b}" % (b",\n" if position else b"\n", _JSON.encode(one.row)[:-1], own)
    yield b"]}\n"


def explore_cells(layers: Sequence[ExploredLayer]) -> Iterator[list[Any]]:
    """Yield layers as cells below `COLUMNS`."""
    for one in layers:
        row, (sizes, work) = one.row, _figures(one)
        yield [
            *(getattr(row, name) for name in _ROW),
            tactic_family(row.tactic) if row.tactic else None,
            *sizes,
            *("; ".join(map(tensor_text, tensors)) for tensors in (row.inputs, row.outputs)),
            ";".join(row.onnx_nodes),
            row.in_plan,
            row.is_inert,
            *work,
            *(one.attributes.get(attribute.key) for attribute in LAYER_ATTRIBUTES),
        ]


def _figures(one: ExploredLayer) -> tuple[tuple[int | None, ...], tuple[float | None, ...]]:
    return (
        _SIZES_OF(one.sizes) if one.sizes else (None,) * len(_SIZES),
        _WORK_OF(one.work) if one.work else (None,) * len(_WORK),
    )


def roofline_data(view: PlanView) -> dict[str, Any] | None:
    """Return every working layer's limits, those that lose most first; ``None`` without a GPU."""
    found = view.roofline
    if found is None:
        return None
    layers = sorted(found.layers, key=lambda one: -(one.excess_ms or 0.0))
    names = (
        *("time_ms", "attainable_ms", "distance", "excess_ms", "bound"),
        *("memory_ms", "compute_ms", "is_partial"),
    )
    return {
        "gpu": found.gpu,
        "profiler_ms": found.profiler_ms,
        "saving_ms": found.saving_ms(WORST),
        "saving_layers": len(found.worst(WORST)),
        "unknown": found.unknown,
        "layers": [
            _layer_details(view, roof.position) | {name: getattr(roof, name) for name in names}
            for roof in layers
        ],
    }


def onnx_data(view: PlanView) -> dict[str, Any] | None:
    """Return what each node costs, the most expensive first, and what has no partner."""
    links, graph = view.onnx_map, view.onnx
    if links is None or graph is None:
        return None
    costs = sorted(links.costs, key=lambda one: -(one.time_ms or 0.0))
    evidence = {link.position: link.evidence for link in links.links}
    return {
        "model": graph.name,
        "nodes": [
            {
                "node": cost.node,
                "name": graph.nodes[cost.node].name,
                "op_type": graph.nodes[cost.node].op_type,
                "time_ms": cost.time_ms,
                "is_shared": cost.is_shared,
                "layers": [
                    {**_layer_details(view, at), "evidence": evidence[at]} for at in cost.positions
                ],
            }
            for cost in costs
        ],
        "unmatched_layers": [_layer_details(view, at) for at in links.unmatched_layers],
        "unmatched_nodes": [graph.nodes[at].name for at in links.unmatched_nodes],
        "unknown_names": links.unknown_names,
    }


def build_data(story: BuildTrace) -> dict[str, Any]:
    """Return the story of a build as it was read, with each layer's choice and what tuning cost."""
    return {
        **asdict(story),
        "choices": [{**asdict(one), "layer": one.layer.name} for one in choices(story)],
        "tuning_costs": tuning_costs(story),
        "tuning_total_s": tuning_total_s(story),
    }


def _layer_details(view: PlanView, position: int) -> dict[str, Any]:
    layer = view.plan.layers[position]
    return {"index": layer.index, "name": layer.name}


Event = dict[str, Any]
_LAYERS, _REQUESTS = 1, 2


def perfetto_trace(name: str, layers: Sequence[ExploredLayer], run: Run) -> bytes:
    """Return the layers of one inference, and the requests of a run by their recorded stamps.

    Args:
        layers: In the order in which they run.
    """
    events = [*_layers(layers)]
    if run.trace:
        events += _stamped(run.trace)
    elif run.headline is not None and run.headline.start_ms is not None:
        events += _begun(run.headline, run.headline.start_ms.tolist())
    about = {"plan": name, "written_by": f"enginescope {__version__}"}
    return encode({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events})


def _layers(layers: Sequence[ExploredLayer]) -> Iterator[Event]:
    spans = layer_spans(layer.row for layer in layers)
    if not spans:
        return
    how = "starts and times" if is_stamped(spans) else "times, end to end"
    yield _named("process_name", _LAYERS, 0, f"layers of one inference: {how}")
    of_row = {id(explored.row): explored for explored in layers}
    drawn = [of_row[id(span.row)] for span in spans]
    streams: set[int] = set()
    for span, layer, values in zip(spans, drawn, explore_cells(drawn), strict=True):
        stream = (layer.layer.stream if layer.layer else None) or 0
        if stream not in streams:
            streams.add(stream)
            yield _named("thread_name", _LAYERS, stream, f"stream {stream}")
        cells = zip(COLUMNS, values, strict=True)
        about = {key: value for key, value in cells if value not in (None, "")}
        where = (_LAYERS, stream)
        yield _event(span.row.name, span.row.type, where, (span.start_ms, span.ms), about)


def _stamped(trace: QueryTrace) -> Iterator[Event]:
    yield _named("process_name", _REQUESTS, 0, "requests: recorded stamps")
    lanes: set[int] = set()
    parts = list(PARTS)
    zero_ms = float(min(trace.enqueue_start.min(), trace.h2d_start.min()))
    for span in part_spans(trace):
        lane = (span.stream or 0) * len(parts) + parts.index(span.part)
        if lane not in lanes:
            lanes.add(lane)
            clock = "host" if span.part == "enqueue" else "GPU"
            stream = "" if span.stream is None else f"stream {span.stream}: "
            yield _named("thread_name", _REQUESTS, lane, f"{stream}{span.part} ({clock} clock)")
        time = (span.start_ms - zero_ms, span.end_ms - span.start_ms)
        yield _event(span.part, "request", (_REQUESTS, lane), time, {"request": span.query + 1})


def _begun(samples: Samples, starts_ms: Sequence[float]) -> Iterator[Event]:
    """Yield each request; those that overlap lie in lanes of their own."""
    title = metric_title(samples.metric).lower()
    yield _named("process_name", _REQUESTS, 0, f"requests: {title}, recorded starts")
    ends: list[float] = []
    for at, (start_ms, ms) in enumerate(zip(starts_ms, samples.values_ms.tolist(), strict=True)):
        lane = next((one for one, end in enumerate(ends) if end <= start_ms), len(ends))
        ends[lane : lane + 1] = [start_ms + ms]
        about = {"request": at + 1}
        yield _event("request", samples.metric, (_REQUESTS, lane), (start_ms, ms), about)


def _named(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _event(
    name: str,
    category: str | None,
    where: tuple[int, int],
    time_ms: tuple[float, float],
    about: Mapping[str, Any],
) -> Event:
    process, thread = where
    start, duration = (round(1e3 * value, 3) for value in time_ms)  # in µs
    return {
        "ph": "X",
        "name": name,
        "cat": category or "layer",
        "pid": process,
        "tid": thread,
        "ts": start,
        "dur": duration,
        "args": dict(about),
    }
