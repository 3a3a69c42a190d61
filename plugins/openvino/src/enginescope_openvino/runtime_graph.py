"""The graph that OpenVINO executes, as a plan, and the times of its nodes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.records.plan.plan import (
    EXECUTED,
    IOTensor,
    Layer,
    LayerTiming,
    Plan,
    Profile,
    Weights,
)
from enginescope.records.tensor import Layout, Tensor
from enginescope_openvino.session import dtype_of, port_name

#: Kinds of nodes that hold a tensor, and compute none.
_CONSTANT, _INPUT, _OUTPUT = "Const", "Input", "Output"
#: The kind of node that computes anew from constants.
_RANDOM = "RandomUniform"
#: What OpenVINO appends to the name of an operation that had a bias, and the attribute that keeps
#: the whole name.
_SUFFIX, _NODE = "/WithoutBiases", "nodeName"
#: What OpenVINO says in place of a mean time that rounds to 0.
_IDLE = "not_executed"
#: Step of OpenVINO's clock.
_STEP_MS = 0.001
#: Rank -> letters of its axes.
_AXES = {2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}


def executed_plan(compiled: Any, model: str, name: str) -> Plan:
    """Return the runtime model: nodes as layers, constants as weights of those that read them.

    What OpenVINO computes of constants alone is a constant: it runs once, when the model is
    compiled.

    Args:
        model: The ONNX file, whose nodes the layers name.
    """
    nodes = compiled.get_runtime_model().get_ordered_ops()
    told = {node.friendly_name: _told(node) for node in nodes}
    kinds = {key: one.get("layerType", "") for key, one in told.items()}
    ends = {port.node.friendly_name: port_name(port) for port in compiled.outputs}
    written = {
        (value.get_node().friendly_name, value.get_index()): ends[node.friendly_name]
        for node in nodes
        if node.friendly_name in ends
        for value in node.input_values()
    }
    bare = {key: key.removesuffix(_SUFFIX) for key in kinds}
    called = {key: key if name in kinds else name for key, name in bare.items()}
    output = partial(_output, written, called)
    constants = _constants(nodes, kinds)
    layers: list[Layer] = []
    io: list[IOTensor] = []
    for node in nodes:
        kind, facts = kinds[node.friendly_name], told[node.friendly_name]
        if kind == _INPUT:
            io += [
                IOTensor(tensor=output(node, at), mode="input") for at in range(len(node.outputs()))
            ]
            continue
        if node.friendly_name in constants:
            continue
        read = [(one.get_node(), one.get_index()) for one in node.input_values()]
        if kind == _OUTPUT:
            io += [IOTensor(tensor=output(*one), mode="output") for one in read]
            continue
        layers.append(
            Layer(
                index=len(layers),
                name=called[node.friendly_name],
                type=kind or node.get_type_name(),
                subtype=facts.get("primitiveType"),
                inputs=tuple(
                    output(source, at)
                    for source, at in read
                    if source.friendly_name not in constants
                ),
                outputs=tuple(output(node, at) for at in range(len(node.outputs()))),
                tactic_name=facts.get("primitiveType"),
                weights=tuple(
                    Weights(role=one.name, dtype=one.dtype, count=one.elements)
                    for source, at in read
                    if source.friendly_name in constants
                    for one in (output(source, at),)
                ),
                attributes={**facts, _NODE: node.friendly_name},
            )
        )
    originals = [
        (one.index, name)
        for one in layers
        for name in one.attributes.get("originalLayersNames", "").split(",")
    ]
    # what is behind a slash OpenVINO added: a layer that bears the operation's own name comes first
    originals += [(index, name.rpartition("/")[0]) for index, name in originals]
    return Plan(
        name=name,
        layers=with_onnx_nodes(layers, originals, model),
        io=tuple(io),
        source_schema=EXECUTED,
    )


def _constants(nodes: Iterable[Any], kinds: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        kind = kinds[node.friendly_name]
        sources = {value.get_node().friendly_name for value in node.input_values()}
        is_computed = kind not in (_OUTPUT, _RANDOM) and sources and sources <= found
        if kind == _CONSTANT or is_computed:
            found.add(node.friendly_name)
    return found


def _told(node: Any) -> dict[str, str]:
    """Return what OpenVINO says of a node, as texts."""
    return {
        key: value.astype(str) if hasattr(value, "astype") else str(value)
        for key, value in node.get_rt_info().items()
    }


def _output(
    written: Mapping[tuple[str, int], str], called: Mapping[str, str], node: Any, at: int
) -> Tensor:
    """Return an output of a node; what the model writes has the model's name."""
    port = node.output(at)
    own = called[node.friendly_name] + (f":{at}" if at else "")
    shape = port.get_partial_shape()
    rank = shape.rank.get_length() if shape.rank.is_static else None
    layouts = _told(node).get("outputLayouts", "").split(",")
    return Tensor(
        name=written.get((node.friendly_name, at)) or own,
        shape=tuple(shape.to_shape()) if shape.is_static else None,
        dtype=dtype_of(port.get_element_type()),
        layout=layout_of(layouts[at], rank) if at < len(layouts) else None,
    )


def layout_of(text: str, rank: int | None) -> Layout | None:
    """Return a layout that oneDNN writes: ``acdb`` is NHWC, ``aBcd16b`` NC/16HW16."""
    found = re.fullmatch(r"([A-Za-z]+)((?:\d+[a-z])*)", text)
    if found is None:
        return None
    order, blocks = found[1].lower(), re.findall(r"(\d+)([a-z])", found[2])
    axes = _AXES.get(rank or 0)
    if axes is None or sorted(order) != sorted("abcdefgh"[: len(axes)]):
        return Layout(name=text, text=text)
    if not blocks:
        return Layout(name="".join(axes[ord(one) - ord("a")] for one in order), text=text)
    if len(blocks) > 1:
        return Layout(name=text, text=text)
    width, axis = int(blocks[0][0]), ord(blocks[0][1]) - ord("a")
    name = "".join(
        axes[ord(one) - ord("a")] + (f"/{width}" if ord(one) - ord("a") == axis else "")
        for one in order
    )
    return Layout(name=f"{name}{width}", text=text, vector_axis=axis, vector_width=width)


def profile_of(
    reports: Sequence[tuple[int, Sequence[Any]]],
    whole_ms: Sequence[float],
    device: str,
    layers: Sequence[Layer],
) -> Profile:
    """Return the mean time of each layer, without the requests before the first report.

    OpenVINO's CPU device reports the mean of all requests since it compiled the model, in whole
    microseconds: the time of single requests is not known. Other devices report the last request.

    Args:
        reports: Number of requests so far, and what OpenVINO reported then; at least two.
        whole_ms: Times of the requests after the first report.
        layers: Of the executed graph. A layer takes 0 if it is a view of memory, or if its mean
            rounds to 0 µs.
    """
    known = {layer.attributes.get(_NODE, layer.name): layer for layer in layers}
    idle = {key: 0.0 for key, one in known.items() if one.attributes.get("execTimeMcs") == _IDLE}
    if device == "CPU":
        (before, first), (requests, last) = reports[0], reports[-1]
        early, late = _sums_ms(first, known), _sums_ms(last, known)
        count = requests - before
        sums = {node: requests * late[node] - before * early.get(node, 0.0) for node in late}
        idle = dict.fromkeys(known, 0.0)  # it lists none that it did not run
    else:
        count = len(reports) - 1
        each = [_sums_ms(nodes, known) for _, nodes in reports[1:]]
        sums = {node: sum(one.get(node, 0.0) for one in each) for node in each[-1]}
    timings = tuple(
        LayerTiming(
            index=at,
            name=known[node].name,
            mean_ms=max(0.0, total) / count,
            total_ms=max(0.0, total),
            kind=known[node].type,
            provider=device,
        )
        for at, (node, total) in enumerate((idle | sums).items())
    )
    return Profile(
        source="openvino",
        layers=timings,
        iterations=count,
        whole_ms=fmean(whole_ms),
        resolution_ms=(_STEP_MS, _STEP_MS),
    )


def _sums_ms(nodes: Iterable[Any], names: Container[str]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for node in nodes:
        if node.node_name in names:
            time_ms = node.real_time.total_seconds() * 1e3
            sums[node.node_name] = sums.get(node.node_name, 0.0) + time_ms
    return sums
