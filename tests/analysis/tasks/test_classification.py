from pathlib import Path

import numpy as np
import pytest

from enginescope.analysis.accuracy.sample_checks import rank_agreement
from enginescope.analysis.tasks.classification import ClassificationTask, wilson_pct
from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.tensors.target_files import read_labels
from tests.analysis.answers import scored, tensor

RNG = np.random.default_rng(3)


def test_shares_are_those_of_sorting() -> None:
    scores = RNG.normal(size=(200, 12)).astype(np.float32)
    right = RNG.integers(0, 12, 200)
    found = scored(ClassificationTask({}), *zip(scores[:, None, :, None, None], right, strict=True))
    order = np.argsort(-scores, axis=1)
    assert found.values["top1"] == pytest.approx(100 * np.mean(order[:, 0] == right))
    hits = (order[:, :5] == right[:, None]).any(axis=1)
    assert found.values["top5"] == pytest.approx(100 * np.mean(hits))
    own = {one.name: one.values["top-1 %"] for one in found.parts}
    assert own["7"] == pytest.approx(100 * np.mean(order[right == 7, 0] == 7))
    assert found.more["top1_low"] < found.values["top1"] < found.more["top1_high"]


def test_of_equal_scores_the_lower_number_is_better_and_nan_is_wrong() -> None:
    task, tie = ClassificationTask({}), [[1.0, 1.0, 0.0]]
    assert scored(task, (tie, 0), (tie, 1)).values["top1"] == 50.0
    found = scored(task, ([[np.nan, 1.0, 0.0]], 1))
    assert found.values["top1"] == 0
    assert [one.code for one in found.notices] == ["W-SCORES-NOT-FINITE"]
    assert scored(task, ([3], 3), ([2], 3)).values == {"top1": 50.0, "top5": None}


def test_agreement_is_with_the_reference_s_best_with_wilson_s_interval() -> None:
    task, pair = ClassificationTask({}), ([[0.1, 0.9], [0.8, 0.2]], [[0.2, 0.8], [0.4, 0.6]])
    assert scored(task, pair, is_reference=True).values["top1"] == 50.0
    with pytest.raises(UsageError, match="the output has 3 classes"):
        scored(task, (np.zeros((1, 3)), 3))
    with pytest.raises(UsageError, match="no output holds scores"):
        scored(task, (np.zeros((2, 3, 4, 5)), 0))
    low, high = wilson_pct(8, 10)
    assert (low, high) == (pytest.approx(49.0, abs=0.1), pytest.approx(94.3, abs=0.1))
    assert wilson_pct(0, 0) == (None, None)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_the_comparison_of_tensors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theirs = rng.integers(0, 4, (300, 9)).astype(np.float32)  # many ties
    ours = np.clip(theirs + rng.integers(-1, 2, theirs.shape), 0, 3).astype(np.float32)
    found = scored(ClassificationTask({}), (ours, theirs), is_reference=True).values
    wanted = rank_agreement(tensor(theirs), tensor(ours))
    assert (found["top1"], found["top5"]) == (wanted.top1_pct, wanted.top5_pct)


def numbers(path: Path, **options: str) -> dict[str, int]:
    targets = ClassificationTask(options).targets(path)
    return {key: targets.read(key) for key in targets.base_names()}


def test_folders_labels_and_words_name_classes(tmp_path: Path) -> None:
    for name in ("dog/1.jpg", "cat/2.jpg", "cat/deep/3.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert numbers(tmp_path) == {"dog/1": 1, "cat/2": 0, "cat/deep/3": 0}
    names = tmp_path.with_name("names.txt")
    names.write_text("dog\nbird\ncat\n")
    assert numbers(tmp_path, names=str(names)) == {"dog/1": 0, "cat/2": 2, "cat/deep/3": 2}
    (tmp_path / "a.txt").write_text("3\n1\n")
    targets = read_labels(tmp_path / "a.txt")
    assert targets.in_order
    assert [targets.read(key) for key in targets.base_names()] == ["3", "1"]
    names = tmp_path / "names.txt"
    names.write_text("n01440764 tench, Tinca tinca\nn01443537 goldfish\n")
    (tmp_path / "a.csv").write_text("1.jpg,n01443537\n")
    assert numbers(tmp_path / "a.csv", names=str(names)) == {"1": 1}
    (tmp_path / "a.csv").write_text("1.jpg,n014\n")
    with pytest.raises(UsageError, match="no class in"):
        numbers(tmp_path / "a.csv", names=str(names))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "file,label\nx/1.jpg,4\n2.jpg,0\n"),
        ("a.csv", "label;filename\n4;x/1.jpg\n0;2.jpg\n"),
        ("a.csv", "x/1.jpg,4\n2.jpg,0\n"),
        ("a.tsv", "x/1.jpg\t4\n2.jpg\t0\n"),
        ("a.txt", "x/1.jpg 4\n2.jpg 0\n"),
    ],
)
def test_tables_of_labels(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert numbers(tmp_path / name, offset="1") == {"x/1": 5, "2": 1}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.csv", "", UsageError),
        ("a.csv", "1.jpg\n", FormatError),
        ("a.txt", "1.jpg 4\n2.jpg\n", FormatError),
        ("a.txt", " \n", UsageError),
    ],
)
def test_tables_without_labels_are_refused(tmp_path, name, text, kind) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(kind):
        read_labels(tmp_path / name)
