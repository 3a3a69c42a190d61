"""Real models, each with inputs of its task and what a user reads from its outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.conftest import SHARED
from tests.honest.detector import HEAD, detector, picture, same_detections
from tests.wheels import unpacked

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


def data(name: str) -> Path:
    path = SHARED / "models" / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    return path


def ocr(part: str) -> Path:
    (path,) = unpacked("rapidocr-onnxruntime").rglob(f"*{part}_infer.onnx")
    return path


def output(samples: Samples, name: str | None = None) -> list[Any]:
    return [one[name] if name else next(iter(one.values())) for one in samples]


def agree(share: float, name: str | None = None) -> Callable[[Samples, Samples], bool]:
    """Return whether the best class is the same in so many of all items."""

    def holds(reference: Samples, candidate: Samples) -> bool:
        a, b = output(reference, name), output(candidate, name)
        same = [x.argmax(-1) == y.argmax(-1) for x, y in zip(a, b, strict=True)]
        return float(np.concatenate([one.ravel() for one in same]).mean()) >= share

    return holds


def same_maps(reference: Samples, candidate: Samples) -> bool:
    """Whether text is found in the same places: masks above 0.3 overlap by 0.95."""
    for a, b in zip(output(reference), output(candidate), strict=True):
        p, q = a > 0.3, b > 0.3
        if (p | q).any() and (p & q).sum() < 0.95 * (p | q).sum():
            return False
    return True


def _same_objects(reference: Samples, candidate: Samples) -> bool:
    pairs = zip(output(reference), output(candidate), strict=True)
    return all(same_detections(a, b) for a, b in pairs)


def line(text: str, *, height: int = 48, width: int = 320, size: int = 28, ink: int = 0) -> Any:
    """Return a line of text as height × width × 3 bytes; on black where the ink is light."""
    drawn = Image.new("RGB", (width, height), (255 if ink < 128 else 0,) * 3)
    font = ImageFont.load_default(size)
    box = font.getbbox(text)
    at = ((6 if width > height else (width - box[2]) / 2), (height - box[3] - box[1]) / 2)
    ImageDraw.Draw(drawn).text(at, text, font=font, fill=(ink,) * 3)
    return np.asarray(drawn).astype(np.float32)


def document(texts: Sequence[str], seed: int) -> Any:
    """Return a page of 320×320 with lines of text, or none, as PP-OCR detection takes it."""
    rng = np.random.default_rng(seed)
    shade = np.linspace(225, 250, 320)[:, None, None] + rng.normal(0, 2, (320, 320, 3))
    page = Image.fromarray(np.clip(shade, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(page)
    for number, text in enumerate(texts):
        draw.text((20, 30 + 70 * number), text, font=ImageFont.load_default(26), fill=(20, 20, 30))
    return page_input(np.asarray(page))


def page_input(pixels: Any) -> Any:
    """Return height × width × 3 bytes as PP-OCR detection takes them."""
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return ((pixels / 255 - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)


def _digits() -> list[Feeds]:
    pictures = [line(str(value), height=28, width=28, size=24, ink=255) for value in range(10)]
    return [{"0": digit[None, None, :, :, 0].astype(np.float32)} for digit in pictures]


def _tokens() -> list[Feeds]:
    rng, made = np.random.default_rng(0), []
    for length in (8, 16, 16, 24):
        ids = rng.integers(0, 99, (2, length))
        zeros, ones = np.zeros_like(ids), np.ones_like(ids)
        made.append({"input_ids": ids, "token_type_ids": zeros, "input_mask": ones})
    return made


def _commands() -> list[Feeds]:
    path = data("voice_commands").parent / "test_data_set_0" / "input_0.pb"
    own = onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))
    rng = np.random.default_rng(0)
    moved = [own + 4 * rng.standard_normal(own.shape) for _ in range(7)]
    return [{"input_1": one.astype(np.float32)} for one in (own, *moved)]


def _empty() -> list[Feeds]:
    """Return pictures without text: plain ones, noise, and a page."""
    rng = np.random.default_rng(0)
    plain = [np.full((320, 320, 3), grey) for grey in (255, 128, 0, 200)]
    noise = [rng.integers(0, 255, (320, 320, 3)) for _ in range(2)]
    return [{"x": one} for one in (*[page_input(one) for one in (*plain, *noise)], document((), 0))]


@lru_cache
def _detector(folder: Path) -> Path:
    return detector(folder / "detector.onnx")


MODELS = {
    one.name: one
    for one in (
        RealModel("MNIST CNN", lambda _: data("mnist_cnn"), _digits, agree(1.0)),
        RealModel("toy BERT", lambda _: data("bert_toy"), _tokens,
                  agree(0.95, "prediction_scores")),
        RealModel("voice commands", lambda _: data("voice_commands"), _commands, agree(1.0)),
        RealModel("PP-OCR detection, no text", lambda _: ocr("det"), _empty, same_maps),
        RealModel("YOLO-shaped detector", _detector,
                  lambda: [{"image": picture(seed)} for seed in range(4)], _same_objects, HEAD),
    )
}  # fmt: skip
