"""A plan looked into, as CSV and JSON.

What is asked for beside a plan, as parts of the JSON document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.build_log.build_choices import choices
from enginescope.analysis.build_log.build_log_summary import tuning_costs, tuning_total_s
from enginescope.analysis.layers.layer_table import tactic_family
from enginescope.analysis.layers.reformats import TensorRoles
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer
from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import WORST
from enginescope.formats.plan.plan_layer import layer_json
from enginescope.judge.notice import Notice
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.facts import tensor_text

_JSON = msgspec.json.Encoder()
#: Version of the JSON document's shape.
EXPLORE_SCHEMA = 1
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
    return csv_bytes(COLUMNS, (explore_cells(layer) for layer in layers))


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
    time = found.time
    parts = {
        "schema": EXPLORE_SCHEMA,
        "enginescope": __version__,
        "device": device,
        "tensorrt_version": tensorrt_version,
        **rest,
        "roles": found.roles and _roles(found.roles),
        "time": time and {**msgspec.to_builtins(time), "ratio": time.ratio},
        "notices": [*notices, *found.notices],
        **(more or {}),
    }
    yield _JSON.encode(parts)[:-1] + b',"layers":['
    attributes: dict[bytes, bytes] = {}
    for position, layer in enumerate(layers):
        text = _layer(layer, found.plan_schema if raw else None, attributes)
        yield (b",\n" if position else b"\n") + text
    yield b"]}\n"


def _roles(roles: TensorRoles) -> dict[str, Any]:
    """Return roles by the indices of layers and the names of tensors, which `layers` describes."""
    return {
        "active": [layer.index for layer in roles.active],
        "constants": roles.constants,
        "sources": {name: source.name for name, source in roles.sources.items()},
    }


def _layer(explored: ExploredLayer, schema: str | None, attributes: dict[bytes, bytes]) -> bytes:
    """Return a layer as JSON.

    Args:
        schema: Of the plan, whose own fields are added; ``None``: without them.
        attributes: Of the layers so far, by what they follow from: layers of a plan are alike.
    """
    layer, (sizes, work) = explored.layer, _figures(explored)
    fields: dict[str, Any] = dict(zip((*_SIZES, *_WORK), (*sizes, *work), strict=True))
    fields["tactic_family"] = tactic_family(explored.row.tactic) if explored.row.tactic else None
    parts = [_JSON.encode(explored.row)[1:-1], _JSON.encode(fields)[1:-1]]
    if layer is not None:
        outputs, weights = layer.outputs[:1], layer.weights
        types = [outputs and outputs[0].dtype, *((part.role, part.dtype) for part in weights)]
        known = _JSON.encode((layer.attributes, layer.stream, layer.tactic_value, types))
        if known not in attributes:
            own = ((one.key, one.value(layer)) for one in LAYER_ATTRIBUTES)
            own_known = {key: value for key, value in own if value is not None}
            attributes[known] = _JSON.encode(own_known)[1:-1]
        parts.append(attributes[known])
        if schema is not None:
            parts.append(_JSON.encode({"plan_fields": layer_json(layer, schema)})[1:-1])
    return b"{" + b",".join(filter(None, parts)) + b"}"


def explore_cells(one: ExploredLayer) -> list[Any]:
    """Return a layer as cells below `COLUMNS`."""
    row, (sizes, work) = one.row, _figures(one)
    return [
        *(getattr(row, name) for name in _ROW),
        tactic_family(row.tactic) if row.tactic else None,
        *sizes,
        _tensors(row.inputs),
        _tensors(row.outputs),
        ";".join(row.onnx_nodes),
        row.in_plan,
        row.is_inert,
        *work,
        *(one.layer and attribute.value(one.layer) for attribute in LAYER_ATTRIBUTES),
    ]


def _figures(one: ExploredLayer) -> tuple[tuple[int | None, ...], tuple[float | None, ...]]:
    sizes, work = one.sizes, one.work
    return (
        _SIZES_OF(sizes) if sizes else (None,) * len(_SIZES),
        _WORK_OF(work) if work else (None,) * len(_WORK),
    )


def _tensors(tensors: tuple[Tensor, ...]) -> str:
    return "; ".join(tensor_text(tensor) for tensor in tensors)


def roofline_data(view: PlanView) -> dict[str, Any] | None:
    """Return every working layer's limits, those that lose most first; ``None`` without a GPU."""
    found = view.roofline
    if found is None:
        return None
    layers = sorted(found.layers, key=lambda one: -(one.excess_ms or 0.0))
    return {
        "gpu": found.gpu,
        "profiler_ms": found.profiler_ms,
        "saving_ms": found.saving_ms(WORST),
        "saving_layers": len(found.worst(WORST)),
        "unknown": found.unknown,
        "layers": [
            {
                **_layer_details(view, layer.position),
                **{name: getattr(layer, name) for name in _LIMITS},
            }
            for layer in layers
        ],
    }


_LIMITS = (
    *("time_ms", "attainable_ms", "distance", "excess_ms", "bound"),
    *("memory_ms", "compute_ms", "is_partial"),
)


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
    made = [
        {**msgspec.structs.asdict(choice), "layer": choice.layer.name} for choice in choices(story)
    ]
    return {
        **msgspec.structs.asdict(story),
        "choices": made,
        "tuning_costs": tuning_costs(story),
        "tuning_total_s": tuning_total_s(story),
    }


def _layer_details(view: PlanView, position: int) -> dict[str, Any]:
    layer = view.plan.layers[position]
    return {"index": layer.index, "name": layer.name}
