"""Outputs of 18 kinds, with values as models of that kind give them, and honest noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.analysis.planted import views
from tests.analysis.planted.views import Arrays, View

#: RMSE of honest noise before the last activation, in parts of each channel's own spread.
NOISE = {"fp32": 2e-6, "fp16": 3e-3, "bf16": 2e-2, "int8": 6e-2}
#: Samples of an output.
SAMPLES = 4
CLASSES, VOCABULARY, CHARACTERS = 200, 300, 60


@dataclass(frozen=True)
class Kind:
    """One kind of output.

    Attributes:
        draw: Values before the last activation, one array per sample.
        view: What a user sees.
        finish: The last activation.
        scale: Scale of the noise, in the shape of a sample or one that broadcasts to it; None: the
            standard deviation of each channel over the samples.
        axis: Axis of the channels in the output.
        rows: Axis of the rows: items, positions, boxes.
        target: Output samples -> a channel that the user depends on.
        is_exact: Whether honest runs are equal, as those of indices and texts are.
    """

    name: str
    draw: Callable[[Any], Arrays]
    view: Callable[[Arrays, Arrays], View]
    finish: Callable[[Any], Any] = lambda values: values
    scale: Callable[[Any], Any] | None = None
    axis: int | None = -1
    rows: int = 0
    target: Callable[[Arrays], int] = lambda _: 0
    is_exact: bool = False

    def noisy(self, latent: Arrays, row: str, rng: Any, gain: float = 1.0) -> Arrays:
        """Return what an honest run in this precision gives, with its noise times `gain`."""
        if self.is_exact:
            return [one.copy() for one in latent]
        made = []
        common = None if self.scale else _channel_scale(latent, self.axis)
        for one in latent:
            scale = self.scale(one) if self.scale else common
            values = one + gain * NOISE[row] * scale * rng.standard_normal(one.shape)
            made.append(rounded(self.finish(values), row))
        return made

    def reference(self, latent: Arrays) -> Arrays:
        if self.is_exact:
            return latent
        return [self.finish(one).astype(np.float32) for one in latent]


def rounded(values: Any, row: str) -> Any:
    """Return values in the type in which the row's last layer gives them, as FP32."""
    if row == "fp16":
        with np.errstate(over="ignore"):
            near = np.asarray(values).astype(np.float16)
        return np.where(np.isinf(near), values, near).astype(np.float32)
    single = np.asarray(values, dtype=np.float32)
    if row == "bf16":
        bits = single.view(np.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return bits.astype(np.uint32).view(np.float32)
    return single


def _channel_scale(latent: Arrays, axis: int | None) -> Any:
    if axis is None or not latent[0].ndim:
        return np.concatenate([one.ravel() for one in latent]).std()
    every = np.concatenate([np.moveaxis(it, axis, -1).reshape(-1, it.shape[axis]) for it in latent])
    shape = [1] * latent[0].ndim
    shape[axis] = -1
    return every.std(0).reshape(shape)


def softmax(values: Any) -> Any:
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


def unit(values: Any) -> Any:
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def _best_of_first(outputs: Arrays) -> int:
    return int(outputs[0].reshape(-1, outputs[0].shape[-1])[0].argmax())


def _classified(rng: Any, items: int, classes: int) -> Any:
    scores = rng.standard_normal((items, classes))
    scores[np.arange(items), rng.integers(classes, size=items)] += rng.uniform(4, 9, items)
    return scores


def _token_logits(rng: Any) -> Arrays:
    return [3 * _classified(rng, 12, VOCABULARY)[None] - 5 for _ in range(SAMPLES)]


def _masked_logits(rng: Any) -> Arrays:
    made = _token_logits(rng)
    for one in made:
        one[..., 200:220] = -1e9
    return made


def _visible_scale(values: Any) -> Any:
    """Return 1 for logits and 0 for masked ones, which a constant gives exactly."""
    return 3.0 * (values > -1e8)


def _smooth(rng: Any, height: int, width: int) -> Any:
    rows, columns = np.linspace(0, 1, height)[:, None], np.linspace(0, 1, width)
    value = rng.uniform(0, 2) * rows + rng.uniform(0, 2) * columns**2
    for _ in range(4):
        x, y, size = rng.uniform(0, 1, 3)
        inside = (rows - y) ** 2 + (columns - x) ** 2 < (0.1 + 0.2 * size) ** 2
        value = np.where(inside, rng.uniform(0, 5), value)
    return value


def _segmentation(rng: Any) -> Arrays:
    made = []
    for _ in range(SAMPLES):
        maps = np.stack([_smooth(rng, 32, 32) for _ in range(8)])
        made.append((6 * (maps - maps.mean()) + 0.3 * rng.standard_normal(maps.shape))[None])
    return made


def _objects(rng: Any, count: int) -> tuple[Any, Any]:
    center, size = rng.uniform(80, 560, (count, 2)), rng.uniform(20, 160, (count, 2))
    return center, size


def _boxes(rng: Any) -> Arrays:
    made = []
    for _ in range(SAMPLES):
        center, size = _objects(rng, 50)
        score = np.where(np.arange(50) < 8, rng.uniform(0, 3, 50), rng.uniform(-5, -2, 50))
        label = rng.integers(0, 10, 50)
        made.append(np.column_stack([center - size / 2, center + size / 2, score, label]))
    return made


def _finish_boxes(values: Any) -> Any:
    return np.hstack([values[:, :4], sigmoid(values[:, 4:5]), np.rint(values[:, 5:])])


def _box_scale(values: Any) -> Any:
    """Return the noise's scale: 16 pixels, 2 logits, and none for the class."""
    return np.array([16.0] * 4 + [2.0, 0.0])


def _anchors(rng: Any) -> Arrays:
    made = []
    for _ in range(SAMPLES):
        center, size = _objects(rng, 2100)
        scores = -6 + rng.standard_normal((18, 2100))
        places, labels = rng.choice(2100, 10, replace=False), rng.integers(0, 18, 10)
        scores[labels, places] = rng.uniform(0, 2.5, 10)
        made.append(np.vstack([center.T, size.T, scores])[None])
    return made


def _finish_anchors(values: Any) -> Any:
    return np.concatenate([values[:, :4], sigmoid(values[:, 4:])], axis=1)


def _anchor_scale(values: Any) -> Any:
    return np.array([16.0] * 4 + [2.0] * (values.shape[1] - 4))[None, :, None]


def _anchor_target(outputs: Arrays) -> int:
    """Return the row of the class with the best score."""
    (scores,) = outputs[0][:, 4:]
    return 4 + int(scores.max(1).argmax())


def _ocr(rng: Any) -> Arrays:
    made = []
    for _ in range(SAMPLES):
        scores = rng.standard_normal((2, 24, CHARACTERS))
        spelled = np.zeros((2, 24), dtype=int)
        spelled[:, 1:-1:2] = rng.integers(1, CHARACTERS, (2, 11))
        scores[np.arange(2)[:, None], np.arange(24), spelled] += rng.uniform(7, 12, (2, 24))
        made.append(scores)
    return made


def _hidden(rng: Any) -> Arrays:
    scale = np.exp(rng.standard_normal(96))
    scale[[7, 40]] = 600.0, 150.0
    shift = np.where(scale > 100, 3 * scale, 0.0)
    return [(shift + scale * rng.standard_normal((20, 96)))[None] for _ in range(SAMPLES)]


def _dynamic(rng: Any) -> Arrays:
    scale = np.array([200.0, 200, 40, 40, 1, 0.1, 3, 0.5])
    return [scale * rng.standard_normal((count, 8)) for count in (5, 17, 9, 30)]


def _picture(rng: Any) -> Arrays:
    maps = [np.stack([_smooth(rng, 24, 24) for _ in range(3)]) for _ in range(SAMPLES)]
    return [np.clip(30 * one, 0, 255).astype(np.uint8)[None] for one in maps]


def _words(rng: Any) -> Arrays:
    words = np.array(["cat", "dog", "bird", "fish", "horse", "cow", "ant", "bee"], dtype=object)
    return [rng.choice(words, (2, 3)) for _ in range(SAMPLES)]


KINDS = {
    one.name: one
    for one in (
        Kind("classification", lambda rng: [_classified(rng, 3, CLASSES) for _ in range(SAMPLES)],
             views.classes, softmax, target=_best_of_first, scale=lambda _: 1.0),
        Kind("tokens", _token_logits, views.tokens, rows=1, target=_best_of_first,
             scale=lambda _: 3.0),
        Kind("embeddings", lambda rng: [rng.standard_normal((6, 64)) for _ in range(SAMPLES)],
             views.neighbors, unit),
        Kind("depth", lambda rng: [(5 + _smooth(rng, 32, 48))[None, None] for _ in range(SAMPLES)],
             views.blocks, axis=None, rows=2),
        Kind("segmentation", _segmentation, views.pixels, axis=1, rows=2,
             target=lambda outputs: int(np.bincount(outputs[0][0].argmax(0).ravel()).argmax())),
        Kind("boxes n×6", _boxes, views.boxes, _finish_boxes, _box_scale, target=lambda _: 4),
        Kind("YOLO 22×2100", _anchors, views.anchors, _finish_anchors, _anchor_scale, axis=1,
             rows=2, target=_anchor_target),
        Kind("YOLO rows 300×22",
             lambda rng: [one[:, :, :300].swapaxes(1, 2) for one in _anchors(rng)],
             views.detector_rows,
             lambda x: _finish_anchors(x.swapaxes(1, 2)).swapaxes(1, 2),
             lambda x: _anchor_scale(x.swapaxes(1, 2)).swapaxes(1, 2), rows=1,
             target=lambda outputs: _anchor_target([one.swapaxes(1, 2) for one in outputs])),
        Kind("OCR", _ocr, views.texts, softmax, rows=1, scale=lambda _: 1.0,
             target=lambda outputs: int(outputs[0][0, 1].argmax())),
        Kind("masked logits", _masked_logits, views.tokens, rows=1, target=_best_of_first,
             scale=_visible_scale),
        Kind("hidden states", _hidden, views.columns, rows=1, target=lambda _: 3),
        Kind("int8",
             lambda rng: [rng.integers(-100, 100, (6, 32)).astype(np.int8) for _ in range(SAMPLES)],
             views.elements, is_exact=True),
        Kind("uint8", _picture, views.elements, axis=1, rows=2, is_exact=True),
        Kind("int64", lambda rng: [rng.integers(1, 30_000, (2, 16)) for _ in range(SAMPLES)],
             views.elements, is_exact=True),
        Kind("bool", lambda rng: [(_smooth(rng, 24, 24) > 1.5)[None] for _ in range(SAMPLES)],
             views.elements, axis=None, rows=1, is_exact=True),
        Kind("string", _words, views.elements, axis=None, is_exact=True),
        Kind("scalars", lambda rng: [rng.uniform(20, 60, (1,)) for _ in range(12)],
             views.numbers, axis=None),
        Kind("dynamic rows", _dynamic, views.dynamic_columns, target=lambda _: 5),
    )
}  # fmt: skip
