"""A plan for viewers of models, without an ONNX file: Netron and Google's Model Explorer."""

import json
from typing import Any

from enginescope.analysis.graph.plan_graph import GraphNode, plan_graph
from enginescope.analysis.onnx.onnx_map import GRADIENT
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.formats.onnx.onnx_graph import ViewerGraph, ViewerNode
from enginescope.judge.units import format_significant
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor

_TIME = "time_ms"


def viewer_graph(view: PlanView) -> ViewerGraph:
    """Return the plan's layers with times and attributes, joined by their tensors.

    A region of memory that is written several times is a value for each time.
    """
    graph = plan_graph(view.plan)
    values: dict[str, Tensor] = {}
    reads: dict[int, list[str]] = {node.id: [] for node in graph.nodes}
    writes: dict[int, list[str]] = {node.id: [] for node in graph.nodes}
    inputs = tuple(node.name for node in graph.nodes if node.kind == "input")
    names: dict[tuple[int, str], str] = {}
    for edge in graph.edges:
        if edge.tensor is None:
            continue
        source, name = graph.nodes[edge.source], edge.tensor.name
        key = edge.source, name
        if key not in names:
            value = source.name if source.kind == "input" else name
            names[key] = f"{value}#{edge.source}" if value in values else value
            values[names[key]] = edge.tensor
            writes[edge.source].append(names[key])
        if names[key] not in reads[edge.target]:
            reads[edge.target].append(names[key])
    ends = [value for node in graph.nodes if node.kind == "output" for value in reads[node.id]]
    nodes = tuple(
        ViewerNode(
            id=str(node.id),
            name=node.name,
            type=node.layer.type if node.layer else node.kind,
            # the modules of its first node
            namespace=node.name.partition(" + ")[0].strip("/").rpartition("/")[0]
            if node.layer
            else "",
            attributes=_attributes(view, node),
            inputs=tuple(reads[node.id]),
            outputs=tuple(writes[node.id]),
        )
        for node in graph.nodes
        if node.kind not in ("input", "output")
    )
    return ViewerGraph(
        name=graph.name,
        nodes=nodes,
        inputs=tuple(name for name in inputs if name in values),
        outputs=tuple(dict.fromkeys(ends)),
        values=values,
    )


def explorer_graph(graph: ViewerGraph) -> dict[str, Any]:
    """Return Model Explorer's collection of one graph, inputs and outputs as nodes."""
    writer = {value: (node.id, at) for node in graph.nodes for at, value in enumerate(node.outputs)}
    writer.update({name: (f"input {name}", 0) for name in graph.inputs})

    def edges(values: tuple[str, ...]) -> list[dict[str, str]]:
        return [
            {
                "sourceNodeId": writer[value][0],
                "sourceNodeOutputId": str(writer[value][1]),
                "targetNodeInputId": str(at),
            }
            for at, value in enumerate(values)
            if value in writer
        ]

    nodes: list[dict[str, Any]] = [
        {"id": f"input {name}", "label": name, "namespace": ""} for name in graph.inputs
    ]
    nodes += [
        {
            "id": node.id,
            "label": node.type,
            "namespace": node.namespace,
            "attrs": [
                {"key": key, "value": value}
                for key, value in (("name", node.name), *node.attributes.items())
            ],
            "incomingEdges": edges(node.inputs),
            "outputsMetadata": [
                {"id": str(at), "attrs": _shape(graph.values[value])}
                for at, value in enumerate(node.outputs)
            ],
        }
        for node in graph.nodes
    ]
    nodes += [
        {"id": f"output {name}", "label": name, "namespace": "", "incomingEdges": edges((name,))}
        for name in graph.outputs
    ]
    return {"label": graph.name, "graphs": [{"id": graph.name, "nodes": nodes}]}


def explorer_times(graph: ViewerGraph) -> dict[str, Any] | None:
    """Return Model Explorer's node data for `explorer_graph`; ``None`` without times."""
    results = {
        node.id: {"value": float(node.attributes[_TIME])}
        for node in graph.nodes
        if _TIME in node.attributes
    }
    return {graph.name: {"results": results, "gradient": GRADIENT}} if results else None


def _attributes(view: PlanView, node: GraphNode) -> dict[str, str]:
    layer = node.layer
    if layer is None:
        return {}
    timing, times = view.time_of(layer), {}
    if timing and timing.time_ms is not None:
        times[_TIME] = f"{timing.time_ms:.6g}"
        if view.total_ms:
            times["share_pct"] = format_significant(100 * timing.time_ms / view.total_ms, 3)
    return times | _known(layer)


def _known(layer: Layer) -> dict[str, str]:
    named = {
        "precision": layer.precision.value if layer.precision else None,
        "subtype": layer.subtype,
        "tactic": layer.tactic_name or layer.tactic_value,
        "stream": layer.stream,
        "Metadata": layer.metadata,
        **layer.attributes,
    }
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in named.items()
        if value not in (None, "", [], {})
    }
    return {key: text for key, text in texts.items() if len(text) <= 400}


def _shape(tensor: Tensor) -> list[dict[str, str]]:
    facts = {
        "tensor_name": tensor.name,
        "tensor_shape": "×".join(map(str, tensor.shape)) if tensor.shape else None,
        "type": tensor.dtype.value if tensor.dtype else None,
        "format": tensor.layout.name if tensor.layout else None,
    }
    return [{"key": key, "value": value} for key, value in facts.items() if value]
