"""Eleven real models, each with inputs of its task and what a user reads from its outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.conftest import SHARED
from tests.honest.detector import HEAD, detector, picture, same_detections
from tests.honest.inputs import document, file_bytes, line, page_input, photographs, speech
from tests.wheels import unpacked

TEXTS = (
    "Invoice 2024-118", "Total 1,280.50", "Hello World", "The quick brown fox", "jumps over",
    "lazy dog 42", "www.example.org", "OPEN 9 TO 5", "Exit", "Gate B17", "Platform 3", "No smoking",
)  # fmt: skip

Feeds = dict[str, Any]
Outputs = dict[str, Any]
Samples = Sequence[Outputs]


@dataclass(frozen=True)
class RealModel:
    """A model, its samples, and its task.

    Attributes:
        path: Folder for models that are written -> the model; skips where it is missing.
        feeds: Inputs of the samples.
        holds: Whether a candidate's outputs serve the task as the reference's do.
        keep: Operators that a careful INT8 conversion leaves in FP32.
    """

    name: str
    path: Callable[[Path], Path]
    feeds: Callable[[], list[Feeds]]
    holds: Callable[[Samples, Samples], bool]
    keep: tuple[str, ...] = ()


def _data(name: str) -> Path:
    path = SHARED / "models" / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    return path


def _ocr(part: str) -> Path:
    (path,) = unpacked("rapidocr-onnxruntime").rglob(f"*{part}_infer.onnx")
    return path


def _silero(name: str) -> Path:
    (path,) = unpacked("silero-vad").rglob(name)
    return path


def _mobilenet(folder: Path) -> Path:
    return without_quantization(_data("mobilenet_v2_scores"), folder)


def _magika() -> Path:
    (path,) = unpacked("magika").rglob("model.onnx")
    return path


def _output(samples: Samples, name: str | None = None) -> list[Any]:
    return [one[name] if name else next(iter(one.values())) for one in samples]


def _agree(share: float, name: str | None = None) -> Callable[[Samples, Samples], bool]:
    """Return whether the best class is the same in so many of all items."""

    def holds(reference: Samples, candidate: Samples) -> bool:
        a, b = _output(reference, name), _output(candidate, name)
        same = [x.argmax(-1) == y.argmax(-1) for x, y in zip(a, b, strict=True)]
        return float(np.concatenate([one.ravel() for one in same]).mean()) >= share

    return holds


def read_text(scores: Any) -> tuple[int, ...]:
    """Return the characters of a line by greedy CTC decoding; 0 is the blank."""
    best = scores[0].argmax(-1)
    return tuple(int(one) for at, one in enumerate(best) if one and (not at or best[at - 1] != one))


def _same_texts(reference: Samples, candidate: Samples) -> bool:
    pairs = zip(_output(reference), _output(candidate), strict=True)
    return all(read_text(a) == read_text(b) for a, b in pairs)


def _same_maps(reference: Samples, candidate: Samples) -> bool:
    """Whether text is found in the same places: masks above 0.3 overlap by 0.95."""
    for a, b in zip(_output(reference), _output(candidate), strict=True):
        p, q = a > 0.3, b > 0.3
        if (p | q).any() and (p & q).sum() < 0.95 * (p | q).sum():
            return False
    return True


def _same_speech(reference: Samples, candidate: Samples) -> bool:
    """Whether speech is found in the same frames, with probabilities within 0.1."""
    pairs = zip(_output(reference), _output(candidate), strict=True)
    return all(((a > 0.5) == (b > 0.5)).all() and np.abs(a - b).max() < 0.1 for a, b in pairs)


def _same_objects(reference: Samples, candidate: Samples) -> bool:
    pairs = zip(_output(reference), _output(candidate), strict=True)
    return all(same_detections(a, b) for a, b in pairs)


def _digits() -> list[Feeds]:
    return [{"0": digit[None, None].astype(np.float32)} for digit in _digit_pictures()]


def _digit_pictures() -> list[Any]:
    return [line(str(value), height=28, width=28, size=24, ink=255)[:, :, 0] for value in range(10)]


def _tokens() -> list[Feeds]:
    rng, made = np.random.default_rng(0), []
    for length in (8, 16, 16, 24):
        ids = rng.integers(0, 99, (2, length))
        made.append(
            {
                "input_ids": ids,
                "token_type_ids": np.zeros_like(ids),
                "input_mask": np.ones_like(ids),
            }
        )
    return made


def _commands() -> list[Feeds]:
    path = _data("voice_commands").parent / "test_data_set_0" / "input_0.pb"
    own = onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))
    rng = np.random.default_rng(0)
    moved = [own + 4 * rng.standard_normal(own.shape) for _ in range(7)]
    return [{"input_1": one.astype(np.float32)} for one in (own, *moved)]


def _signed(pixels: Any) -> Any:
    """Return height × width × 3 bytes as PP-OCR takes them: 1×3×height×width in −1…1."""
    return (pixels / 127.5 - 1).transpose(2, 0, 1)[None].astype(np.float32)


def _lines() -> list[Feeds]:
    return [{"x": _signed(line(text))} for text in TEXTS]


def _turned() -> list[Feeds]:
    pictures = [line(text, height=48, width=192, size=30) for text in TEXTS[:4]]
    both = [*pictures, *(one[::-1, ::-1] for one in pictures)]
    return [{"x": _signed(one)} for one in both]


def _documents() -> list[Feeds]:
    return [{"x": document(TEXTS[at : at + 4], at)} for at in (0, 4, 8)]


def _empty() -> list[Feeds]:
    """Return pictures without text: plain ones, noise, and a page."""
    rng = np.random.default_rng(0)
    plain = [np.full((320, 320, 3), grey) for grey in (255, 128, 0, 200)]
    noise = [rng.integers(0, 255, (320, 320, 3)) for _ in range(2)]
    return [{"x": one} for one in (*[page_input(one) for one in (*plain, *noise)], document((), 0))]


def _frames() -> list[Feeds]:
    rng = np.zeros((1, 1, 128), np.float32)
    return [{"input": speech(seed), "h": rng, "c": rng} for seed in range(4)]


def _chunks() -> list[Feeds]:
    state = np.zeros((2, 1, 128), np.float32)
    rate = np.array(16000, np.int64)
    return [{"input": one[None], "state": state, "sr": rate} for one in speech(0)[10:40:4]]


def without_quantization(source: Path, folder: Path) -> Path:
    """Write a model that was quantized for its own range in FP32: without its Q/DQ pairs."""
    from onnx import helper, numpy_helper

    target = folder / f"{source.parent.name}.fp32.onnx"
    if target.exists():
        return target
    model = onnx.load(source)
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    alias: dict[str, str] = {}
    nodes, weights = [], []
    for node in model.graph.node:
        first = alias.get(node.input[0], node.input[0]) if node.input else ""
        constant = all(name in held for name in node.input)
        if constant and node.op_type in ("Identity", "Cast", "DequantizeLinear"):
            held[node.output[0]] = _constant(node, [held[name] for name in node.input])
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear") or (
            node.input[0] in alias and node.op_type in ("Cast", "Identity")
        ):
            alias[node.output[0]] = first
        else:
            node.input[:] = [alias.get(name, name) for name in node.input]
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    weights = [numpy_helper.from_array(held[name], name) for name in sorted(used & set(held))]
    for out in model.graph.output:
        if out.name in alias:
            nodes.append(helper.make_node("Identity", [alias[out.name]], [out.name]))
    del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(weights)
    onnx.save(model, target)
    return target


def _constant(node: Any, values: list[Any]) -> Any:
    """Return what a node of constants gives, below opset 13: with one scale."""
    if node.op_type == "Identity":
        return values[0]
    if node.op_type == "Cast":
        return values[0].astype(onnx.helper.tensor_dtype_to_np_dtype(node.attribute[0].i))
    zero = values[2].astype(np.float32) if len(values) > 2 else 0
    return (values[0].astype(np.float32) - zero) * values[1]


@lru_cache
def _detector(folder: Path) -> Path:
    return detector(folder / "detector.onnx")


MODELS = {
    one.name: one
    for one in (
        RealModel("MobileNet-V2", _mobilenet, photographs, _agree(0.7)),
        RealModel("MNIST CNN", lambda _: _data("mnist_cnn"), _digits, _agree(1.0)),
        RealModel("toy BERT", lambda _: _data("bert_toy"), _tokens,
                  _agree(0.95, "prediction_scores")),
        RealModel("voice commands", lambda _: _data("voice_commands"), _commands, _agree(1.0)),
        RealModel("PP-OCR detection", lambda _: _ocr("det"), _documents, _same_maps),
        RealModel("PP-OCR detection, no text", lambda _: _ocr("det"), _empty, _same_maps),
        RealModel("PP-OCR recognition", lambda _: _ocr("rec"), _lines, _same_texts),
        RealModel("PP-OCR orientation", lambda _: _ocr("cls"), _turned, _agree(1.0)),
        RealModel("Silero VAD, sequence", lambda _: _silero("silero_vad_16k_sequence.onnx"),
                  _frames, _same_speech),
        RealModel("Silero VAD, chunks", lambda _: _silero("silero_vad.onnx"), _chunks,
                  _same_speech),
        RealModel("magika", lambda _: _magika(), lambda: [{"bytes": one} for one in file_bytes()],
                  _agree(1.0)),
        RealModel("YOLO-shaped detector", _detector,
                  lambda: [{"image": picture(seed)} for seed in range(4)], _same_objects, HEAD),
    )
}  # fmt: skip
