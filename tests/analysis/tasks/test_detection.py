import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.tasks.box_outputs import BoxLayout, boxes_of
from enginescope.analysis.tasks.detection import DetectionTask
from enginescope.core.errors import FormatError, MissingDependencyError, UsageError
from enginescope.core.optional import is_installed
from enginescope.formats.tensors.tensor_files import tensor_of
from tests.conftest import missing

#: Boxes (left, top, right, bottom) and categories of two pictures of 200 × 100.
TRUTH = ((((10, 10, 60, 60), 3), ((100, 20, 180, 90), 7)), (((5, 5, 45, 35), 3),))


@pytest.fixture(autouse=True)
def coco() -> None:
    if is_installed("pycocotools"):
        return
    if sys.version_info >= (3, 14):  # not among what the tests install there
        pytest.skip("pycocotools is not installed")
    missing("pycocotools is not installed")


def answers(rows: Any) -> tuple[Any, ...]:
    """Rows of four corners, score and label as three outputs."""
    held = np.asarray(rows, dtype=np.float32).reshape(-1, 6)
    return (
        tensor_of("boxes", held[None, :, :4]),
        tensor_of("scores", held[None, :, 4]),
        tensor_of("labels", held[None, :, 5].astype(np.int64)),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    boxes = [
        {"id": 4 + 10 * at, "image_id": at, "category_id": kind, "bbox": [x, y, right - x, end - y]}
        for at, picture in enumerate(TRUTH)
        for (x, y, right, end), kind in picture
    ]
    images = [{"id": at, "file_name": f"p{at}.jpg", "width": 200, "height": 100} for at in range(2)]
    categories = [{"id": 3, "name": "cup"}, {"id": 7, "name": "cat"}]
    path = tmp_path / "instances.json"
    path.write_text(json.dumps({"images": images, "annotations": boxes, "categories": categories}))
    return path


def scored(file: Path, rows: list[Any], **options: str) -> Any:
    task = DetectionTask(options)
    targets, scorer = task.targets(file), task.against_targets()
    for key, one in zip(targets.base_names(), rows, strict=True):
        scorer.add(answers(one), targets.read(key))
    return scorer.result()


RIGHT = [[(*box, 0.9, category) for box, category in picture] for picture in TRUTH]


def test_overlap_counts_as_coco_counts_it(file: Path) -> None:
    found = scored(file, RIGHT)
    assert found.values["ap"] == pytest.approx(100)
    assert found.values["ap_small"] is None  # no object is that small
    assert {one.name: one.values["AP %"] for one in found.parts} == {
        "cup": pytest.approx(100),
        "cat": pytest.approx(100),
    }
    assert scored(file, [[], []]).values["ap"] == 0
    narrow = [[((10, 10, 60, 45), 0.9, 3)], []]  # 0.7 of the first cup
    rows = [[(*box, score, label) for box, score, label in one] for one in narrow]
    found = scored(file, rows)
    # one of two cups at overlaps 0.5 … 0.7: 51 of 101 places of recall have precision 1
    assert found.values["ap50"] == pytest.approx(100 * (51 / 101 + 0) / 2)
    assert found.values["ap75"] == 0
    assert found.values["ap"] == pytest.approx(100 * (51 / 101) * 0.5 / 2, rel=1e-6)
    rows = [[*RIGHT[0], (np.nan, 0, 1, 1, 0.99, 3)], RIGHT[1]]
    found = scored(file, rows)
    assert found.values["ap"] == pytest.approx(100)
    assert [one.code for one in found.notices] == ["W-BOXES-NOT-FINITE"]


@pytest.mark.parametrize(
    ("unit", "fit", "move"),
    [
        ("relative", "stretch", lambda x, y: (x / 200, y / 100)),
        ("50x50", "stretch", lambda x, y: (x / 4, y / 2)),
        ("400x400", "pad", lambda x, y: (2 * x, 2 * y + 100)),
    ],
)
def test_units_are_brought_to_pixels_of_the_picture(file, unit, fit, move) -> None:
    rows = [
        [(*move(*one[:2]), *move(*one[2:4]), one[4], {3: 0, 7: 1}[one[5]]) for one in picture]
        for picture in RIGHT
    ]
    values = scored(file, rows, unit=unit, fit=fit, classes="order").values
    assert values["ap"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("form", "turn"),
    [
        ("xywh", lambda a, b, c, d: (a, b, c - a, d - b)),
        ("cxcywh", lambda a, b, c, d: ((a + c) / 2, (b + d) / 2, c - a, d - b)),
    ],
)
def test_forms_and_one_output_of_six_numbers(form: str, turn: Any) -> None:
    rows = np.array([[*turn(10, 20, 30, 60), 0.5, 2], [*turn(0, 0, 0, 0), 0, 0]])
    layout = BoxLayout(output="all", form=form)
    found = boxes_of((tensor_of("all", rows[None].astype(np.float32)),), layout)
    np.testing.assert_allclose(found.corners, [[10, 20, 30, 60]])
    assert found.labels.tolist() == [2]


def test_agreement_takes_the_reference_s_surer_boxes_as_right() -> None:
    scorer = DetectionTask({}).against_reference()
    scorer.add(answers(RIGHT[0]), answers(RIGHT[0] + [(0, 0, 9, 9, 0.1, 3)]))
    assert scorer.result().values["ap"] == pytest.approx(100)


def test_mistakes_are_named(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in one file"):
        DetectionTask({}).targets(tmp_path)
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(FormatError, match="images"):
        DetectionTask({}).targets(tmp_path / "b.json")
    with pytest.raises(UsageError, match="label 9"):
        scored(file, [[(0, 0, 1, 1, 0.5, 9)], []], classes="order")
    with pytest.raises(UsageError, match="unit=wide"):
        scored(file, RIGHT, unit="wide")
    with pytest.raises(UsageError, match="no output is called"):
        boxes_of(answers([]), BoxLayout(boxes="box"))
    with pytest.raises(UsageError, match="do not belong together"):
        boxes_of((*answers(RIGHT[0])[:2], tensor_of("labels", np.zeros(5))), BoxLayout())


def test_without_pycocotools_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocotools.coco", None)
    with pytest.raises(MissingDependencyError) as caught:
        DetectionTask({})
    assert caught.value.hint == "pip install 'enginescope[detection]'"
