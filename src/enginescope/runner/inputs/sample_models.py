"""The bundled sample: a small convolutional net and a small transformer block.

Made when first asked for, from a fixed seed, so that they need no download and every machine
measures the same computation. The weights are random; the outputs mean nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.jsonio import write_atomic
from enginescope.core.optional import require

# onnx writes newer versions by default than onnxruntime reads, so both are fixed
_IR_VERSION = 8
_OPSET = 17


class _Graph:
    def __init__(self, name: str, seed: int, parts: int = 1) -> None:
        self.name, self.parts = name, parts
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._random = np.random.default_rng(seed)

    def weight(self, name: str, *shape: int, scale: float | None = None) -> str:
        """Add a weight of normal values; by default scaled to keep activations near one."""
        return self.constant(name, self.normal(*shape, scale=scale))

    def normal(self, *shape: int, scale: float | None = None) -> Any:
        spread = scale if scale is not None else float(np.prod(shape[1:] or (1,))) ** -0.5
        return (spread * self._random.standard_normal(shape)).astype(np.float32)

    def constant(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def model(self, inputs: dict[str, list[int | str]], outputs: dict[str, list[int | str]]) -> Any:
        from onnx import TensorProto, checker, helper

        def infos(table: dict[str, list[int | str]]) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in table.items()
            ]

        model = helper.make_model(
            helper.make_graph(self.nodes, self.name, infos(inputs), infos(outputs), self.weights),
            producer_name="enginescope",
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET)],
        )
        checker.check_model(model)
        return model


def small_convnet(parts: int = 1) -> Any:
    """Return a convolutional net: image 1×3×96×96 to 100 scores, about 30 million MACs.

    Args:
        parts: Nodes that share the channels of each convolution; the outputs stay the same.
    """
    net = _Graph("small_convnet", seed=1, parts=parts)
    x = "image"
    channels = 3
    for stage, width in enumerate((24, 48, 96)):
        x = _conv(net, x, f"stage{stage}/down", channels, width, stride=2)
        for block in range(2):
            y = _conv(net, x, f"stage{stage}/block{block}/conv1", width, width)
            y = _conv(net, y, f"stage{stage}/block{block}/conv2", width, width, relu=False)
            y = net.add("Add", [x, y], f"stage{stage}/block{block}/add")
            x = net.add("Relu", [y], f"stage{stage}/block{block}/out")
        channels = width
    x = net.add("GlobalAveragePool", [x], "head/pool")
    x = net.add("Flatten", [x], "head/flatten")
    weight, bias = net.weight("head/weight", 100, channels), net.weight("head/bias", 100)
    net.add("Gemm", [x, weight, bias], "scores", transB=1)
    return net.model({"image": ["batch", 3, 96, 96]}, {"scores": ["batch", 100]})


def _conv(
    net: _Graph, x: str, name: str, inputs: int, outputs: int, *, stride: int = 1, relu: bool = True
) -> str:
    weights = np.array_split(net.normal(outputs, inputs, 3, 3), net.parts)
    biases = np.array_split(net.normal(outputs, scale=0.01), net.parts)
    shape = {"strides": [stride, stride], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    ys = []
    for at, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        node = f"{name}/{at}" if net.parts > 1 else name
        operands = [net.constant(f"{node}/weight", weight), net.constant(f"{node}/bias", bias)]
        ys.append(net.add("Conv", [x, *operands], node, **shape))
    y = net.add("Concat", ys, name, axis=1) if net.parts > 1 else ys[0]
    return net.add("Relu", [y], f"{name}/relu") if relu else y


def small_transformer() -> Any:
    """Return one transformer block: 64 tokens of width 128, 4 heads."""
    tokens, width, heads = 64, 128, 4
    net = _Graph("small_transformer", seed=2)
    x = _norm(net, "hidden", "norm1", width)
    q, k, v = (_heads(net, x, name, width, heads) for name in ("query", "key", "value"))
    k = net.add("Transpose", [k], "key/transposed", perm=[0, 1, 3, 2])
    scores = net.add("MatMul", [q, k], "attention/scores")
    scale = net.constant("attention/scale", np.float32((width // heads) ** -0.5))
    scores = net.add("Mul", [scores, scale], "attention/scaled")
    weights = net.add("Softmax", [scores], "attention/weights", axis=-1)
    mixed = net.add("MatMul", [weights, v], "attention/mixed")
    mixed = net.add("Transpose", [mixed], "attention/back", perm=[0, 2, 1, 3])
    shape = net.constant("attention/shape", np.array([0, 0, width], np.int64))
    mixed = net.add("Reshape", [mixed, shape], "attention/joined")
    x = net.add("Add", ["hidden", _linear(net, mixed, "project", width, width)], "residual1")
    y = _linear(net, _norm(net, x, "norm2", width), "mlp/up", width, 4 * width)
    gate = net.add("Sigmoid", [y], "mlp/gate")
    y = net.add("Mul", [y, gate], "mlp/silu")
    net.add("Add", [x, _linear(net, y, "mlp/down", 4 * width, width)], "output")
    sides: list[int | str] = ["batch", tokens, width]
    return net.model({"hidden": sides}, {"output": sides})


def _heads(net: _Graph, x: str, name: str, width: int, heads: int) -> str:
    y = _linear(net, x, name, width, width)
    shape = net.constant(f"{name}/shape", np.array([0, 0, heads, width // heads], np.int64))
    y = net.add("Reshape", [y, shape], f"{name}/split")
    return net.add("Transpose", [y], f"{name}/heads", perm=[0, 2, 1, 3])


def _linear(net: _Graph, x: str, name: str, inputs: int, outputs: int) -> str:
    weight = net.weight(f"{name}/weight", inputs, outputs, scale=inputs**-0.5)
    y = net.add("MatMul", [x, weight], f"{name}/matmul")
    return net.add("Add", [y, net.weight(f"{name}/bias", outputs, scale=0.01)], name)


def _norm(net: _Graph, x: str, name: str, width: int) -> str:
    scale = net.constant(f"{name}/scale", np.ones(width, np.float32))
    bias = net.constant(f"{name}/bias", np.zeros(width, np.float32))
    return net.add("LayerNormalization", [x, scale, bias], name, axis=-1)


def empty_model() -> Any:
    """Return a model that passes one value on: what is left is the runtime's own."""
    net = _Graph("empty", seed=3)
    net.add("Identity", ["input"], "output")
    return net.model({"input": [1]}, {"output": [1]})


SAMPLES = {"small_convnet.onnx": small_convnet, "small_transformer.onnx": small_transformer}
EMPTY_MODEL = {"empty.onnx": empty_model}
#: Computes what the net of one part does, and takes longer.
SLOWER_SAMPLE = {"small_convnet_split.onnx": partial(small_convnet, parts=4)}


def sample_models(
    folder: Path, models: Mapping[str, Callable[[], Any]] = SAMPLES
) -> tuple[Path, ...]:
    """Return the sample models' files, writing those that `folder` does not have yet."""
    require("onnx", purpose="making the sample models", install="onnx")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, build in models.items():
        path = folder / name
        if not path.exists():
            write_atomic(path, build().SerializeToString(deterministic=True))
        paths.append(path)
    return tuple(paths)
