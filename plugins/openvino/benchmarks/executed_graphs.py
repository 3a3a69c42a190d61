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
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import enginescope
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.cli.options import parse_shape
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_precision import node_name
from enginescope.records.plan.plan import Alignment, Plan
from enginescope.records.run.job import InputShape, StopRule, Workload

_WORKLOAD = Workload(stop=StopRule(max_time_ms=1_500.0, min_samples=20))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class _ResNet:
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


def _owners(plan: Plan, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the nodes that no layer holds, and those that several hold."""
    held = Counter(name for layer in plan.layers for name in layer.onnx_nodes)
    wanted = Counter(names)
    return (
        [name for name in wanted if not held[name]],
        [name for name in wanted if held[name] > wanted[name]],
    )


def _paired(found: Alignment) -> Iterator[str]:
    """Yield the nodes of the model whose layers in both graphs are one pair."""
    nodes_a = {one.index: one.onnx_nodes for one in found.plan_a.layers}
    nodes_b = {one.index: one.onnx_nodes for one in found.plan_b.layers}
    for pair in found.pairs:
        of_b = {name for index in pair.b for name in nodes_b[index]}
        yield from (name for index in pair.a for name in nodes_a[index] if name in of_b)


def _with_counterpart(found: Alignment) -> set[str]:
    """Return the nodes whose layers have a counterpart, whichever, in both graphs."""
    lonely = {
        name
        for plan, left in ((found.plan_a, found.only_a), (found.plan_b, found.only_b))
        for layer in plan.layers
        if layer.index in left
        for name in layer.onnx_nodes
    }
    held = {name for layer in found.plan_a.layers for name in layer.onnx_nodes}
    return held - lonely


def _share(some: set[str], names: list[str]) -> str:
    return f"{100 * len(some & set(names)) / len(set(names)):.1f} %"


def check(model: Path, shapes: tuple[InputShape, ...] = ()) -> bool:
    """Print the figures of one model; return whether every node has one owner in both graphs."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    names = [node_name(node) for node in nodes]
    views, is_whole = [], True
    for backend in ("openvino", "ort-cpu"):
        view = enginescope.bench(model, on=backend, workload=replace(_WORKLOAD, shapes=shapes))
        plan, total = view.run.plan, view.layer_sum
        assert plan is not None
        assert total is not None
        missing, doubled = _owners(plan, names)
        is_whole = is_whole and not missing and not doubled
        ratio = f"{total.ratio:.3f} ×" if total.ratio is not None else "unknown ×"
        _say(
            f"{model.name} · {backend}: {len(names)} nodes in {len(plan.layers)} layers, "
            f"{len(missing)} in none, {len(doubled)} in several; layers {total.sum_ms:.4g} ms "
            f"({total.statistic}), {ratio} the latency"
        )
        if missing or doubled:
            _say(f"  in none: {missing[:5]}; in several: {doubled[:5]}")
        views.append(view)
    found = align(*(view.run.plan for view in views))
    paired = set(_paired(found))
    operators = [node_name(node) for node in nodes if node.op_type != "Constant"]
    largest = max((len(one.a) + len(one.b) for one in found.pairs), default=0)
    _say(
        f"  pairs layers of {_share(_with_counterpart(found), operators)} of the operators, and "
        f"{_share(paired, operators)} lie in both layers of one pair; {len(found.pairs)} pairs, "
        f"the largest of {largest} layers"
    )
    return is_whole


def main() -> int:
    """Check the models of the command line."""
    with TemporaryDirectory() as folder:
        named = sys.argv[1:] or [str(_ResNet().save(Path(folder) / "resnet18.onnx"))]
        results = []
        for path, *shapes in (one.split(",") for one in named):
            results.append(check(Path(path), tuple(map(parse_shape, shapes))))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
