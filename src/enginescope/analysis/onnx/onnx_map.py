"""Map the layers of an engine to ONNX nodes, for tables and for viewers of ONNX models.

Whether a model is the one that a plan was built from.
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from enginescope.analysis.roofline.layer_work import MOVING_TYPES, LayerWork
from enginescope.analysis.roofline.matrix_product import static_shape
from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Attribution, Plan

#: Layers that TensorRT puts between others; the names in theirs are those of their neighbors.
_COPY = re.compile(r"^Reformatting CopyNode\b")


class LayerLink(Record, frozen=True, kw_only=True):
    """The nodes of one layer.

    Attributes:
        position: In the plan's layers.
        nodes: Indices in the graph's nodes.
        evidence: The layer's ``Metadata``; its name, split where fused names are joined; or what
            lies in the model between the tensors it reads and writes, as far as no other layer
            claims it.
    """

    position: int
    nodes: tuple[int, ...]
    evidence: str


class NodeCost(Record, frozen=True, kw_only=True):
    """What a node costs.

    Attributes:
        positions: Layers that hold it, in the plan's order.
        time_ms: Its part of their times; ``None`` if none of them has one.
        is_shared: Whether a layer that holds it holds others too: the part is then an estimate.
    """

    node: int
    positions: tuple[int, ...]
    time_ms: float | None = None
    is_shared: bool = False


class OnnxMap(Record, frozen=True, kw_only=True):
    """A plan and the model it was built from.

    Attributes:
        links: Layers with nodes, in the plan's order.
        costs: Nodes with layers, in the model's order.
        unmatched_layers: Positions of layers that work and have no node: copies, or of another
            model.
        unmatched_nodes: Nodes that no layer names: folded away, merged without a trace, or not in
            the engine.
        unknown_names: Nodes that the plan's ``Metadata`` names and the model does not have, each
            once.
    """

    links: tuple[LayerLink, ...]
    costs: tuple[NodeCost, ...]
    unmatched_layers: tuple[int, ...]
    unmatched_nodes: tuple[int, ...]
    unknown_names: tuple[str, ...]


def map_onnx(plan: Plan, graph: OnnxGraph, attribution: Attribution | None = None) -> OnnxMap:
    """Return the joints between a plan's layers and a model's nodes.

    A layer's time is shared out among its nodes by their multiply-accumulates if any has some,
    since what is fused to a matrix product costs little; else by the elements they write, if these
    are all known; else evenly.

    Args:
        attribution: The layers' times, of the same plan.
    """
    links = _links(plan, graph)
    held = {link.position for link in links}
    costs = _costs(graph, links, attribution)
    reached = {cost.node for cost in costs}
    known = {node.name for node in graph.nodes}
    named = (name for layer in plan.layers for name in layer.onnx_nodes)
    return OnnxMap(
        links=links,
        costs=costs,
        unmatched_layers=tuple(
            position
            for position, layer in enumerate(plan.layers)
            if position not in held and not layer.is_inert
        ),
        unmatched_nodes=tuple(one.index for one in graph.nodes if one.index not in reached),
        unknown_names=tuple(dict.fromkeys(name for name in named if name not in known)),
    )


def _links(plan: Plan, graph: OnnxGraph) -> tuple[LayerLink, ...]:
    by_name: dict[str, deque[int]] = defaultdict(deque)
    for node in graph.nodes:
        by_name[node.name].append(node.index)
    found: dict[int, LayerLink] = {}
    for position, layer in enumerate(plan.layers):
        is_copy = _COPY.match(layer.name)
        parts = () if is_copy else map(_without_pointwise, re.split(r" \+ |, ", layer.name))
        for names, evidence in ((layer.onnx_nodes, "metadata"), (tuple(parts), "name")):
            nodes = _indices(names, by_name)
            if nodes:
                found[position] = LayerLink(position=position, nodes=nodes, evidence=evidence)
                break
    claimed = {node for link in found.values() for node in link.nodes}
    producers = {name: node for node in graph.nodes for name in node.outputs if name}
    tensors = {one.name for layer in plan.layers for one in (*layer.inputs, *layer.outputs)}
    for position, layer in enumerate(plan.layers):
        if position in found or layer.is_inert or _COPY.match(layer.name):
            continue
        nodes = _upstream([output.name for output in layer.outputs], tensors, producers, claimed)
        if nodes:
            found[position] = LayerLink(position=position, nodes=nodes, evidence="tensors")
    return tuple(found[position] for position in sorted(found))


def _without_pointwise(part: str) -> str:
    """``PWN(PWN(a`` and ``b)`` of ``PWN(PWN(a, b), c)`` as ``a`` and ``b``."""
    part = re.sub(r"^(?:PWN\()+", "", part)
    surplus = part.count(")") - part.count("(")
    return part[:-surplus] if surplus > 0 and part.endswith(")" * surplus) else part


def _indices(names: Iterable[str], by_name: dict[str, deque[int]]) -> tuple[int, ...]:
    """Nodes of these names; one that several bear stands for each of them."""
    found: dict[int, None] = {}
    for name in names:
        bearers = by_name.get(name)
        if bearers:
            found[bearers[0]] = None
            bearers.rotate(-1)
    return tuple(found)


def _upstream(
    starts: Sequence[str], stops: set[str], producers: dict[str, OnnxNode], claimed: set[int]
) -> tuple[int, ...]:
    """Unclaimed nodes that lead to `starts`, back to tensors of other layers; claims them."""
    open_names, nodes = [name for name in starts if name in producers], []
    while open_names:
        node = producers[open_names.pop()]
        if node.index in claimed:
            continue
        claimed.add(node.index)
        nodes.append(node.index)
        open_names += [name for name in node.inputs if name in producers and name not in stops]
    return tuple(sorted(nodes))


def _costs(
    graph: OnnxGraph, links: Sequence[LayerLink], attribution: Attribution | None
) -> tuple[NodeCost, ...]:
    # a dynamic dimension taken as 1: as a rule it is the batch, which all nodes share
    every = graph.shapes.items()
    shapes = {name: tuple(1 if dim is None else dim for dim in shape) for name, shape in every}
    sizes = [(node_macs(node, shapes) or 0, node_elements(node, shapes)) for node in graph.nodes]
    held: dict[int, list[int]] = defaultdict(list)
    times: dict[int, float] = {}
    shared = set()
    for link in links:
        timing = attribution.layers[link.position].timing if attribution else None
        time_ms = timing.time_ms if timing else None
        for node, part in zip(link.nodes, _portions(link.nodes, sizes), strict=True):
            held[node].append(link.position)
            if len(link.nodes) > 1:
                shared.add(node)
            if time_ms is not None:
                times[node] = times.get(node, 0.0) + part * time_ms
    return tuple(
        NodeCost(node=node, positions=tuple(at), time_ms=times.get(node), is_shared=node in shared)
        for node, at in sorted(held.items())
    )


def _portions(nodes: Sequence[int], sizes: Sequence[tuple[int, int | None]]) -> list[float]:
    """Each node's part of a layer's time; they add up to 1."""
    macs = [sizes[one][0] for one in nodes]
    if sum(macs):
        return [mac / sum(macs) for mac in macs]
    elements = [one for one in (sizes[node][1] for node in nodes) if one]
    if len(elements) == len(nodes):
        return [element / sum(elements) for element in elements]
    return [1 / len(nodes)] * len(nodes)


def with_onnx_work(
    plan: Plan, works: Sequence[LayerWork], graph: OnnxGraph, links: OnnxMap
) -> tuple[LayerWork, ...]:
    """Return `works` with the multiply-accumulates of layers whose plan does not tell them.

    A node's work goes to the layers that hold it, copies left out: in equal parts if there are
    several, which is then marked; to none of these if for one of them the plan tells its work,
    which contains the node's. 0 where all nodes are known to multiply no matrices.
    """
    shares: dict[int, list[tuple[int, int]]] = {}
    idle = {n for n, it in enumerate(plan.layers) if it.is_inert or it.type in MOVING_TYPES}
    closed = {at for at, work in enumerate(works) if work.macs is not None}
    for cost in links.costs:
        macs = node_macs(graph.nodes[cost.node], graph.shapes)
        holders = [at for at in cost.positions if at not in idle]
        if macs is None:
            closed |= set(holders)
            continue
        if any(works[at].macs is not None for at in holders):
            continue
        for number, at in enumerate(holders):
            part = macs // len(holders) + (number < macs % len(holders))
            shares.setdefault(at, []).append((part, len(holders) if macs else 1))
    completed = list(works)
    for at in shares.keys() - closed:
        macs, is_shared = sum(part for part, _ in shares[at]), any(n > 1 for _, n in shares[at])
        completed[at] = replace(works[at], macs=macs, source="onnx", is_shared=is_shared)
    return tuple(completed)


Shapes = Mapping[str, tuple[int | None, ...]]

# operator -> place of the kernel or right matrix among its inputs
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
#: Operators that may hold products which are not counted here.
_OPAQUE = frozenset(
    {"Attention", "DFT", "DeformConv", "Einsum", "GRU", "If", "LSTM", "Loop", "RNN", "Scan", "STFT"}
)


def node_macs(node: OnnxNode, shapes: Shapes) -> int | None:
    """Return a node's multiply-accumulates.

    Convolutions, transposed ones, Gemm and MatMul, and their quantized kinds; 0 for operators that
    multiply no matrices, ``None`` where unknown.
    """
    if node.domain or node.op_type in _OPAQUE:
        return None
    result = _shape(node.outputs, 0, shapes)
    if node.op_type in _CONVOLUTIONS:
        kernel = _shape(node.inputs, _CONVOLUTIONS[node.op_type], shapes)
        return math.prod(result) * math.prod(kernel[1:]) if result and kernel else None
    if node.op_type == "ConvTranspose":
        source, kernel = _shape(node.inputs, 0, shapes), _shape(node.inputs, 1, shapes)
        return math.prod(source) * math.prod(kernel[1:]) if source and kernel else None
    if node.op_type in ("MatMul", "MatMulInteger", "QLinearMatMul"):
        left = _shape(node.inputs, 0, shapes)
        return math.prod(result) * left[-1] if result is not None and left else None
    if node.op_type == "Gemm":  # the right matrix is k × n or n × k
        right = _shape(node.inputs, 1, shapes)
        if not result or not right or not result[-1]:
            return None
        return math.prod(result) * (math.prod(right) // result[-1])
    return 0


def node_elements(node: OnnxNode, shapes: Shapes) -> int | None:
    """Return the number of elements that a node writes, or ``None``."""
    sizes = [_shape(node.outputs, at, shapes) for at, name in enumerate(node.outputs) if name]
    known = [math.prod(size) for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _shape(names: Sequence[str], at: int, shapes: Shapes) -> tuple[int, ...] | None:
    return static_shape(shapes.get(names[at]) if at < len(names) else None)


#: Viridis, dark to bright, as `render` uses it for amounts; in the form that Model Explorer takes.
GRADIENT = [
    {"stop": at / 4, "bgColor": color, "textColor": "black" if at > 2 else "white"}
    for at, color in enumerate(("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"))
]


def node_notes(links: OnnxMap, plan: Plan) -> dict[int, dict[str, str]]:
    """Return notes for `annotated_onnx`: what each node costs, and in which layers.

    Keys
    ----
    enginescope.time_ms
        Milliseconds per iteration; missing where no layer of the node has a time.
    enginescope.share_pct
        Of the time of all nodes, 0…100.
    enginescope.shared
        ``true`` where its layer holds other nodes too, and the time is its estimated part.
    enginescope.layers
        Names of the layers that hold it, a line each.
    """
    whole_ms = sum(cost.time_ms or 0.0 for cost in links.costs)
    notes = {}
    for cost in links.costs:
        notes[cost.node] = note = {
            "enginescope.layers": "\n".join(plan.layers[at].name for at in cost.positions),
            "enginescope.shared": "true" if cost.is_shared else "false",
        }
        if cost.time_ms is not None:
            note["enginescope.time_ms"] = f"{cost.time_ms:.6g}"
            if whole_ms:
                note["enginescope.share_pct"] = f"{100 * cost.time_ms / whole_ms:.3g}"
    return notes


def model_explorer_data(links: OnnxMap, graph: OnnxGraph) -> dict[str, Any]:
    """Return Model Explorer's custom node data: milliseconds by node, of the model's own graph.

    A node is known there by its name, or by its first output if it has none. Nodes in branches
    and bodies are left out, since the graphs these stand in have no names.
    """
    results = {}
    for cost in links.costs:
        node = graph.nodes[cost.node]
        if cost.time_ms is not None and node.depth == 0 and (node.own_name or node.outputs):
            results[node.own_name or node.outputs[0]] = {"value": cost.time_ms}
    return {graph.name: {"results": results, "gradient": GRADIENT}}


def onnx_match_notice(plan: Plan, links: OnnxMap, model: str) -> Notice | None:
    """Return a warning if `plan` was probably built from another model; else ``None``.

    Args:
        links: Of that plan.
        model: The model's file, for the message.
    """
    working = sum(not layer.is_inert for layer in plan.layers)
    named = {name for layer in plan.layers for name in layer.onnx_nodes}
    unknown = len(links.unknown_names)
    evidence = {
        "layers": working,
        "linked": len(links.links),
        "names": len(named),
        "unknown_names": list(links.unknown_names[:5]),
    }
    if not links.links:
        return Notice(
            "W-ONNX-NO-MATCH",
            f"0 of {working:,} layers of {plan.name} were made from nodes of {model}: it "
            "is another model, or one whose nodes were renamed since",
            evidence,
        )
    fitting = f"{len(links.links):,} of {working:,} layers fit it"
    by_name = any(link.evidence != "tensors" for link in links.links)
    if 2 * unknown > len(named):
        why = f"{unknown:,} of the {len(named):,} nodes that the plan names are not in it, and "
        why += fitting
    elif not by_name and len(links.links) < 0.1 * working:
        # the first input and the last output have the same names in many models
        why = f"only {fitting}, none by a name"
    else:
        return None
    return Notice(
        "W-ONNX-FEW-MATCH",
        f"{model} may be another model than {plan.name} was built from: {why}; the nodes' "
        "costs are wrong if it is; give the model that this engine was built from",
        evidence,
    )
