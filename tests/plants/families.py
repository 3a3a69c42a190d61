"""Eight families of models, in FP32 and quantized, each with a sample."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw

from enginescope.core.record import Record
from enginescope.runner.inputs.sample_models import sample_models
from tests.conftest import SHARED
from tests.fakes.models import dequantised
from tests.wheels import unpacked


class Family(Record, frozen=True, kw_only=True):
    """A model in FP32, a sample, and what makes the same model quantized where that is possible."""

    plain: Path
    sample: Path
    quantized: Callable[[], Path] | None = None


def _sample(folder: Path, **arrays: Any) -> Path:
    path = folder / "sample.npz"
    np.savez(path, **arrays)
    return path


def _pixels(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 0.5


def _page() -> Any:
    """Return a page with two lines of text, as the detection wants it."""
    page = Image.new("L", (160, 96), 255)
    draw = ImageDraw.Draw(page)
    draw.text((12, 18), "Where the error starts", fill=0)
    draw.text((30, 60), "FP16 ends at 65,504", fill=0)
    return np.repeat(((np.asarray(page, np.float32) / 255 - 0.5) / 0.5)[None, None], 3, axis=1)


def _digit() -> Any:
    """Return a seven, as the classifier of digits wants it."""
    image = Image.new("L", (28, 28), 0)
    ImageDraw.Draw(image).line([(7, 7), (20, 7), (12, 22)], fill=255, width=3)
    return ((np.asarray(image, np.float32) / 255 - 0.1307) / 0.3081)[None, None]


def convolutional(folder: Path) -> Family:
    """The bundled convolutional net."""
    plain = sample_models(folder)[0]
    sample = _sample(folder, image=_pixels(1, 3, 96, 96))
    return Family(plain=plain, quantized=partial(_quantized, plain, sample, folder), sample=sample)


def mobilenet(folder: Path) -> Family:
    """A trained MobileNet-V2 that was quantized for training, and its weights in FP32.

    Of a picture of half the size: four times the pixels make each comparison four times as long.
    """
    published = _shared("mobilenet_v2_scores")
    proto = onnx.TensorProto.FromString(
        (published.parent / "test_data_set_0" / "input_0.pb").read_bytes()
    )
    image = numpy_helper.to_array(proto)[..., ::2, ::2]
    model = onnx.load(published)
    for dim, size in zip(
        model.graph.input[0].type.tensor_type.shape.dim[2:], image.shape[2:], strict=True
    ):
        dim.dim_value = size
    source = folder / "quantized.onnx"
    onnx.save(model, source)
    plain = dequantised(source, folder / "mobilenet.onnx")
    return Family(plain=plain, quantized=lambda: source, sample=_sample(folder, image=image))


def transformer(folder: Path) -> Family:
    """A toy BERT with dynamic shapes."""
    tokens = np.random.default_rng(2).integers(0, 99, (2, 12))
    sample = _sample(
        folder, input_ids=tokens, token_type_ids=tokens % 2,
        input_mask=np.array([[1] * 12, [1] * 7 + [0] * 5]),
    )  # fmt: skip
    return Family(plain=_shared("bert_toy"), sample=sample)


def detection(folder: Path) -> Family:
    """PP-OCR's detection, whose weights are in Constant nodes."""
    models = unpacked("rapidocr-onnxruntime") / "rapidocr_onnxruntime" / "models"
    return Family(plain=models / "ch_PP-OCRv4_det_infer.onnx", sample=_sample(folder, x=_page()))


def speech(folder: Path) -> Family:
    """Silero VAD: recurrent, all of it in the branches of an If."""
    plain = unpacked("silero-vad") / "silero_vad" / "data" / "silero_vad.onnx"
    sound = np.sin(np.arange(512) / 9) * 0.3 + 0.02 * _pixels(512)
    sample = _sample(
        folder, input=sound[None].astype(np.float32), sr=np.array(16_000),
        state=np.zeros((2, 1, 128), np.float32),
    )  # fmt: skip
    return Family(plain=plain, sample=sample)


def u_shaped(folder: Path) -> Family:
    """A small U-shaped net: down, up, and skip connections."""
    plain = _write_u_shaped(folder / "u_shaped.onnx")
    sample = _sample(folder, x=_pixels(1, 3, 48, 48))
    return Family(plain=plain, quantized=partial(_quantized, plain, sample, folder), sample=sample)


def digits(folder: Path) -> Family:
    """A trained classifier of digits; its nodes have no names."""
    return Family(plain=_shared("mnist_cnn"), sample=_sample(folder, **{"0": _digit()}))


def gated(folder: Path) -> Family:
    """Blocks whose sigmoid opens what their tanh computes, and a softmax at the end."""
    draw = np.random.default_rng(6)
    nodes: list[Any] = []
    weights: dict[str, Any] = {}

    def add(operator: str, inputs: list[str], output: str, **more: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], name=f"{output}_node", **more))
        return output

    source = "x"
    for block in range(4):
        parts = {}
        for part, operator in (("gate", "Sigmoid"), ("value", "Tanh")):
            name = f"block{block}/{part}"
            weights[f"{name}/w"] = draw.standard_normal((24, 24)) / 3
            parts[operator] = add("MatMul", [source, f"{name}/w"], name)
        opened = add("Sigmoid", [parts["Sigmoid"]], f"block{block}/open")
        bent = add("Tanh", [parts["Tanh"]], f"block{block}/bend")
        mixed = add("Mul", [opened, bent], f"block{block}/mix")
        source = add("Add", [source, mixed], f"block{block}/add")
    add("Softmax", [source], "weights", axis=-1)
    add("ReduceMean", ["weights"], "mean", axes=[0], keepdims=1)
    add("Div", ["weights", "mean"], "y")
    plain = _saved(folder / "gated.onnx", nodes, weights, [16, 24], [16, 24])
    return Family(plain=plain, sample=_sample(folder, x=_pixels(16, 24) * 3))


FAMILIES: dict[str, Callable[[Path], Family]] = {
    "convolutional": convolutional,
    "MobileNet": mobilenet,
    "transformer": transformer,
    "OCR detection": detection,
    "speech with If": speech,
    "U-shaped": u_shaped,
    "digits": digits,
    "gated": gated,
}


def _shared(name: str) -> Path:
    path = SHARED / "models" / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"the shared model {name} is not there")
    return path


def _saved(path: Path, nodes: list, weights: dict[str, Any], reads: list, writes: list) -> Path:
    """Write a model from x to y; weights in FP32."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        for name, dims in (("x", reads), ("y", writes))
    )
    tensors = [
        numpy_helper.from_array(np.asarray(values, np.float32), name)
        for name, values in weights.items()
    ]
    graph = helper.make_graph(nodes, path.stem, [x], [y], tensors)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def _write_u_shaped(path: Path) -> Path:
    draw = np.random.default_rng(4)
    nodes: list[Any] = []
    weights: dict[str, Any] = {"sizes": [1, 1, 2, 2]}

    def add(operator: str, inputs: list[str], name: str, **more: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [name], name=name, **more))
        return name

    def conv(name: str, source: str, inputs: int, outputs: int) -> str:
        values = draw.standard_normal((outputs, inputs, 3, 3)) * (2 / (inputs * 9)) ** 0.5
        weights[f"{name}/w"] = values * draw.uniform(0.3, 3.0, (outputs, 1, 1, 1))
        weights[f"{name}/b"] = np.zeros(outputs)
        add("Conv", [source, f"{name}/w", f"{name}/b"], name, pads=[1, 1, 1, 1])
        return add("Relu", [name], f"{name}/relu")

    skips, source, channels = [], "x", 3
    for level, wide in enumerate((8, 16, 24)):
        source = conv(f"down{level}", source, channels, wide)
        skips.append((source, wide))
        source, channels = add("MaxPool", [source], f"pool{level}", kernel_shape=[2, 2],
                               strides=[2, 2]), wide  # fmt: skip
    source = conv("middle", source, channels, 32)
    channels = 32
    for level, (skip, wide) in reversed(list(enumerate(skips))):
        source = add("Resize", [source, "", "sizes"], f"up{level}/resize", mode="nearest")
        source = add("Concat", [source, skip], f"up{level}/concat", axis=1)
        source = conv(f"up{level}", source, channels + wide, wide)
        channels = wide
    weights["head/w"] = _pixels(2, channels, 1, 1)
    nodes.append(helper.make_node("Conv", [source, "head/w"], ["y"], name="head"))
    return _saved(path, nodes, weights, ["n", 3, 48, 48], ["n", 2, 48, 48])


def _quantized(plain: Path, sample: Path, folder: Path) -> Path:
    """Quantize a model as ONNX Runtime's tool does: Q/DQ pairs, weights by channel."""
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._left = [dict(np.load(sample))]

        def get_next(self) -> Any:
            return self._left.pop() if self._left else None

    target = folder / f"{plain.stem}.qdq.onnx"
    quantization.quantize_static(
        str(plain), str(target), Reader(), quant_format=quantization.QuantFormat.QDQ,
        per_channel=True, activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip
    return target
