"""Check executed graphs: owners of the model's nodes, sums of times, pairs with ONNX Runtime.

Usage: python executed_graphs.py MODEL.onnx[,NAME:DIMS] …; without models, a ResNet-18 of random
weights.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import enginescope
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.cli.options import parse_shape
from enginescope.formats.onnx.onnx_precision import node_name
from enginescope.records.plan.plan import Alignment
from enginescope.records.run.job import InputShape, StopRule, Workload

_STOP = StopRule(max_time_ms=1_500.0, min_samples=20)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class ResNet:
    """Writes ResNet-18 for one image of 224×224."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return its output."""
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}_out"], name, **attributes))
        return f"{name}_out"

    def weight(self, *shape: int) -> str:
        """Add random weights and return their name."""
        name = f"w{len(self.weights)}"
        values = self._chance.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(self, data: str, channels: tuple[int, int], kernel: int, stride: int) -> str:
        """Add a convolution with a bias."""
        weights = self.weight(channels[1], channels[0], kernel, kernel)
        pads = [kernel // 2] * 4
        return self.add(
            "Conv", data, weights, self.weight(channels[1]), strides=[stride] * 2, pads=pads
        )

    def block(self, data: str, channels: tuple[int, int], stride: int) -> str:
        """Add two convolutions and a shortcut."""
        inner = self.add("Relu", self.conv(data, channels, 3, stride))
        inner = self.conv(inner, (channels[1], channels[1]), 3, 1)
        if channels[0] != channels[1]:
            data = self.conv(data, channels, 1, stride)
        return self.add("Relu", self.add("Add", inner, data))

    def save(self, path: Path) -> Path:
        """Write the model."""
        data = self.add("Relu", self.conv("image", (3, 64), 7, 2))
        data = self.add("MaxPool", data, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        before = 64
        for width in (64, 128, 256, 512):
            data = self.block(data, (before, width), 1 if width == before else 2)
            data = self.block(data, (width, width), 1)
            before = width
        data = self.add("Flatten", self.add("GlobalAveragePool", data))
        scores = self.add("Gemm", data, self.weight(512, 1000), self.weight(1000))
        graph = helper.make_graph(
            self.nodes,
            "resnet18",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
            [helper.make_tensor_value_info(scores, TensorProto.FLOAT, [1, 1000])],
            self.weights,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        onnx.save(made, path)
        return path


class Figures(NamedTuple):
    """What the graphs that OpenVINO and ONNX Runtime executed of one model say.

    Attributes:
        missing, doubled: Nodes of the model that no layer of a graph has, or several have.
        views: Runs of OpenVINO and of ONNX Runtime.
        unpaired: Operators that lie in layers of different pairs.
        paired: Share of the operators that lie in both layers of one pair.
        largest: Layers of the largest pair.
    """

    missing: list[str]
    doubled: list[str]
    views: tuple[enginescope.RunView, ...]
    unpaired: list[str]
    paired: float
    largest: int


def figures(model: Path, shapes: tuple[InputShape, ...] = (), stop: StopRule = _STOP) -> Figures:
    """Measure a model on both backends and compare the graphs."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    wanted = Counter(node_name(node) for node in nodes)
    workload = Workload(stop=stop, shapes=shapes)
    views = tuple(
        enginescope.bench(model, on=backend, workload=workload)
        for backend in ("openvino", "ort-cpu")
    )
    missing, doubled, plans = [], [], []
    for view in views:
        assert view.run.plan is not None
        plans.append(view.run.plan)
        owners = Counter(name for layer in view.run.plan.layers for name in layer.onnx_nodes)
        missing += [name for name in wanted if not owners[name]]
        doubled += [name for name in wanted if owners[name] > wanted[name]]
    found = align(*plans)
    paired = set(_paired(found))
    operators = {node_name(node) for node in nodes if node.op_type != "Constant"}
    return Figures(
        missing,
        doubled,
        views,
        sorted(operators - paired),
        len(operators & paired) / len(operators),
        max((len(one.a) + len(one.b) for one in found.pairs), default=0),
    )


def _paired(found: Alignment) -> Iterator[str]:
    """Yield the nodes of the model whose layers in both graphs are one pair."""
    nodes_a = {one.index: one.onnx_nodes for one in found.plan_a.layers}
    nodes_b = {one.index: one.onnx_nodes for one in found.plan_b.layers}
    for pair in found.pairs:
        of_b = {name for index in pair.b for name in nodes_b[index]}
        yield from (name for index in pair.a for name in nodes_a[index] if name in of_b)


def check(model: Path, shapes: tuple[InputShape, ...] = ()) -> bool:
    """Print the figures of one model; return whether every node has one owner in both graphs."""
    found = figures(model, shapes)
    for view in found.views:
        total = view.layer_sum
        assert total is not None
        ratio = f"{total.ratio:.3f} ×" if total.ratio is not None else "unknown ×"
        _say(
            f"{model.name} · {view.run.job.backend}: {len(view.run.plan.layers)} layers, "
            f"{total.sum_ms:.4g} ms ({total.statistic}), {ratio} the latency"
        )
    _say(
        f"  {100 * found.paired:.1f} % of the operators lie in both layers of one pair, not "
        f"{', '.join(found.unpaired[:5]) or 'none'}; the largest pair has {found.largest} layers"
    )
    if found.missing or found.doubled:
        _say(f"  in none: {found.missing[:5]}; in several: {found.doubled[:5]}")
    return not found.missing and not found.doubled


def main() -> int:
    """Check the models of the command line."""
    with TemporaryDirectory() as folder:
        named = sys.argv[1:] or [str(ResNet().save(Path(folder) / "resnet18.onnx"))]
        results = []
        for path, *shapes in (one.split(",") for one in named):
            results.append(check(Path(path), tuple(map(parse_shape, shapes))))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
