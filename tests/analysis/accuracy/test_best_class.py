"""Best classes that change: by noise, or although the reference was clear."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.answers import codes, side


def logits(items: int = 12, classes: int = 200) -> np.ndarray:
    generator = np.random.default_rng(items)
    scores = 3 * generator.standard_normal((1, items, classes))
    scores[0, np.arange(items), generator.integers(classes, size=items)] += 15
    return scores - 4


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def with_best_two_swapped(scores: np.ndarray, item: int) -> np.ndarray:
    wrong = scores.copy()
    second, best = np.argsort(scores[0, item])[-2:]
    wrong[0, item, [second, best]] = scores[0, item, [best, second]]
    return wrong


@pytest.mark.parametrize("row", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("form", [lambda scores: scores, softmax], ids=["logits", "probabilities"])
def test_a_clear_best_class_may_not_change(form, row) -> None:
    reference = form(logits())
    found = side([reference], [with_best_two_swapped(reference, 7)], row)
    assert "best-class" in codes(found)
    (reason,) = (r for o in found.outputs for r in o.reasons if r.code == "best-class")
    assert reason.evidence["changed"] == 1
    assert reason.evidence["items"] == 12


@pytest.mark.parametrize("row", ["fp16", "bf16", "int8"])
@pytest.mark.parametrize("form", [lambda scores: scores, softmax], ids=["logits", "probabilities"])
def test_a_tie_within_the_noise_may_change(form, row) -> None:
    scores = logits()
    best = scores[0, 7].argmax()
    scores[0, 7, (best + 1) % 200] = scores[0, 7, best] - 0.02
    reference = form(scores)
    assert side([reference], [with_best_two_swapped(reference, 7)], row).passes


def test_masked_classes_do_not_hide_a_change() -> None:
    scores = logits()
    scores[..., np.setdiff1d(np.arange(200), scores.argmax(-1))[:20]] = -1e9
    assert "best-class" in codes(side([scores], [with_best_two_swapped(scores, 3)], "int8"))


def test_coordinates_of_boxes_are_no_classes() -> None:
    generator = np.random.default_rng(0)
    rows = np.concatenate(
        [generator.uniform(0, 640, (50, 4)), generator.uniform(0, 1, (50, 12))], axis=1
    )
    rows[:, 1] = rows[:, 0] + 0.5
    moved = rows.copy()
    moved[:, 0] += 1
    assert side([rows], [moved], "int8").passes


def test_items_with_nan_have_no_best_class() -> None:
    scores = logits()
    wrong = with_best_two_swapped(scores, 7)
    wrong[0, 7, 0] = np.nan
    assert "best-class" not in codes(side([scores], [wrong], "int8"))
