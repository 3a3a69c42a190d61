from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from enginescope.analysis.tasks.segmentation import SegmentationTask
from enginescope.core.errors import UsageError
from tests.analysis.answers import scored, tensor

RNG = np.random.default_rng(11)
TASK = SegmentationTask({})


def one_hot(classes: Any, count: int) -> Any:
    return np.eye(count, dtype=np.float32)[classes].transpose(2, 0, 1)[None]


def written_out(pairs: list[tuple[Any, Any]], count: int) -> dict[str, float]:
    """Intersections and unions over the pixels of all pictures, class by class."""
    wanted = np.concatenate([one[0].ravel() for one in pairs])
    given = np.concatenate([one[1].ravel() for one in pairs])
    wanted, given = wanted[wanted >= 0], given[wanted >= 0]
    shares, recalls = [], []
    for one in range(count):
        union = np.sum((wanted == one) | (given == one))
        if union:
            shares.append(np.sum((wanted == one) & (given == one)) / union)
        if np.any(wanted == one):
            recalls.append(np.mean(given[wanted == one] == one))
    return {
        "miou": 100 * float(np.mean(shares)),
        "pixel_accuracy": 100 * float(np.mean(wanted == given)),
        "mean_accuracy": 100 * float(np.mean(recalls)),
    }


def test_counts_are_pooled_over_the_set_and_nan_is_no_score() -> None:
    pairs = []
    for size in ((4, 5), (30, 20), (8, 8)):
        wanted = RNG.integers(-1, 5, size)
        given = np.where(RNG.random(size) < 0.3, RNG.integers(0, 6, size), np.maximum(wanted, 0))
        pairs.append((wanted, given))
    found = scored(TASK, *((one_hot(given, 9), wanted) for wanted, given in pairs))
    for name, value in written_out(pairs, 9).items():
        assert found.values[name] == pytest.approx(value), name
    assert [one.name for one in found.parts] == ["0", "1", "2", "3", "4", "5"]
    scores = one_hot(np.array([[0, 1], [1, 2]]), 3)
    scores[0, :, 0, 1] = (np.nan, 0.2, 0.1)
    scores[0, :, 1, 0] = (0.1, np.nan, 0.3)
    assert scored(TASK, (scores, np.array([[0, 1], [2, 2]]))).values["pixel_accuracy"] == 100


def test_scores_get_the_size_of_the_target_and_agreement_is_with_the_reference() -> None:
    wanted = np.zeros((4, 8), dtype=np.int64)
    wanted[:, 4:] = 1
    assert scored(TASK, (one_hot(wanted[::2, ::2], 2), wanted)).values["miou"] == 100
    theirs = RNG.integers(0, 3, (6, 6))
    ours = theirs.copy()
    ours[0, 0] = (ours[0, 0] + 1) % 3
    found = scored(TASK, (one_hot(ours, 3), one_hot(theirs, 3)), is_reference=True)
    assert found.values["pixel_accuracy"] == pytest.approx(100 * 35 / 36)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, np.array([[[0, 1], [1, 1]]])),
        ({"threshold": "0.5"}, np.array([[[[0.1, 0.9], [0.8, 0.51]]]], dtype=np.float32)),
        ({"layout": "nhwc"}, one_hot(np.array([[0, 1], [1, 1]]), 3).transpose(0, 2, 3, 1)),
    ],
)
def test_forms_of_outputs(options: dict[str, str], values: Any) -> None:
    found = scored(SegmentationTask(options), (values, np.array([[0, 1], [1, 0]])))
    assert found.values["pixel_accuracy"] == 75


def test_labels_of_files_are_ignored_and_shifted(tmp_path: Path) -> None:
    picture = Image.fromarray(np.array([[0, 1], [255, 2]], dtype=np.uint8))
    picture.putpalette([value for index in range(256) for value in (index, 7, 255 - index)])
    picture.save(tmp_path / "a.png")
    plain = SegmentationTask({}).targets(tmp_path)
    np.testing.assert_array_equal(plain.read("a"), [[0, 1], [-1, 2]])
    moved = SegmentationTask({"shift": "-1"}).targets(tmp_path)
    np.testing.assert_array_equal(moved.read("a"), [[-1, 0], [-1, 1]])


def test_what_does_not_fit_is_refused() -> None:
    zeros, scorer = one_hot(np.zeros((2, 2), dtype=int), 2), TASK.against_targets()
    with pytest.raises(UsageError, match="the output has 2 classes"):
        scored(TASK, (zeros, np.array([[0, 19], [0, 0]])))
    with pytest.raises(UsageError, match="no output holds classes"):
        scored(TASK, (np.zeros(5), np.zeros((2, 2), dtype=int)))
    assert scorer.add((tensor(zeros),), np.full((2, 2), -1)).left_out is not None
    assert scorer.result().values["miou"] is None
