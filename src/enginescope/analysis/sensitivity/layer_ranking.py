"""Rank layers of an ONNX model: what is converted at once, order by error, front, proposal."""

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from enginescope.analysis.bisection.precision_proposals import front
from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_graph import OnnxFlow
from enginescope.judge.comparison.hodges_lehmann import student_paired_shift
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate
from enginescope.records.tensor import DataType
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    FrontPoint,
    Granularity,
    LayerTime,
    SensitiveLayer,
)

#: Operators that do the work of a model: a layer begins with one.
COMPUTING = frozenset(
    {
        *("Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm", "Einsum", "RNN", "GRU", "LSTM"),
        *("Attention", "MultiHeadAttention", "GroupQueryAttention", "FusedMatMul", "If", "Loop"),
        "Scan",
    }
)
#: Blocks that a model is divided into at least, where its names or its length allow it.
_FEWEST_BLOCKS = 4


class LayerNodes(Record, frozen=True, kw_only=True):
    """Nodes that are converted together, in the model's order."""

    name: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]


def layers_of(
    flow: OnnxFlow, by: Granularity, inner: Mapping[str, Sequence[str]]
) -> tuple[LayerNodes, ...]:
    """Return the layers of a model: each floating-point node that inputs reach is in one of them.

    A layer is a node that computes and those that follow it, up to the next ones that compute.
    Nodes before the first such node are layers of their own.

    Args:
        inner: Node -> nodes of its branches and bodies, which belong to it.
    """
    parts: list[LayerNodes] = []
    names: list[str] = []
    layer_of_tensor: dict[str, str] = {}
    for node in flow.nodes:
        types = [flow.tensor(output).dtype for output in node.outputs]
        if not node.varies or not any(one in (DataType.FP32, None) for one in types):
            continue
        before = [layer_of_tensor[name] for name in node.inputs if name in layer_of_tensor]
        places = list(dict.fromkeys(names))
        own = node.operator in COMPUTING or not before
        names.append(node.name if own else max(before, key=places.index))
        inside = (node.name, *inner.get(node.name, ()))
        parts.append(LayerNodes(name=node.name, operators=(node.operator,), nodes=inside))
        layer_of_tensor |= dict.fromkeys(node.outputs, names[-1])
    layers = _joined(parts, names)
    return layers if by == "layer" else _blocks(layers)


def _blocks(layers: Sequence[LayerNodes]) -> tuple[LayerNodes, ...]:
    """Return layers by the first parts of their names; without such names by their order."""
    parts = [re.split(r"[/.]", layer.name.lstrip("/"))[:-1] for layer in layers]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(some[:depth]) or it.name for some, it in zip(parts, layers, strict=True)]
        if _FEWEST_BLOCKS <= len(set(names)) < len(layers):
            return _joined(layers, names)
    size = math.ceil(len(layers) / max(_FEWEST_BLOCKS, math.isqrt(len(layers))))
    firsts = [layers[at - at % size] for at in range(len(layers))]
    lasts = [layers[min(at - at % size + size, len(layers)) - 1] for at in range(len(layers))]
    names = [
        first.name if first is last else f"{first.name} … {last.name}"
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return _joined(layers, names)


def _joined(layers: Sequence[LayerNodes], names: Sequence[str]) -> tuple[LayerNodes, ...]:
    groups: dict[str, list[LayerNodes]] = {}
    for name, layer in zip(names, layers, strict=True):
        groups.setdefault(name, []).append(layer)
    return tuple(
        LayerNodes(
            name=name,
            operators=tuple(dict.fromkeys(one for layer in some for one in layer.operators)),
            nodes=tuple(node for layer in some for node in layer.nodes),
        )
        for name, some in groups.items()
    )


#: Fewer samples do not show whether two errors differ.
_FEWEST_SAMPLES = 3

#: Return whether the times of two cumulative models clearly differ; ``None``: not known.
Distinct = Callable[[int, int], bool | None]


def saved_time(base_ms: float, value_ms: float, ratio: RatioEstimate, rounds: int) -> LayerTime:
    """Return what a model saves of FP32's time.

    Args:
        ratio: Its time ÷ FP32's.
    """
    ends, saved = ratio.interval, None
    if ends is not None:
        low, high = base_ms * (1 - ends.high), base_ms * (1 - ends.low)
        saved = Interval(low=low, high=high, confidence=ends.confidence)
    saved_ms = base_ms * (1 - ratio.ratio)
    return LayerTime(value_ms=value_ms, ratio=ratio, saved_ms=saved_ms, saved=saved, rounds=rounds)


def badness(model: ConvertedModel) -> float:
    """Return the error of outputs; infinite where it is not finite or not known."""
    return math.inf if model.error is None else model.error


def ranked(layers: Sequence[SensitiveLayer]) -> tuple[SensitiveLayer, ...]:
    """Return layers with their ranks, the largest error first.

    Layers have one rank whose errors the samples do not distinguish from the first of the rank:
    Student's interval of the paired logarithms, at 95 % for all comparisons together. Layers
    without an error come last.
    """
    known = [layer for layer in layers if layer.alone.state == "compared"]
    known.sort(key=lambda layer: -badness(layer.alone))
    others = [layer for layer in layers if layer not in known]
    confidence = 1 - 0.05 / max(1, len(known) - 1)
    ordered: list[SensitiveLayer] = []
    head: SensitiveLayer | None = None
    for place, layer in enumerate(known, start=1):
        differs = head is None or errors_differ(head.alone, layer.alone, confidence=confidence)
        if differs is None:
            return (*known, *others)
        if head is None or differs:
            head = replace(layer, rank=place)
        ordered.append(replace(layer, rank=head.rank))
    return (*ordered, *others)


def errors_differ(a: ConvertedModel, b: ConvertedModel, *, confidence: float) -> bool | None:
    """Return whether the samples distinguish two errors; ``None`` of fewer than three samples."""
    if len(a.sample_errors) < _FEWEST_SAMPLES or len(a.sample_errors) != len(b.sample_errors):
        return None
    if a.error is None or b.error is None:
        return (a.error is None) is not (b.error is None)
    pairs = [
        (error, other)
        for error, other in zip(a.sample_errors, b.sample_errors, strict=True)
        if error is not None and other is not None
    ]
    if any(error == 0 or other == 0 for error, other in pairs) or len(pairs) < _FEWEST_SAMPLES:
        return any(error != other for error, other in pairs)
    logs = np.log(pairs)
    shift = student_paired_shift(logs[:, 0] - logs[:, 1], confidence=confidence)
    return bool(shift.low is not None and shift.high is not None and shift.low * shift.high > 0)


def conversion_order(layers: Sequence[SensitiveLayer]) -> tuple[tuple[str, ...], bool]:
    """Return the order in which to convert layers: the least error per time saved first.

    A layer whose time is not measured comes by its error among those that save no time, which
    follow the others.

    Returns:
        names: Of layers whose error is known.
        is_by_time: Whether any layer saves time beyond noise; else errors alone give the order.
    """
    known = [layer for layer in layers if layer.alone.state == "compared"]

    def key(layer: SensitiveLayer) -> tuple[bool, bool, float]:
        error, time = badness(layer.alone), layer.alone.time
        fails = layer.alone.passes is False
        if time is None or not time.is_gain:
            return fails, True, error
        return fails, False, error / time.saved_ms

    known.sort(key=key)
    return tuple(layer.name for layer in known), any(not key(layer)[1] for layer in known)


def front_of(models: Sequence[ConvertedModel], distinct: Distinct) -> tuple[FrontPoint, ...]:
    """Return the models that no other one is both faster and closer to FP32 than, fastest first.

    Args:
        models: FP32 first, whose time is 1.
    """
    points = [
        (_time(model, at), model.error if model.is_finite is not False else None)
        for at, model in enumerate(models)
    ]
    numbers = sorted(front(points), key=lambda at: points[at][0] or 0.0)
    return tuple(
        FrontPoint(number=at, is_distinct=distinct(numbers[place - 1], at) if place else None)
        for place, at in enumerate(numbers)
    )


def _time(model: ConvertedModel, number: int) -> float | None:
    if model.time is not None:
        return model.time.ratio.ratio
    return None if number else 1.0


def proposed(models: Sequence[ConvertedModel], distinct: Distinct) -> int | None:
    """Return the model to use: the fastest that passes, where one is faster than FP32.

    Of those that are not clearly slower than the fastest, the one with most layers converted. If
    none is faster than FP32, errors alone decide: most layers converted.

    Args:
        models: FP32 first, which is not proposed.
    """
    passing = [at for at, model in enumerate(models) if at and model.passes]
    if not passing:
        return None
    timed = [at for at in passing if models[at].time is not None]
    if any((time := models[at].time) is not None and time.is_gain for at in timed):
        fastest = min(timed, key=lambda at: _time(models[at], at) or 0.0)
        passing = [at for at in timed if at == fastest or distinct(fastest, at) is not True]
    return max(passing, key=lambda at: len(models[at].layers))
