"""Executed graphs of models of many kinds: owners of the nodes, sums of the times, and pairs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.honest.detector import detector
from tests.plants.families import FAMILIES

from enginescope.records.run.job import StopRule

if not os.environ.get("ENGINESCOPE_TEST_STRICT"):
    pytest.importorskip("openvino")
    pytest.importorskip("enginescope_openvino")

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from executed_graphs import ResNet, figures

FLOAT = TensorProto.FLOAT


def save(path: Path, nodes: list[Any], shape: list[int], **weights: Any) -> Path:
    """Write a model that makes ``y`` of ``x``."""
    value = helper.make_tensor_value_info
    kept = [numpy_helper.from_array(np.asarray(one), name) for name, one in weights.items()]
    graph = helper.make_graph(
        nodes, "net", [value("x", FLOAT, shape)], [value("y", FLOAT, None)], kept
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path)
    return path


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32) / 4


def recurrent(path: Path) -> Path:
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["all"], name="lstm", hidden_size=16),
        helper.make_node("Squeeze", ["all", "axis"], ["flat"], name="squeeze"),
        helper.make_node("GRU", ["flat", "v", "s"], ["", "last"], name="gru", hidden_size=16),
        helper.make_node("Sigmoid", ["last"], ["y"], name="sigmoid"),
    ]
    more = {"v": drawn(1, 48, 16), "s": drawn(1, 48, 16), "axis": [1]}
    return save(path, nodes, [12, 1, 8], w=drawn(1, 64, 8), r=drawn(1, 64, 16), **more)


def attention(path: Path) -> Path:
    nodes = []
    for name in ("q", "k", "v"):
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [name], name=f"{name}/product"),
            helper.make_node("Reshape", [name, "heads"], [f"{name}h"], name=f"{name}/heads"),
            helper.make_node(
                "Transpose", [f"{name}h"], [f"{name}t"], name=f"{name}/turn",
                perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3],
            ),
        ]  # fmt: skip
    nodes += [
        helper.make_node("MatMul", ["qt", "kt"], ["scores"], name="scores"),
        helper.make_node("Softmax", ["scores"], ["shares"], name="shares"),
        helper.make_node("MatMul", ["shares", "vt"], ["mixed"], name="mix"),
        helper.make_node("Transpose", ["mixed"], ["back"], name="back", perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["back", "whole"], ["joined"], name="join"),
        helper.make_node("Add", ["joined", "x"], ["sum"], name="add"),
        helper.make_node("LayerNormalization", ["sum", "gain", "shift"], ["y"], name="norm"),
    ]
    weights = {f"w{name}": drawn(32, 32) for name in "qkv"}
    shapes = {"heads": [1, 16, 4, 8], "whole": [1, 16, 32]}
    return save(path, nodes, [1, 16, 32], gain=drawn(32), shift=drawn(32), **weights, **shapes)


def branching(path: Path) -> Path:
    value = helper.make_tensor_value_info
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["a", "w"], [name], name=f"{name}/{kind}")],
            name,
            [],
            [value(name, FLOAT, [8, 8])],
        )
        for name, kind in (("then", "MatMul"), ("else", "Add"))
    }
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu"),
        helper.make_node("ReduceSum", ["a"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "limit"], ["is_large"], name="large"),
        helper.make_node("If", ["is_large"], ["y"], name="if", **branches),
    ]
    return save(path, nodes, [8, 8], w=drawn(8, 8), limit=np.float32(3))


def separable(path: Path) -> Path:
    nodes = [
        helper.make_node("Conv", ["x", "deep"], ["1"], name="deep", group=8, pads=[1] * 4),
        helper.make_node("BatchNormalization", ["1", *"gbmv"], ["2"], name="norm"),
        helper.make_node("HardSwish", ["2"], ["3"], name="swish"),
        helper.make_node("Conv", ["3", "point"], ["4"], name="point"),
        helper.make_node("ReduceMean", ["4"], ["y"], name="mean", axes=[2, 3]),
    ]
    norm = {name: np.abs(drawn(8)) for name in "gbmv"}
    return save(
        path, nodes, [1, 8, 16, 16], deep=drawn(8, 1, 3, 3), point=drawn(16, 8, 1, 1), **norm
    )


def lookup(path: Path) -> Path:
    nodes = [
        helper.make_node("Cast", ["x"], ["ids"], name="cast", to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="gather"),
        helper.make_node("ReduceMax", ["rows"], ["best"], name="best", axes=[1], keepdims=0),
        helper.make_node("Gemm", ["best", "w"], ["scores"], name="scores"),
        helper.make_node("Softmax", ["scores"], ["y"], name="shares"),
    ]
    return save(path, nodes, [1, 8], table=drawn(50, 16), w=drawn(16, 4))


def family(name: str, *, is_quantized: bool = False) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        made = FAMILIES[name](path.parent)
        return made.quantized() if is_quantized and made.quantized else made.plain

    return write


MODELS: dict[str, Callable[[Path], Path]] = {
    "ResNet": lambda path: ResNet().save(path),
    "convolutional": family("convolutional"),
    "quantized": family("convolutional", is_quantized=True),
    "U-shaped": family("U-shaped"),
    "gated": family("gated"),
    "detector": detector,
    "recurrent": recurrent,
    "attention": attention,
    "branching": branching,
    "separable": separable,
    "lookup": lookup,
    "MobileNet, quantized": family("MobileNet", is_quantized=True),
    "BERT": family("transformer"),
    "digits": family("digits"),
}
#: OpenVINO drops BERT's factors of 1 and terms of 0, and ONNX Runtime normalizes with them.
PAIRED = {"BERT": 0.9}


@pytest.mark.parametrize("name", MODELS)
def test_nodes_have_one_layer_times_add_up_and_operators_pair(name: str, tmp_path: Path) -> None:
    found = figures(MODELS[name](tmp_path / "model.onnx"), stop=StopRule(iterations=20))
    assert not found.missing
    assert not found.doubled
    assert found.paired >= PAIRED.get(name, 0.95), found.unpaired
    view = found.views[0]
    profile, total = view.run.profile, view.layer_sum
    assert profile is not None
    assert total is not None
    assert total.sum_ms == pytest.approx(sum(one.mean_ms or 0.0 for one in profile.layers))
    assert {one.name for one in profile.layers} == {one.name for one in view.run.plan.layers}
    # each layer's time is known to the microsecond, before and after the requests that count
    assert total.sum_ms <= (profile.whole_ms or 0.0) + 0.002 * len(profile.layers)
