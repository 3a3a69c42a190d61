"""What a user sees of an output: decisions such as the best class, and figures such as a box.

Each function takes all reference samples and all candidate samples of one output. Nothing here
uses the code under test.
"""

from typing import Any, NamedTuple

import numpy as np

Arrays = list[Any]
#: A detection counts from this score on.
SCORE = 0.3
#: Two boxes are one object from this intersection over union on.
IOU = 0.5


class View(NamedTuple):
    """What a user sees.

    Attributes:
        decisions: Compared for equality, one by one.
        figures: Units × values; the error of a unit is the root mean square over its values.
    """

    decisions: Any
    figures: Any


NOTHING = np.zeros((0, 1))


def classes(reference: Arrays, candidate: Arrays) -> View:
    """Best class of each item, and the scores of the reference's best in each sample."""
    best, scores = [], []
    for r, c in zip(reference, candidate, strict=True):
        right, seen = (one.reshape(-1, one.shape[-1]) for one in (r, c))
        best.append(np.nan_to_num(seen, nan=-np.inf).argmax(1))
        scores.append(seen[np.arange(len(seen)), right.argmax(1)])
    return View(np.concatenate(best), np.array(scores))


def log_softmax(scores: Any) -> Any:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        shifted = scores - scores.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def tokens(reference: Arrays, candidate: Arrays) -> View:
    """Most probable token of each position, and its log-probability."""
    return classes([log_softmax(one) for one in reference], [log_softmax(one) for one in candidate])


def neighbors(reference: Arrays, candidate: Arrays) -> View:
    """Nearest entry of a gallery for each embedding, and all similarities."""
    gallery, items = np.concatenate(reference), np.concatenate(candidate)
    similar = items @ gallery.T
    return View(np.nan_to_num(similar, nan=-np.inf).argmax(1), similar)


def blocks(reference: Arrays, candidate: Arrays) -> View:
    """A map, in blocks of 8×8."""
    units = []
    for one in candidate:
        height, width = one.shape[-2:]
        cut = one.reshape(-1, height // 8, 8, width // 8, 8)
        units.append(cut.transpose(0, 1, 3, 2, 4).reshape(-1, 64))
    return View(np.zeros(0), np.concatenate(units))


def pixels(reference: Arrays, candidate: Arrays) -> View:
    """Pixels of each sample whose class is another, beyond two; the reference's own view is 0."""
    changed = []
    for r, c in zip(reference, candidate, strict=True):
        best = np.nan_to_num(c, nan=-np.inf).argmax(1)
        changed.append(max(0, int((best != r.argmax(1)).sum()) - 2))
    return View(np.zeros(0), np.array(changed, dtype=float)[:, None])


def _overlap(box: Any, boxes: Any) -> Any:
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.clip(high - low, 0, None).prod(1)
    area = np.clip(box[2:] - box[:2], 0, None).prod()
    areas = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return shared / (area + areas - shared)


def _matched(reference: Any, candidate: Any) -> tuple[list[bool], list[Any]]:
    """Match rows of x1, y1, x2, y2, score, class; the order of rows does not count."""
    hits, figures = [], []
    kept = candidate[candidate[:, 4] > SCORE]
    for row in reference[reference[:, 4] > SCORE]:
        overlap = np.where(kept[:, 5] == row[5], _overlap(row[:4], kept[:, :4]), 0.0)
        overlap = np.nan_to_num(overlap)
        hit = bool(kept.size) and bool(overlap.max() >= IOU)
        hits.append(hit)
        near = kept[overlap.argmax()] if hit else np.full(6, np.inf)
        figures += [near[:4], np.full(4, near[4])]
    return [*hits, len(kept) == int((reference[:, 4] > SCORE).sum())], figures


def _detected(reference: Arrays, candidate: Arrays) -> View:
    hits, figures = [], []
    for r, c in zip(reference, candidate, strict=True):
        found, near = _matched(r, c)
        hits += found
        figures += near
    return View(np.array(hits), np.array(figures) if figures else NOTHING)


def boxes(reference: Arrays, candidate: Arrays) -> View:
    """Boxes above the score, of rows x1, y1, x2, y2, score, class."""

    def rows(each: Arrays) -> Arrays:
        return [np.hstack([one[:, :5], np.rint(one[:, 5:6])]) for one in each]

    return _detected(rows(reference), rows(candidate))


def anchors(reference: Arrays, candidate: Arrays) -> View:
    """Boxes above the score, of columns with center, size and a score for each class."""

    def rows(one: Any) -> Any:
        (each,) = one
        center, size, scores = each[:2], each[2:4], each[4:]
        best = np.nan_to_num(scores, nan=-np.inf).argmax(0)
        return np.vstack([np.vstack([center - size / 2, center + size / 2]), scores.max(0), best]).T

    return _detected([rows(one) for one in reference], [rows(one) for one in candidate])


def detector_rows(reference: Arrays, candidate: Arrays) -> View:
    """Boxes above the score, of rows with center, size and a score for each class."""
    return anchors(*([one.swapaxes(1, 2) for one in each] for each in (reference, candidate)))


def text_of(scores: Any) -> str:
    """Text by greedy CTC decoding; class 0 is the blank."""
    best = np.nan_to_num(scores, nan=-np.inf).argmax(-1)
    kept = [int(one) for at, one in enumerate(best) if one and (not at or best[at - 1] != one)]
    return "".join(chr(33 + one) for one in kept)


def texts(reference: Arrays, candidate: Arrays) -> View:
    """Text of each line, and its mean confidence."""
    lines = [line for one in candidate for line in one]
    known = [line for one in reference for line in one]
    decoded = np.array([text_of(line) for line in lines], dtype=object)
    sure = []
    for r, c in zip(known, lines, strict=True):
        best = r.argmax(-1)
        sure.append(c[np.arange(len(c)), best][best > 0].mean())
    return View(decoded, np.array(sure)[:, None])


def columns(reference: Arrays, candidate: Arrays) -> View:
    """Every column of all samples, as a probe that scales its inputs would see it."""
    rows = np.concatenate([one.reshape(-1, one.shape[-1]) for one in candidate])
    return View(np.zeros(0), rows.T)


def dynamic_columns(reference: Arrays, candidate: Arrays) -> View:
    """Every column of each sample; samples have different numbers of rows."""
    squares = []
    for r, c in zip(reference, candidate, strict=True):
        squares.append(np.sqrt(np.square(c - r).mean(0)))
    # errors already: the reference's own view is 0
    return View(np.zeros(0), np.concatenate(squares)[:, None])


def numbers(reference: Arrays, candidate: Arrays) -> View:
    return View(np.zeros(0), np.concatenate([one.reshape(-1, 1) for one in candidate]))


def elements(reference: Arrays, candidate: Arrays) -> View:
    return View(np.concatenate([one.ravel() for one in candidate]), NOTHING)
