"""Where the converter to FP16 errs, put right.

Casts in the wrong graph or twice, nodes out of order, and weights that are listed as inputs.

Tensors between two nodes that stay in FP32: not through FP16 and back.

The converter puts a cast to FP16 behind each node that it leaves out, and one back before the next:
what FP16 cannot hold is lost between two nodes that were left out because of it.
"""

from collections import Counter
from typing import Any

from enginescope.core.optional import require
from enginescope.formats.onnx.onnx_graph import in_order
from enginescope.formats.onnx.onnx_precision import copy_of, graphs_of, inner_graphs, refill

#: What the converter calls the output of a node that it leaves out, before it is cast; by version.
_OF_LEFT_OUT = ("_cast_to_fp16", "_output_cast_")


def take_out_round_trips(graph: Any) -> None:
    """Let a node that was left out read what another one gives, without the two casts between."""
    onnx = require("onnx", purpose="converting a model to fp16", install="onnx")
    half, single = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    sources = {
        node.output[0]: node.input[0]
        for node in graph.node
        if _casts_to(node, half) and any(one in node.input[0] for one in _OF_LEFT_OUT)
    }
    returning = [
        node for node in graph.node if _casts_to(node, single) and node.input[0] in sources
    ]
    inside = {name for node in graph.node for name in _read_by(node)[len(node.input) :]}
    kept = {one.name for one in graph.output} | inside
    instead = {
        node.output[0]: sources[node.input[0]] for node in returning if node.output[0] not in kept
    }
    for node in graph.node:
        node.input[:] = [instead.get(name, name) for name in node.input]
    for node in returning:
        if node.output[0] in instead:
            graph.node.remove(node)
    # casts to FP16 that nobody reads any more
    unread = set(sources) - kept - {name for node in graph.node for name in _read_by(node)}
    for node in [one for one in graph.node if one.op_type == "Cast" and one.output[0] in unread]:
        graph.node.remove(node)


def _read_by(node: Any) -> list[str]:
    found = list(node.input)
    for inner in inner_graphs(node):
        found += [one.name for one in inner.output]
        found += [name for each in inner.node for name in _read_by(each)]
    return found


def _casts_to(node: Any, kind: int) -> bool:
    return node.op_type == "Cast" and any(
        one.name == "to" and one.i == kind for one in node.attribute
    )


#: The first IR version in which a weight need not be listed as an input.
_UNLISTED_WEIGHTS = 4


def repaired(made: Any, header: Any) -> Any:
    """Return `made` with each cast once and where it belongs, its nodes in order.

    Args:
        header: With the versions of the model it was made from: they hold, whatever a library
            writes.
    """
    _cast_where_it_is_used(made)
    for graph in graphs_of(made.graph):
        _cast_once(graph)
        take_out_round_trips(graph)
    ordered = _in_order(made)
    ordered.ir_version = header.ir_version
    refill(ordered.opset_import, header.opset_import)
    return ordered


def take_out_listed_weights(model: Any) -> list[Any]:
    """Take out, and return, the inputs that only list weights, as models before IR version 4 must.

    The converter takes them for inputs, and then for of another type than the weights.
    """
    weights = {one.name for one in model.graph.initializer}
    listed = [copy_of(one) for one in model.graph.input if one.name in weights]
    fed = [copy_of(one) for one in model.graph.input if one.name not in weights]
    if listed:
        refill(model.graph.input, fed)
    return listed


def list_weights(model: Any, listed: list[Any]) -> None:
    """List weights as inputs again, of the type they have now."""
    types = {one.name: one.data_type for one in model.graph.initializer}
    for one in listed:
        one.type.tensor_type.elem_type = types[one.name]
    model.graph.input.extend(listed)


def constants_as_initializers(model: Any) -> None:
    """Hold the tensors of Constant nodes as initializers, those in branches and bodies too.

    The converter keeps an initializer in FP32 for a node that stays in FP32, and rounds a Constant.
    Constants stay where an initializer is not valid: models before IR version 4 list each one as an
    input, the converter does not cast one that is an output, and it knows initializers by name.
    """
    if model.ir_version < _UNLISTED_WEIGHTS:
        return
    graphs = list(graphs_of(model.graph))
    uses = Counter(name for graph in graphs for name in _made_in(graph))
    uses.update(one.name for graph in graphs for one in graph.output)
    for graph in reversed(graphs):  # a graph's nodes are copied, with the graphs inside them
        _as_initializers(graph, {name for name, count in uses.items() if count == 1})


def _as_initializers(graph: Any, names: set[str]) -> None:
    kept = []
    for node in graph.node:
        value = next((one for one in node.attribute if one.name == "value"), None)
        if node.op_type != "Constant" or value is None or node.output[0] not in names:
            kept.append(copy_of(node))
            continue
        tensor = copy_of(value.t)
        tensor.name = node.output[0]
        graph.initializer.append(tensor)
    refill(graph.node, kept)
    weights = {one.name for one in graph.initializer}
    refill(graph.value_info, [copy_of(one) for one in graph.value_info if one.name not in weights])


def _in_order(model: Any) -> Any:
    """Return `model` with its nodes in order, by onnx_ir where it can read the model.

    It has no maps, and no names that a graph declares twice; ONNX Runtime has both.
    """
    ir = require("onnx_ir", purpose="sorting nodes", install="enginescope[convert]")
    sorting = require("onnx_ir.passes.common", purpose="sorting", install="enginescope[convert]")
    try:
        representation = ir.from_proto(model)
        sorting.TopologicalSortPass()(representation)
        return ir.to_proto(representation)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - its errors have no common base
        for graph in graphs_of(model.graph):
            refill(graph.node, map(copy_of, in_order(graph.node, "the converted model")))
        return model


def take_out_repeated_outputs(model: Any) -> list[str]:
    """List each output once; return the names as they were: ONNX Runtime takes repeated ones."""
    names = [output.name for output in model.graph.output]
    outputs = {output.name: copy_of(output) for output in model.graph.output}
    refill(model.graph.output, outputs.values())
    return names


def list_outputs(model: Any, names: list[str]) -> None:
    """List outputs again in this order, each of the type that it has now."""
    outputs = {output.name: copy_of(output) for output in model.graph.output}
    refill(model.graph.output, (outputs[name] for name in names))


def name_apart(model: Any) -> None:
    """Give every value a name of its own: the converter knows weights and types by names alone.

    Of a name that is declared twice, the weight stays that ONNX Runtime uses: the last one of a
    graph, and that of the graph around a branch or body.
    """
    _name_apart(model.graph, frozenset(), set())


def _name_apart(graph: Any, around: frozenset[str], seen: set[str]) -> None:
    weights = {weight.name: weight for weight in graph.initializer if weight.name not in around}
    if len(weights) < len(graph.initializer):
        refill(graph.initializer, map(copy_of, weights.values()))
    for name in dict.fromkeys(_made_in(graph)):
        new = name
        while new in seen:
            new += "_"
        if new != name:
            _rename(graph, name, new)
        seen.add(new)
    names = around | {weight.name for weight in graph.initializer}
    for node in graph.node:
        for inner in inner_graphs(node):
            _name_apart(inner, names, seen)


def _rename(graph: Any, old: str, new: str) -> None:
    """Let a graph, and those inside that do not declare the name again, call a value `new`."""
    for value in (*graph.input, *graph.initializer, *graph.value_info, *graph.output):
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]
        for inner in inner_graphs(node):
            if old not in _made_in(inner):
                _rename(inner, old, new)


def _cast_where_it_is_used(model: Any) -> None:
    """Move casts of tensors inside a branch or body, which the converter puts outside, to them.

    A cast that has moved may be what another one reads.
    """
    outside = model.graph
    inside = [graph for graph in graphs_of(outside) if graph is not outside]
    while True:
        home = {name: graph for graph in inside for name in _made_in(graph)}
        here = set(_made_in(outside))
        stray = [
            node
            for node in outside.node
            if node.op_type == "Cast" and node.input[0] in home and node.input[0] not in here
        ]
        if not stray:
            return
        for node in stray:
            home[node.input[0]].node.add().CopyFrom(node)
            outside.node.remove(node)


def _made_in(graph: Any) -> list[str]:
    names = [one.name for one in (*graph.input, *graph.initializer)]
    return names + [name for node in graph.node for name in node.output if name]


def _cast_once(graph: Any) -> None:
    """Drop a cast that an equal one has made already: same tensor in, same tensor out."""
    seen: set[bytes] = set()
    kept = []
    for node in graph.node:
        written = node.SerializeToString(deterministic=True) if node.op_type == "Cast" else None
        if written in seen:
            continue
        if written is not None:
            seen.add(written)
        kept.append(node)
    if len(kept) < len(graph.node):
        refill(graph.node, map(copy_of, kept))
