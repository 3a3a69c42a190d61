"""Models of the trial: random ones, written here, and trained ones, prepared by `trained.py`.

A model is a folder with ``model.onnx``, of fixed shapes, and ``samples.npz``, whose arrays are
called ``NUMBER/INPUT``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 8
_OPSET = 13
Feeds = Mapping[str, Any]


@dataclass(frozen=True)
class TrialModel:
    """A model of the trial.

    Attributes:
        family: ``CNN``, ``transformer``, ``detector`` or ``recurrent``.
        scores: Output with the classes; None: the first.
        axis: Axis of the classes there.
        first: The first class: those before are boxes.
        write: Writes a random model; None: a trained one, which `trained.py` prepared.
    """

    name: str
    family: str
    scores: str | None = None
    axis: int = -1
    first: int = 0
    write: Callable[[Path], None] | None = None


def write_model(
    folder: Path,
    nodes: Sequence[Any],
    weights: Mapping[str, Any],
    inputs: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
) -> None:
    """Write a model and random samples of standard normal values."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        folder.name,
        [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, TensorProto.FLOAT, None) for name in outputs],
        [
            numpy_helper.from_array(one if one.dtype == np.int64 else one.astype(np.float32), name)
            for name, one in weights.items()
        ],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), folder / "model.onnx")
    write_samples(folder, [_normal(inputs, seed) for seed in range(SAMPLES)])


def write_samples(folder: Path, samples: Sequence[Feeds]) -> None:
    """Write the inputs of each sample."""
    arrays = {
        f"{at}/{name}": one for at, feeds in enumerate(samples) for name, one in feeds.items()
    }
    np.savez_compressed(folder / "samples.npz", **arrays)


def read_samples(folder: Path) -> list[dict[str, Any]]:
    """Return the inputs of each sample."""
    samples: dict[int, dict[str, Any]] = {}
    with np.load(folder / "samples.npz") as held:
        for key in held.files:
            number, name = key.split("/", 1)
            samples.setdefault(int(number), {})[name] = held[key]
    return [samples[at] for at in sorted(samples)]


def _normal(inputs: Mapping[str, Sequence[int]], seed: int) -> Feeds:
    """Return normal values; a picture is smooth, with noise."""
    rng, made = np.random.default_rng(seed), {}
    for name, shape in inputs.items():
        values = rng.standard_normal(shape)
        if len(shape) == 4:
            coarse = rng.standard_normal((*shape[:2], 4, 4))
            size = -(-max(shape[2:]) // 4)
            smooth = coarse.repeat(size, 2).repeat(size, 3)[:, :, : shape[2], : shape[3]]
            values = smooth + 0.3 * values
        made[name] = values.astype(np.float32)
    return made


def _classifier(light: str, last: str, narrow: int = 1) -> Callable[[Path], None]:
    """Return a writer of one of ONNX's own architectures, which have no weights, with random ones.

    Args:
        last: Operator that gives the output: ``Gemm`` leaves the softmax out.
        narrow: What its numbers of channels are divided by, all multiples of 64.
    """

    def write(folder: Path) -> None:
        data = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
        model = onnx.load(data / f"light_{light}.onnx")
        graph, rng = model.graph, np.random.default_rng(7)
        held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        sizes = dict(held)
        if narrow > 1:
            held = {name: _narrowed(one, narrow) for name, one in held.items()}
        shapes = {
            node.output[0]: tuple(
                int(one) // (1 if one % 64 else narrow) for one in sizes[node.input[0]]
            )
            for node in graph.node
            if node.op_type == "ConstantOfShape"
        }
        nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
        while nodes[-1].op_type != last:
            nodes.pop()
        added = {name for node in nodes if node.op_type == "Sum" for name in node.input}
        norms = [node for node in nodes if node.op_type == "BatchNormalization"]
        ones = {name for node in norms for name in (node.input[1], node.input[4])}
        small = {node.input[1] for node in norms if node.output[0] in added}
        for name, shape in shapes.items():
            if len(shape) > 1:
                fan = int(np.prod(shape[1:]))
                values = rng.standard_normal(shape) * np.sqrt((2 if len(shape) == 4 else 1) / fan)
            elif name in ones:  # branches that are added stay small, as in a trained net
                values = rng.uniform(0.8, 1.25, shape) * (0.3 if name in small else 1)
            else:
                values = 0.1 * rng.standard_normal(shape)
            held[name] = values.astype(np.float32)
        used = {name for node in nodes for name in node.input}
        image = next(one for one in graph.input if one.name in used and one.name not in held)
        shape = [one.dim_value for one in image.type.tensor_type.shape.dim]
        weights = [numpy_helper.from_array(held[name], name) for name in sorted(used & held.keys())]
        output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
        inner = helper.make_graph(nodes, folder.name, [image], [output], weights)
        made = helper.make_model(inner, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)
        samples = [_normal({image.name: shape}, seed) for seed in range(SAMPLES)]
        made = onnx.version_converter.convert_version(made, _OPSET)
        onnx.save(_with_scores(made, samples), folder / "model.onnx")
        write_samples(folder, samples)

    return write


def _narrowed(held: Any, narrow: int) -> Any:
    """Return the part of the statistics that is left, or a shape that fits what is left."""
    return np.array([1, -1]) if held.dtype == np.int64 else held[: len(held) // narrow]


def _with_scores(model: Any, samples: Sequence[Feeds]) -> Any:
    """Scale the last matrix so that the scores have a deviation of 2."""
    gemm = next(node for node in model.graph.node if node.op_type == "Gemm")
    output = model.graph.output[0].name
    model.graph.output[0].name = gemm.output[0]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    factor = 2 / float(np.std([session.run(None, dict(one))[0] for one in samples]))
    model.graph.output[0].name = output
    for held in model.graph.initializer:
        if held.name in gemm.input[1:]:
            values = numpy_helper.to_array(held) * np.float32(factor)
            held.CopyFrom(numpy_helper.from_array(values, held.name))
    return model


class _Layers:
    """Collects nodes and random weights."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Add a node with one output and return its name."""
        if operator == "Conv":  # TensorRT 8.6 needs it where the weights have Q/DQ nodes
            attributes["kernel_shape"] = self.weights[inputs[1]].shape[2:]
        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def weight(self, name: str, *shape: int, fan: int | None = None) -> str:
        """Add a weight, scaled so that its layer keeps the size of its values."""
        scale = 1 / np.sqrt(fan or shape[0])
        self.weights[name] = scale * self.rng.standard_normal(shape)
        return name

    def constant(self, name: str, value: Any) -> str:
        """Add a constant."""
        self.weights[name] = np.asarray(value)
        return name

    def linear(self, source: str, output: str, into: int, out: int) -> str:
        """Add a matrix product and a bias."""
        weight, bias = self.weight(f"{output}.w", into, out), f"{output}.b"
        self.weights[bias] = 0.1 * self.rng.standard_normal(out)
        product = self.add("MatMul", [source, weight], f"{output}.product")
        return self.add("Add", [product, bias], output)

    def norm(self, source: str, output: str, width: int) -> str:
        """Add a layer normalization, as exporters to opset 13 write it."""
        mean = self.add("ReduceMean", [source], f"{output}.mean", axes=[-1])
        centered = self.add("Sub", [source, mean], f"{output}.centered")
        square = self.add("Mul", [centered, centered], f"{output}.square")
        variance = self.add("ReduceMean", [square], f"{output}.variance", axes=[-1])
        epsilon = self.constant(f"{output}.epsilon", np.float32(1e-5))
        sum_ = self.add("Add", [variance, epsilon], f"{output}.sum")
        root = self.add("Sqrt", [sum_], f"{output}.root")
        scaled = self.add("Div", [centered, root], f"{output}.scaled")
        self.weights[f"{output}.gain"] = self.rng.uniform(0.8, 1.2, width)
        return self.add("Mul", [scaled, f"{output}.gain"], output)


def _attention(layers: _Layers, source: str, name: str, width: int, heads: int) -> str:
    tokens, part = 64, width // heads
    split = layers.constant(f"{name}.split", np.array([1, tokens, heads, part]))
    joined = layers.constant(f"{name}.joined", np.array([1, tokens, width]))
    each = {}
    for one in ("q", "k", "v"):
        flat = layers.linear(source, f"{name}.{one}", width, width)
        shaped = layers.add("Reshape", [flat, split], f"{name}.{one}.heads")
        order = [0, 2, 3, 1] if one == "k" else [0, 2, 1, 3]
        each[one] = layers.add("Transpose", [shaped], f"{name}.{one}.turned", perm=order)
    raw = layers.add("MatMul", [each["q"], each["k"]], f"{name}.raw")
    root = layers.constant(f"{name}.root", np.float32(1 / np.sqrt(part)))
    scores = layers.add("Mul", [raw, root], f"{name}.scores")
    shares = layers.add("Softmax", [scores], f"{name}.shares", axis=-1)
    mixed = layers.add("MatMul", [shares, each["v"]], f"{name}.mixed")
    turned = layers.add("Transpose", [mixed], f"{name}.mixed.turned", perm=[0, 2, 1, 3])
    flat = layers.add("Reshape", [turned, joined], f"{name}.flat")
    return layers.linear(flat, f"{name}.out", width, width)


def _vision_transformer(folder: Path) -> None:
    """Write four layers of attention over 64 patches, 192 wide, and 1,000 classes."""
    layers, width = _Layers(3), 192
    layers.weight("patch.w", width, 3, 16, 16, fan=3 * 256)
    maps = layers.add("Conv", ["image", "patch.w"], "patches", strides=[16, 16])
    rows = layers.constant("rows", np.array([1, width, 64]))
    flat = layers.add("Reshape", [maps, rows], "flat")
    at = layers.add("Transpose", [flat], "tokens", perm=[0, 2, 1])
    for number in range(4):
        name = f"layer{number}"
        normed = layers.norm(at, f"{name}.norm1", width)
        attended = _attention(layers, normed, name, width, heads=3)
        at = layers.add("Add", [at, attended], f"{name}.attended")
        wide = layers.linear(layers.norm(at, f"{name}.norm2", width), f"{name}.up", width, 768)
        half = layers.add("Sigmoid", [wide], f"{name}.gate")
        gated = layers.add("Mul", [wide, half], f"{name}.gated")
        at = layers.add("Add", [at, layers.linear(gated, f"{name}.down", 768, width)], name)
    pooled = layers.add("ReduceMean", [layers.norm(at, "norm", width)], "pooled", axes=[1],
                        keepdims=0)  # fmt: skip
    layers.linear(pooled, "scores", width, 1000)
    write_model(folder, layers.nodes, layers.weights, {"image": (1, 3, 128, 128)}, ["scores"])


def _recurrent(operator: str, gates: int) -> Callable[[Path], None]:
    """Return a writer of two recurrent layers of 128 units over 40 steps, and 30 classes."""

    def write(folder: Path) -> None:
        layers, units, into = _Layers(gates), 128, 40
        source = "sound"
        for number in range(2):
            name = f"recurrent{number}"
            layers.weight(f"{name}.w", 1, gates * units, into, fan=into)
            layers.weight(f"{name}.r", 1, gates * units, units, fan=units)
            layers.weights[f"{name}.b"] = 0.1 * layers.rng.standard_normal((1, 2 * gates * units))
            more = {"linear_before_reset": 1} if operator == "GRU" else {}
            inputs = [source, f"{name}.w", f"{name}.r", f"{name}.b"]
            every = layers.add(operator, inputs, f"{name}.every", hidden_size=units, **more)
            axis = layers.constant(f"{name}.axis", np.array([1]))
            source = layers.add("Squeeze", [every, axis], name)
            into = units
        layers.linear(source, "scores", units, 30)
        write_model(folder, layers.nodes, layers.weights, {"sound": (40, 1, 40)}, ["scores"])

    return write


def _detector(folder: Path) -> None:
    """Write three levels of features with boxes and 20 class scores, as YOLOv8 has them."""
    layers = _Layers(5)
    at, into, levels = "image", 3, []
    for number, out in enumerate((16, 32, 64, 96, 128)):
        for step, stride in ((0, 2), (1, 1)):
            name = f"conv{number}.{step}"
            weight = layers.weight(f"{name}.w", out, into, 3, 3, fan=into * 9 // 3)
            conv = layers.add("Conv", [at, weight], name, strides=[stride] * 2, pads=[1] * 4)
            gate = layers.add("Sigmoid", [conv], f"{name}.gate")
            at, into = layers.add("Mul", [conv, gate], f"{name}.act"), out
        levels.append((at, out))
    rows = layers.constant("rows", np.array([1, 24, -1]))
    heads = []
    for number, (source, width) in enumerate(levels[2:]):
        boxes = layers.weight(f"boxes{number}.w", 4, width, 1, 1, fan=width)
        classes = layers.weight(f"classes{number}.w", 20, width, 1, 1, fan=width)
        both = [
            layers.add("Conv", [source, boxes], f"boxes{number}"),
            layers.add("Sigmoid", [layers.add("Conv", [source, classes], f"logits{number}")],
                       f"classes{number}"),
        ]  # fmt: skip
        joined = layers.add("Concat", both, f"head{number}", axis=1)
        heads.append(layers.add("Reshape", [joined, rows], f"flat{number}"))
    layers.add("Concat", heads, "detections", axis=2)
    write_model(folder, layers.nodes, layers.weights, {"image": (1, 3, 256, 256)}, ["detections"])


MODELS = {
    one.name: one
    for one in (
        TrialModel("ResNet-50 ÷ 4", "CNN", write=_classifier("resnet50", "Gemm", narrow=4)),
        TrialModel("ShuffleNet", "CNN", write=_classifier("shufflenet", "Softmax")),
        TrialModel("ViT", "transformer", write=_vision_transformer),
        TrialModel("YOLO-shaped", "detector", axis=1, first=4, write=_detector),
        TrialModel("LSTM", "recurrent", write=_recurrent("LSTM", 4)),
        TrialModel("GRU", "recurrent", write=_recurrent("GRU", 3)),
        TrialModel("PP-OCR-orientation", "CNN"),
        TrialModel("MTCNN-proposal", "detector", scores="softmax"),
        TrialModel("PP-OCR-recognition", "transformer"),
        TrialModel("MobileNet-V2", "CNN"),
        TrialModel("MTCNN-output", "detector", scores="softmax_2"),
        TrialModel("Silero-VAD", "recurrent", scores="hn"),
    )
}
