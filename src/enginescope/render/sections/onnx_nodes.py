"""What the nodes of the ONNX model cost, and what could not be matched."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.onnx.onnx_map import NodeCost, OnnxMap
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section

KEY = "onnx"
_NODES = ("node", "nodes")
#: Whether it shares its layers with others -> what its time is of.
_PARTS = {True: "a part", False: "a layer"}


def onnx_nodes(subject: PageSubject) -> Section | None:
    """Nodes by cost; ``None`` for a run that has no plan."""
    view = subject.plan
    if view is None:
        return None
    if view.onnx is None or view.onnx_map is None:
        return Section(key=KEY, title="ONNX nodes", empty=_NO_MODEL)
    found = view.onnx_map
    tables = (
        _costs(subject, found, view.onnx),
        _left_nodes(found, view.onnx),
        _left_layers(subject, found),
        _unknown(found),
    )
    return Section(
        key=KEY,
        title="ONNX nodes",
        answer=_sentence(found, view.onnx).partition(". ")[0],
        tables=tuple(table for table in tables if table is not None),
        facts={"sentence": _sentence(found, view.onnx), "is_other": not found.links},
    )


_NO_MODEL = (
    "The cost of the model's nodes is unknown without --onnx. Name the model that the engine was "
    "built from: enginescope explore … --onnx MODEL --html FILE."
)


def _sentence(found: OnnxMap, graph: OnnxGraph) -> str:
    matched = len({cost.node for cost in found.costs})
    return (
        f"{matched:,} of {len(graph.nodes):,} nodes are in {len(found.links):,} layers. A layer "
        "that holds several nodes shares its time out among them by their work: “a part”."
    )


def _costs(subject: PageSubject, found: OnnxMap, graph: OnnxGraph) -> DataTable | None:
    order = sorted(found.costs, key=lambda one: -(one.time_ms or 0.0))
    nodes = [graph.nodes[one.node] for one in order]
    total_ms = subject.plan.total_ms if subject.plan else None
    names, rows = _layers_of(subject, order)
    return data_table(
        KEY,
        "Nodes, most time first",
        _NODES,
        (
            column("Time ms", (one.time_ms for one in order), 5),
            column("Share %", (_share(one.time_ms, total_ms) for one in order), 2, is_share=True),
            column("Of", (_PARTS[one.is_shared] for one in order), is_choice=True),
            column("Operator", (node.op_type for node in nodes), is_choice=True),
            column("Node", (node.name or None for node in nodes)),
            column("Layers", (len(one.positions) for one in order), 0),
            column("First layer", names, leads_to=layers.KEY, rows_there=rows),
        ),
    )


def _share(part_ms: float | None, total_ms: float | None) -> float | None:
    return None if part_ms is None or not total_ms else 100 * part_ms / total_ms


def _layers_of(
    subject: PageSubject, costs: Sequence[NodeCost]
) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    assert subject.plan is not None
    first = [subject.plan.all_layers[cost.positions[0]] for cost in costs]
    rows = subject.row_of_layer
    return tuple(one.name for one in first), tuple(rows.get(one.index) for one in first)


def _left_nodes(found: OnnxMap, graph: OnnxGraph) -> DataTable | None:
    nodes = [graph.nodes[one] for one in found.unmatched_nodes]
    return data_table(
        "onnx-unmatched-nodes",
        "Nodes in no layer: folded away, merged without a trace, or not in the engine",
        _NODES,
        (
            column("Node", (node.name or None for node in nodes)),
            column("Operator", (node.op_type for node in nodes), is_choice=True),
        ),
    )


def _left_layers(subject: PageSubject, found: OnnxMap) -> DataTable | None:
    view = subject.plan
    assert view is not None
    own = [view.all_layers[position] for position in found.unmatched_layers]
    timings = [view.time_of(layer) for layer in own]
    return data_table(
        "onnx-unmatched-layers",
        "Layers without a node: copies, or layers of another model",
        ("layer", "layers"),
        (
            column(
                "Layer",
                (layer.name for layer in own),
                leads_to=layers.KEY,
                rows_there=tuple(subject.row_of_layer.get(layer.index) for layer in own),
            ),
            column("Type", (layer.type for layer in own), is_choice=True),
            column("Time ms", (timing.time_ms if timing else None for timing in timings), 5),
        ),
    )


def _unknown(found: OnnxMap) -> DataTable | None:
    return data_table(
        "onnx-unknown-names",
        "Names that the plan has for nodes and the model does not have",
        ("name", "names"),
        (column("Name", found.unknown_names),),
    )
