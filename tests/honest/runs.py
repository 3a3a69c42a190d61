"""Honest runs of a model: other optimization levels, threads and precisions; and their verdicts."""

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnx import numpy_helper

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import SideDiff
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, convert
from enginescope.formats.onnx.onnx_rounding import LARGEST, rounded_onnx
from enginescope.formats.tensors.tensor_files import tensor_of
from tests.honest.models import Feeds, Outputs, RealModel

LEVELS = {
    "off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


@dataclass(frozen=True)
class Run:
    """One run of a model.

    Attributes:
        row: The row of limits that it is judged by.
        outputs: Of the samples, by name.
        holds: Whether the task's figures are those of the reference.
    """

    name: str
    row: str
    outputs: list[Outputs]
    holds: bool


def run(path: Path, feeds: list[Feeds], level: str = "all", threads: int = 1) -> list[Outputs]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return [dict(zip(names, session.run(None, one), strict=True)) for one in feeds]


class _Calibration:
    """Feeds of the samples, as ONNX Runtime's quantizer asks for them."""

    def __init__(self, feeds: list[Feeds]) -> None:
        self._left = iter(feeds)

    def get_next(self) -> Feeds | None:
        return next(self._left, None)


def quantized(path: Path, target: Path, feeds: list[Feeds], keep: tuple[str, ...]) -> Path:
    """Write the model in INT8, QDQ, with a scale for each channel of the weights."""
    from onnxruntime.quantization import QuantFormat, quantize_static

    model = onnx.load(path)
    if next(one.version for one in model.opset_import if not one.domain) < 13:
        model = onnx.version_converter.convert_version(model, 13)  # scales of channels need it
    nodes = model.graph.node
    for number, node in enumerate(nodes):
        node.name = node.name or f"{node.op_type}_{number}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(
            model,
            str(target),
            _Calibration(feeds),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            nodes_to_exclude=[node.name for node in nodes if node.op_type in keep],
        )
    return target


def quantized_dynamically(path: Path, target: Path) -> Path:
    """Write the model with INT8 weights; activations are quantized while it runs."""
    from onnxruntime.quantization import quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_dynamic(str(path), str(target), per_channel=True)
    return target


def with_bf16_weights(path: Path, target: Path) -> Path:
    """Write the model with its weights rounded to BF16, as a file in BF16 holds them."""
    model = onnx.load(path)
    constants = [
        attribute.t
        for node in model.graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    ]
    for tensor in (*model.graph.initializer, *constants):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            bits = numpy_helper.to_array(tensor).view(np.uint32)
            rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
            values = rounded.astype(np.uint32).view(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(model, target)
    return target


def honest_runs(model: RealModel, folder: Path) -> Iterator[Run]:
    """Yield every honest run of a model, and conversions that lose its figures, which say so."""
    path, feeds = model.path(folder), model.feeds()
    reference = run(path, feeds)
    stem = model.name.replace(" ", "_").replace(",", "")

    def ran(name: str, row: str, outputs: list[Outputs]) -> Run:
        return Run(name, row, outputs, model.holds(reference, outputs))

    for level in LEVELS:
        for threads in (1, 2):
            yield ran(f"{level}, {threads} threads", "fp32", run(path, feeds, level, threads))
    made: dict[tuple[str, str], Callable[[Path], Any]] = {
        ("FP16", "fp16"): lambda target: convert(path, target, Fp16Options()),
        ("BF16 weights", "bf16"): lambda target: with_bf16_weights(path, target),
        ("INT8, static", "int8"): lambda target: quantized(path, target, feeds, model.keep),
        ("INT8, dynamic", "int8"): lambda target: quantized_dynamically(path, target),
    }
    logging.disable(logging.CRITICAL)  # the quantizer's remarks
    for (name, row), write in made.items():
        target = folder / f"{stem}.{name.replace(', ', '-').replace(' ', '-')}.onnx"
        try:
            write(target)
            outputs = run(target, feeds)
        except Exception as error:  # noqa: BLE001 - what a converter or runtime cannot do
            print(f"{model.name}: no {name}: {str(error)[:150]}")
            continue
        yield ran(name, row, outputs)
    logging.disable(logging.NOTSET)


def rounded_runs(model: RealModel, folder: Path) -> dict[str, list[Outputs]]:
    """Return the outputs of the reference rounded to each row, as `validate` runs it."""
    path, feeds, made = model.path(folder), model.feeds(), {}
    for row in ("fp16", "bf16", "int8"):
        outputs = run(rounded_onnx(path, row, folder / f"{model.name} {row}").path, feeds, "off")
        made[row] = [{n: v for n, v in one.items() if n != LARGEST} for one in outputs]
    return made


def judged(
    reference: list[Outputs],
    candidate: list[Outputs],
    row: str,
    rounded: list[Outputs] | None = None,
) -> SideDiff:
    comparison = SideComparison("B", lambda _: tolerance_named(row))
    every: list[Any] = [reference, candidate, rounded or [None] * len(reference)]
    for number, each in enumerate(zip(*every, strict=True)):
        a, b, c = (one and [tensor_of(n, v) for n, v in one.items()] for one in each)
        comparison.add(number, f"sample {number}", a, b, [c] if c else ())
    return comparison.result()
