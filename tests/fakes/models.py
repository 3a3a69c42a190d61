"""Small ONNX models, each for one thing that TensorRT treats its own way."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT, INT64, BF16 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BFLOAT16
WEIGHTS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
SCALE = {"scale": np.array(0.1, np.float32), "zero": np.array(0, np.int8)}


def value(name: str, dims: list[int | str], kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, dims)


def node(kind: str, inputs: str, output: str, name: str, **more: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [output], name=name, **more)


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **more: Any) -> Path:
    weights = [onnx.numpy_helper.from_array(one, name) for name, one in more.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("fake.missing", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")
    onnx.save(model, path)
    return path


def perceptron(path: Path) -> Path:
    nodes = [node("MatMul", "x w", "m", "product"), node("Relu", "m", "y", "activation")]
    return save(path, nodes, [value("x", ["n", 4])], [value("y", ["n", 3])], w=WEIGHTS)


def image(path: Path) -> Path:
    """Five channels, fixed, and doubled: for formats in vectors."""
    nodes = [node("Add", "x x", "y", "twice")]
    return save(path, nodes, [value("x", [1, 5, 2, 3])], [value("y", [1, 5, 2, 3])])


def non_zero(path: Path) -> Path:
    nodes = [node("NonZero", "x", "y", "where")]
    return save(path, nodes, [value("x", [6])], [value("y", [1, "k"], INT64)])


def expanded(path: Path) -> Path:
    nodes = [node("Expand", "x shape", "y", "expand")]
    inputs = [value("x", [1, 3]), value("shape", [2], INT64)]
    return save(path, nodes, inputs, [value("y", ["a", "b"])])


def missing_operator(path: Path) -> Path:
    """A node that no importer knows, after one that is known."""
    strange = node("Frobnicate", "m", "y", "strange", domain="fake.missing")
    nodes = [node("Relu", "x", "m", "known"), strange]
    return save(path, nodes, [value("x", [1, 4])], [value("y", [1, 4])])


def two_inputs(path: Path) -> Path:
    nodes = [node("Add", "a b", "y", "sum")]
    return save(path, nodes, [value("a", ["n", 4]), value("b", ["n", 4])], [value("y", ["n", 4])])


def integers(path: Path) -> Path:
    nodes = [node("Add", "x x", "y", "twice")]
    return save(path, nodes, [value("x", [2, 3], INT64)], [value("y", [2, 3], INT64)])


def bfloat16(path: Path) -> Path:
    cast = node("Cast", "x", "y", "cast", to=TensorProto.FLOAT)
    graph = helper.make_graph([cast], "graph", [value("x", [2, 3], BF16)], [value("y", [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, path)
    return path


def quantised(path: Path) -> Path:
    nodes = [
        node("QuantizeLinear", "x scale zero", "q", "quantize"),
        node("DequantizeLinear", "q scale zero", "y", "dequantize"),
    ]
    return save(path, nodes, [value("x", [1, 4])], [value("y", [1, 4])], **SCALE)


def convolutions(path: Path) -> Path:
    """A convolution, its activation, pooling and a matrix product."""
    random = np.random.default_rng(0)
    kernel = random.normal(size=(8, 3, 3, 3)).astype(np.float32)
    weights = random.normal(size=(128, 10)).astype(np.float32)
    nodes = [
        node("Conv", "x kernel", "a", "conv", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b", "relu"),
        node("MaxPool", "b", "c", "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "c", "d", "flat"),
        node("MatMul", "d weights", "y", "product"),
    ]
    sides: list[Any] = [value("x", [1, 3, 8, 8])], [value("y", [1, 10])]
    return save(path, nodes, *sides, kernel=kernel, weights=weights)


def transformer_block(path: Path, width: int = 16) -> Path:
    """Attention and a feed-forward part, of any batch and length."""
    random = np.random.default_rng(0)
    names = ("wq", "wk", "wv", "w1", "w2")
    weights = {name: random.normal(size=(width, width)).astype(np.float32) for name in names}
    scales = {name: np.ones(width, np.float32) for name in ("g1", "g2")}
    rows = [
        *(("MatMul", f"x w{part}", part) for part in "qkv"),
        ("MatMul", "q kt", "scores"),
        ("Softmax", "scores", "shares"),
        ("MatMul", "shares v", "mixed"),
        ("Add", "x mixed", "sum1"),
        ("LayerNormalization", "sum1 g1", "norm1"),
        ("MatMul", "norm1 w1", "hidden"),
        ("Relu", "hidden", "active"),
        ("MatMul", "active w2", "out"),
        ("Add", "norm1 out", "sum2"),
        ("LayerNormalization", "sum2 g2", "y"),
    ]
    nodes = [node(*row, name=row[-1]) for row in rows]
    nodes.insert(3, node("Transpose", "k", "kt", "kt", perm=[0, 2, 1]))
    dims: list[Any] = ["batch", "length", width]
    return save(path, nodes, [value("x", dims)], [value("y", dims)], **weights, **scales)


def quantised_product(path: Path) -> Path:
    """A matrix product between Q/DQ pairs of INT8."""
    weights = np.random.default_rng(0).integers(-127, 128, (32, 16)).astype(np.int8)
    nodes = [
        node("QuantizeLinear", "x scale zero", "q", "quantize"),
        node("DequantizeLinear", "q scale zero", "d", "dequantize"),
        node("DequantizeLinear", "w scale zero", "wd", "weights"),
        node("MatMul", "d wd", "y", "product"),
    ]
    return save(path, nodes, [value("x", [4, 32])], [value("y", [4, 16])], **SCALE, w=weights)


def mismatched(path: Path) -> Path:
    nodes = [node("MatMul", "x w", "y", "product")]
    wrong = np.zeros((5, 3), np.float32)
    return save(path, nodes, [value("x", [1, 4])], [value("y", [1, 3])], w=wrong)


def external(path: Path) -> Path:
    weights = np.arange(512, dtype=np.float32).reshape(4, 128)
    nodes = [node("MatMul", "x w", "y", "product")]
    save(path, nodes, [value("x", [1, 4])], [value("y", [1, 128])], w=weights)
    apart = {"location": f"{path.stem}.weights", "size_threshold": 0}
    onnx.save(onnx.load(path), path, save_as_external_data=True, **apart)
    return path


def dequantised(source: Path, target: Path) -> Path:
    """Write a model of INT8 weights as one of FP32: without quantizers, its weights folded."""
    model = onnx.load(source)
    graph = model.graph
    known = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    renamed: dict[str, str] = {}
    plain = ("Identity", "Cast", "DequantizeLinear")
    kept = []
    for node in graph.node:
        inputs = [renamed.get(name, name) for name in node.input]
        if node.op_type in plain and all(name in known for name in inputs if name):
            known[node.output[0]] = _constant(node, [known[name] for name in inputs if name])
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear", "Identity") or (
            node.op_type == "Cast" and node.input[0] in renamed
        ):
            renamed[node.output[0]] = inputs[0]
        else:
            node.ClearField("input")
            node.input.extend(inputs)
            kept.append(node)
    used = {name for node in kept for name in node.input}
    ends = {one.name for one in graph.output}
    kept += [helper.make_node("Identity", [renamed[end]], [end]) for end in ends & set(renamed)]
    graph.ClearField("node")
    graph.node.extend(kept)
    graph.ClearField("initializer")
    graph.initializer.extend(
        onnx.numpy_helper.from_array(values, name) for name, values in known.items() if name in used
    )
    graph.ClearField("value_info")
    model.opset_import[0].version = max(13, model.opset_import[0].version)  # quantizes by channel
    onnx.checker.check_model(model)
    onnx.save(model, target)
    return target


def _constant(node: Any, values: list[Any]) -> Any:
    if node.op_type == "Identity":
        return values[0]
    if node.op_type == "Cast":
        to = next(one.i for one in node.attribute if one.name == "to")
        return values[0].astype(helper.tensor_dtype_to_np_dtype(to))
    data, scale, *zero = values
    axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
    shape = [-1 if at == axis and scale.ndim else 1 for at in range(data.ndim)]
    offset = zero[0].astype(np.float32).reshape(shape) if zero else np.float32(0)
    return (data.astype(np.float32) - offset) * scale.reshape(shape)
