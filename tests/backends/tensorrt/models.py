"""Small ONNX models for the backend, beside those of the stand-in's own tests."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.fakes.models import save, value

INT64, BF16 = TensorProto.INT64, TensorProto.BFLOAT16


def two_inputs(path: Path) -> Path:
    nodes = [helper.make_node("Add", ["a", "b"], ["y"], name="sum")]
    return save(path, nodes, [value("a", ["n", 4]), value("b", ["n", 4])], [value("y", ["n", 4])])


def integers(path: Path) -> Path:
    nodes = [helper.make_node("Add", ["x", "x"], ["y"], name="twice")]
    return save(path, nodes, [value("x", [2, 3], INT64)], [value("y", [2, 3], INT64)])


def bfloat16(path: Path) -> Path:
    node = helper.make_node("Cast", ["x"], ["y"], name="cast", to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "graph", [value("x", [2, 3], BF16)], [value("y", [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, path)
    return path


def quantised(path: Path) -> Path:
    scale, zero = np.float32(0.1), np.int8(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="dequantize"),
    ]
    sides: list[Any] = [value("x", [1, 4])], [value("y", [1, 4])]
    return save(path, nodes, *sides, scale=np.array(scale), zero=np.array(zero))


def convolutions(path: Path) -> Path:
    """A convolution, its activation, pooling and a matrix product."""
    random = np.random.default_rng(0)
    kernel = random.normal(size=(8, 3, 3, 3)).astype(np.float32)
    weights = random.normal(size=(128, 10)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"], name="flat"),
        helper.make_node("MatMul", ["d", "weights"], ["y"], name="product"),
    ]
    sides: list[Any] = [value("x", [1, 3, 8, 8])], [value("y", [1, 10])]
    return save(path, nodes, *sides, kernel=kernel, weights=weights)


def transformer_block(path: Path, width: int = 16) -> Path:
    """Attention and a feed-forward part, of any batch and length."""
    random = np.random.default_rng(0)
    names = ("wq", "wk", "wv", "w1", "w2")
    weights = {name: random.normal(size=(width, width)).astype(np.float32) for name in names}
    scales = {name: np.ones(width, np.float32) for name in ("g1", "g2")}

    def node(kind: str, inputs: str, output: str, **more: Any) -> Any:
        return helper.make_node(kind, inputs.split(), [output], name=output, **more)

    nodes = [
        *(node("MatMul", f"x w{part}", part) for part in "qkv"),
        node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("MatMul", "q kt", "scores"),
        node("Softmax", "scores", "shares", axis=-1),
        node("MatMul", "shares v", "mixed"),
        node("Add", "x mixed", "sum1"),
        node("LayerNormalization", "sum1 g1", "norm1"),
        node("MatMul", "norm1 w1", "hidden"),
        node("Relu", "hidden", "active"),
        node("MatMul", "active w2", "out"),
        node("Add", "norm1 out", "sum2"),
        node("LayerNormalization", "sum2 g2", "y"),
    ]
    dims: list[Any] = ["batch", "length", width]
    return save(path, nodes, [value("x", dims)], [value("y", dims)], **weights, **scales)


def quantised_product(path: Path) -> Path:
    """A matrix product between Q/DQ pairs of INT8."""
    random = np.random.default_rng(0)
    weights = random.integers(-127, 128, (32, 16)).astype(np.int8)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="dequantize"),
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["wd"], name="weights"),
        helper.make_node("MatMul", ["d", "wd"], ["y"], name="product"),
    ]
    constants = {"scale": np.array(0.1, np.float32), "zero": np.array(0, np.int8), "w": weights}
    return save(path, nodes, [value("x", [4, 32])], [value("y", [4, 16])], **constants)


def mismatched(path: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    sides: list[Any] = [value("x", [1, 4])], [value("y", [1, 3])]
    return save(path, nodes, *sides, w=np.zeros((5, 3), np.float32))


def external(path: Path) -> Path:
    weights = np.arange(512, dtype=np.float32).reshape(4, 128)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    save(path, nodes, [value("x", [1, 4])], [value("y", [1, 128])], w=weights)
    apart = {"location": f"{path.stem}.weights", "size_threshold": 0}
    onnx.save(onnx.load(path), path, save_as_external_data=True, **apart)
    return path
