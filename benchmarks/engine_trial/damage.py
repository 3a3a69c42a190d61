"""Conversions of a model, and the damage that is planted in it."""

from __future__ import annotations

import logging
import struct
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
from benchmarks.engine_trial.models import Feeds, TrialModel
from onnx import helper, numpy_helper

from enginescope.records.run.run import TensorValues

T = TypeVar("T")

#: RMSE ÷ spread of its FP32 model up to which an INT8 model is careful, and up to which honest.
_CAREFUL, _HONEST = 0.05, 0.1
#: RMSE ÷ spread in FP32 from which on a damaged weight changes what a user sees.
_VISIBLE = 0.1
#: Quarters of the nodes that are quantized, the most first.
_PARTS = ((0, 4), (1, 4), (0, 3), (2, 4), (0, 2), (1, 2), (3, 4), (0, 1))
QUANTIZED = ("Conv", "Gemm", "MatMul")
_WEIGHTED = (*QUANTIZED, "LSTM", "GRU")
WEIGHT_FACTOR = 1.15
#: Damage of recorded outputs, exact for what a wrong last layer gives.
RECORDED = ("zeroed scores", "dead channel", "swapped classes")
#: Damage of the model, which is converted and built like the honest one.
WEIGHT = f"weight × {WEIGHT_FACTOR}"


class _Feeds:
    """Samples, as ONNX Runtime's quantizer asks for them."""

    def __init__(self, samples: Sequence[Feeds]) -> None:
        self._left = iter(samples)

    def get_next(self) -> Feeds | None:
        return next(self._left, None)


def write_int8(
    source: Path, target: Path, samples: Sequence[Feeds], part: tuple[int, int] | None
) -> tuple[int, int]:
    """Write a model in INT8: Q/DQ nodes, symmetric, a scale for each channel of the weights.

    Where the model loses its outputs, its first or last quarters stay in FP32, as a careful
    conversion decides; its own yardstick, not that of `validate`, decides what is lost.

    Args:
        part: First quarter of the nodes to quantize, and the one behind the last; None: the
            largest part that is honest.

    Returns:
        The part that was quantized.

    Raises:
        ValueError: No part is honest.
    """
    target.unlink(missing_ok=True)
    model = onnx.load(source)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    named = target.with_suffix(".named.onnx")
    onnx.save(model, named)
    nodes = [node.name for node in model.graph.node if node.op_type in QUANTIZED]
    reference = run(source, samples)
    errors: dict[tuple[int, int], float] = {}

    def quantized(begin: int, end: int) -> None:
        _quantize(named, target, samples, _quarters(nodes, (begin, end)))

    for candidate in _PARTS if part is None else ():
        quantized(*candidate)
        errors[candidate] = _error(reference, run(target, samples))
        if errors[candidate] <= _CAREFUL:
            named.unlink()
            return candidate
    part = part or min(errors, key=lambda one: errors[one])
    if errors.get(part, 0.0) > _HONEST:
        named.unlink()
        target.unlink()
        raise ValueError(f"no part of {source} has an honest INT8 conversion")
    quantized(*part)
    named.unlink()
    return part


def write_ranges(
    source: Path, target: Path, samples: Sequence[Feeds], part: tuple[int, int]
) -> None:
    """Write a calibration cache of TensorRT 8.6.0: the largest value of each tensor of a part.

    Layers around the part have no range and stay in a wider type.
    """
    model = onnx.load(source)
    nodes = list(model.graph.node)
    chosen = _quarters([at for at, one in enumerate(nodes) if one.op_type in QUANTIZED], part)
    inner = nodes[chosen[0] : chosen[-1] + 1]
    names = {nodes[chosen[0]].input[0], *(name for one in inner for name in one.output)}
    fed = [one.name for one in model.graph.input]
    known = {one.name for one in model.graph.output}
    extra = sorted(names - {*known, *fed, ""})
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
    widened = target.with_suffix(".widened.onnx")
    onnx.save(model, widened)
    order = [one.name for one in model.graph.output]
    used = {name for one in inner if one.op_type in QUANTIZED for name in one.input}
    largest = {
        one.name: float(np.abs(numpy_helper.to_array(one)).max())
        for one in model.graph.initializer
        if one.name in used
    }
    for feeds, outputs in zip(samples, run(widened, samples), strict=True):
        for name, values in [*feeds.items(), *zip(order, outputs, strict=True)]:
            if name in names and values.dtype == np.float32 and values.size:
                largest[name] = max(largest.get(name, 0.0), float(np.abs(values).max()))
    widened.unlink()
    scales = (
        f"{name}: {struct.pack('>f', one / 127).hex()}" for name, one in largest.items() if one
    )
    target.write_text("\n".join(("TRT-8600-EntropyCalibration2", *scales, "")))


def write_swish_as_tanh(source: Path, target: Path) -> None:
    """Write Sigmoid(x) of x · Sigmoid(x) as (1 + tanh(x ÷ 2)) ÷ 2.

    TensorRT 8.6.0 fuses a convolution with a Swish behind it, and on Hopper it has no
    implementation of that for a layer without ranges in an INT8 network, with cuDNN or without.
    """
    model = onnx.load(source)
    products = {frozenset(one.input) for one in model.graph.node if one.op_type == "Mul"}
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for node in nodes:
        if node.op_type == "Sigmoid" and {node.input[0], node.output[0]} in products:
            (whole,), (gate,) = node.input, node.output
            model.graph.node.extend(
                helper.make_node(kind, inputs, [name], name=name)
                for kind, inputs, name in (
                    ("Mul", [whole, "half"], f"{gate}.small"),
                    ("Tanh", [f"{gate}.small"], f"{gate}.tanh"),
                    ("Mul", [f"{gate}.tanh", "half"], f"{gate}.half"),
                    ("Add", [f"{gate}.half", "half"], gate),
                )
            )
        else:
            model.graph.node.append(node)
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "half"))
    onnx.save(model, target)


def _quarters(nodes: Sequence[T], part: tuple[int, int]) -> Sequence[T]:
    return nodes[len(nodes) * part[0] // 4 : -(-len(nodes) * part[1] // 4)]


def _quantize(source: Path, target: Path, samples: Sequence[Feeds], nodes: list[str]) -> None:
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    logging.disable(logging.WARNING)  # advice on preprocessing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(
            str(source),
            str(target),
            _Feeds(samples),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_quantize=nodes,
            extra_options={
                "ActivationSymmetric": True,
                "WeightSymmetric": True,
                "QuantizeBias": False,
                "QDQDisableWeightAdjustForInt32Bias": True,
            },
        )
    logging.disable(logging.NOTSET)


def run(path: Path, samples: Sequence[Feeds]) -> list[list[Any]]:
    """Return the outputs of every sample on ONNX Runtime's CPU provider."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [session.run(None, dict(one)) for one in samples]


def _error(reference: list[list[Any]], candidate: list[list[Any]]) -> float:
    """Return the largest RMSE ÷ spread of any output."""
    errors = []
    for a, b in zip(zip(*reference, strict=True), zip(*candidate, strict=True), strict=True):
        wide = np.stack(a).astype(np.float64)
        error = np.sqrt(np.square(np.stack(b) - wide).mean())
        errors.append(error / max(float(wide.std()), 1e-30))
    return max(errors)


def write_weight_damage(source: Path, target: Path, scores: str, samples: Sequence[Feeds]) -> str:
    """Multiply one weight; return the name of its node.

    It is the last one before the scores whose damage a user sees in FP32, or the one whose damage
    moves the outputs most.
    """
    reference = run(source, samples)
    effects: dict[str, float] = {}
    for name in _weights(onnx.load(source), scores):
        _scale(source, target, name)
        effects[name] = _error(reference, run(target, samples))
        if effects[name] >= _VISIBLE:
            return name
    most = max(effects, key=lambda name: effects[name])
    _scale(source, target, most)
    return most


def _scale(source: Path, target: Path, weight: str) -> None:
    model = onnx.load(source)
    held = next(one for one in model.graph.initializer if one.name == weight)
    values = numpy_helper.to_array(held) * np.float32(WEIGHT_FACTOR)
    held.CopyFrom(numpy_helper.from_array(values, weight))
    onnx.save(model, target)


def _weights(model: Any, scores: str) -> Iterator[str]:
    """Yield the weights of matrix operators, from the scores and other outputs to the inputs."""
    makers = {name: node for node in model.graph.node for name in node.output}
    held = {one.name for one in model.graph.initializer}
    names, seen = [scores, *(one.name for one in model.graph.output)], set[str]()
    while names:  # breadth first
        node = makers.get(names.pop(0))
        if node is None or node.output[0] in seen:
            continue
        seen.add(node.output[0])
        weight = node.input[1] if len(node.input) > 1 else ""
        if node.op_type in _WEIGHTED and weight in held:
            yield weight
        names += [one for one in node.input if one]


def strongest(model: TrialModel, reference: Sequence[TensorValues]) -> tuple[int, int]:
    """Return the class of the largest scores, and the one whose scores are farthest from them."""
    rows = [_classes(model, np.asarray(one.data).reshape(one.shape)) for one in reference]
    scores = np.concatenate(rows, 1).astype(np.float64)
    first = int(np.square(scores).mean(1).argmax())
    return first, int(np.square(scores - scores[first]).mean(1).argmax())


def _classes(model: TrialModel, values: Any) -> Any:
    return np.moveaxis(values, model.axis, 0).reshape(values.shape[model.axis], -1)[model.first :]


def damaged(
    model: TrialModel, kind: str, values: TensorValues, classes: tuple[int, int]
) -> TensorValues:
    """Return an output with one of the `RECORDED` kinds of damage."""
    from enginescope.formats.tensors.tensor_files import tensor_of

    array = np.array(np.asarray(values.data).reshape(values.shape))
    moved = np.moveaxis(array, model.axis, 0)
    one, other = (model.first + number for number in classes)
    if kind == "zeroed scores":
        moved[model.first :] = 0
    elif kind == "dead channel":
        moved[one] = 0
    else:
        moved[[one, other]] = moved[[other, one]]
    return tensor_of(values.name, array)
