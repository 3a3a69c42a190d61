"""The graph that OpenVINO executes, as a plan, and the times of its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.records.plan.plan import (
    EXECUTED,
    IOTensor,
    Layer,
    LayerTiming,
    Plan,
    Profile,
    Weights,
    batch_sums,
)
from enginescope.records.tensor import Layout, Tensor
from enginescope_openvino.session import dtype_of

#: Kinds of nodes that hold a tensor, and compute none.
_CONSTANT, _INPUT, _OUTPUT = "Const", "Input", "Output"
#: Rank -> letters of its axes.
_AXES = {2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}


def executed_plan(compiled: Any, model: str, name: str) -> Plan:
    """Return the runtime model: nodes as layers, constants as weights of those that read them.

    Args:
        model: The ONNX file, whose nodes the layers name.
    """
    nodes = compiled.get_runtime_model().get_ordered_ops()
    told = {node.friendly_name: _told(node) for node in nodes}
    kinds = {key: one.get("layerType", "") for key, one in told.items()}
    layers: list[Layer] = []
    io: list[IOTensor] = []
    for node in nodes:
        kind, facts = kinds[node.friendly_name], told[node.friendly_name]
        if kind == _INPUT:
            io += [
                IOTensor(tensor=_output(node, at), mode="input")
                for at in range(len(node.outputs()))
            ]
            continue
        if kind == _CONSTANT:
            continue
        read = [(one.get_node(), one.get_index()) for one in node.input_values()]
        flowing = [
            _output(source, at) for source, at in read if kinds[source.friendly_name] != _CONSTANT
        ]
        if kind == _OUTPUT:
            io += [IOTensor(tensor=one, mode="output") for one in flowing]
            continue
        layers.append(
            Layer(
                index=len(layers),
                name=node.friendly_name,
                type=kind or node.get_type_name(),
                subtype=facts.get("primitiveType"),
                inputs=tuple(flowing),
                outputs=tuple(_output(node, at) for at in range(len(node.outputs()))),
                tactic_name=facts.get("primitiveType"),
                weights=tuple(
                    Weights(role=one.name, dtype=one.dtype, count=one.elements)
                    for source, at in read
                    if kinds[source.friendly_name] == _CONSTANT
                    for one in (_output(source, at),)
                ),
                attributes=facts,
            )
        )
    originals = {one.index: _originals(one) for one in layers}
    return Plan(
        name=name,
        layers=with_onnx_nodes(layers, originals, model),
        io=tuple(io),
        source_schema=EXECUTED,
    )


def _originals(layer: Layer) -> tuple[str, ...]:
    """Return the operations that a layer came from; what is behind a slash OpenVINO added."""
    names = layer.attributes.get("originalLayersNames", "").split(",")
    return (*names, *(one.rpartition("/")[0] for one in names))


def _told(node: Any) -> dict[str, str]:
    """Return what OpenVINO says of a node, as texts."""
    return {
        key: value.astype(str) if hasattr(value, "astype") else str(value)
        for key, value in node.get_rt_info().items()
    }


def _output(node: Any, at: int) -> Tensor:
    port = node.output(at)
    shape = port.get_partial_shape()
    rank = shape.rank.get_length() if shape.rank.is_static else None
    layouts = _told(node).get("outputLayouts", "").split(",")
    return Tensor(
        name=node.friendly_name if at == 0 else f"{node.friendly_name}:{at}",
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


def profile_of(passes: Sequence[Iterable[Any]], whole_ms: Sequence[float], device: str) -> Profile:
    """Return the times of the nodes that were executed.

    Args:
        passes: What OpenVINO timed, for each request; the same nodes in each.
        whole_ms: Of those requests.
    """
    times: dict[str, list[float]] = {}
    kinds: dict[str, str] = {}
    for nodes in passes:
        for node in nodes:
            if node.status == type(node).Status.EXECUTED:
                times.setdefault(node.node_name, []).append(node.real_time.total_seconds() * 1e3)
                kinds[node.node_name] = node.node_type
    layers = tuple(
        LayerTiming(
            index=at,
            name=name,
            mean_ms=fmean(values),
            median_ms=float(np.median(values)),
            interval=quantile_interval(np.array(values), 0.5),
            total_ms=sum(values),
            kind=kinds[name],
            provider=device,
        )
        for at, (name, values) in enumerate(times.items())
    )
    return Profile(
        source="openvino",
        layers=layers,
        iterations=len(passes),
        whole_ms=fmean(whole_ms) if whole_ms else None,
        batch_sums_ms=_batch_sums(times.values(), len(passes)),
        resolution_ms=(0.0005, 0.0005),
    )


def _batch_sums(times: Iterable[list[float]], passes: int) -> tuple[float, ...]:
    """Return the sums of batches of requests; none where a node ran in some requests alone."""
    each = list(times)
    if not each or any(len(values) != passes for values in each):
        return ()
    return batch_sums(np.array(each).T)
