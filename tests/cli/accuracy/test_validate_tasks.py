"""``validate --task`` of every kind, end to end, on models that only hand their input on."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from PIL import Image

from enginescope.cli.main import main
from enginescope.core.optional import is_installed
from tests.analysis.tasks.test_depth import by_hand
from tests.cli.accuracy.test_depth import seen
from tests.cli.accuracy.test_validate import run
from tests.conftest import missing
from tests.depth_models import depth_model, scene
from tests.fakes import models
from tests.fakes.models import value

pytestmark = pytest.mark.usefixtures("in_process")

SIZE = 16
RNG = np.random.default_rng(2)


def model(path: Path, nodes: list[Any], outputs: dict[str, list[int]], **weights: Any) -> Path:
    ends = [value(name, shape) for name, shape in outputs.items()]
    return models.save(path, nodes, [value("image", [1, 3, SIZE, SIZE])], ends, **weights)


def mean_model(path: Path) -> Path:
    """Write a model whose scores are the means of the three colors."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["scores"]),
    ]
    return model(path, nodes, {"scores": [1, 3]})


def save(path: Path, pixels: Any) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return pixels


def task_of(capsys, folder: Path, task: str, *, images: str = "images", targets: str) -> Any:
    given = ("--task", task, "--images", folder / images, "--targets", folder / targets)
    status, found = run(capsys, folder / "net.onnx", *given)
    assert status == 0
    return found["task"]


@pytest.mark.slow
def test_classes_by_folder(tmp_path, capsys) -> None:
    mean_model(tmp_path / "net.onnx")
    (tmp_path / "names.txt").write_text("red\ngreen\nblue\n")
    right = []
    for number in range(18):
        label = number % 3
        pixels = RNG.integers(0, 200, (SIZE, SIZE, 3))
        pixels[..., label] += RNG.integers(0, 9)
        save(tmp_path / "val" / ("red", "green", "blue")[label] / f"{number}.png", pixels)
        right.append(int(pixels.mean(axis=(0, 1)).argmax()) == label)
    asked = f"classification?names={tmp_path}/names.txt"
    task = task_of(capsys, tmp_path, asked, images="val", targets="val")
    assert task["num_samples"] == 18
    assert task["sides"][0]["values"]["top1"] == pytest.approx(100 * np.mean(right))
    assert {one["name"] for one in task["sides"][0]["parts"]} == {"red", "green", "blue"}
    assert 0 < sum(right) < 18  # else the test shows nothing


@pytest.mark.slow
def test_labels_alone_belong_to_the_samples_in_their_order(tmp_path, capsys) -> None:
    mean_model(tmp_path / "net.onnx")
    for number in range(3):
        pixels = np.zeros((SIZE, SIZE, 3))
        pixels[..., number] = 200
        save(tmp_path / "images" / f"{number}.png", pixels)
    (tmp_path / "labels.txt").write_text("0\n1\n0\n")
    task = task_of(capsys, tmp_path, "classification", targets="labels.txt")
    assert task["sides"][0]["values"]["top1"] == pytest.approx(200 / 3)


@pytest.mark.slow
def test_classes_of_pixels(tmp_path, capsys) -> None:
    nodes = [helper.make_node("Identity", ["image"], ["classes"])]
    model(tmp_path / "net.onnx", nodes, {"classes": [1, 3, SIZE, SIZE]})
    shares = []
    for number in range(3):
        pixels = save(tmp_path / "images" / f"{number}.png", RNG.integers(0, 255, (SIZE, SIZE, 3)))
        labels = np.where(RNG.random((SIZE, SIZE)) < 0.3, 0, pixels.argmax(axis=-1))
        labels[0] = 255
        save(tmp_path / "labels" / f"{number}.png", labels)
        shares.append(np.mean((pixels.argmax(axis=-1) == labels)[labels < 255]))
    (side,) = task_of(capsys, tmp_path, "segmentation", targets="labels")["sides"]
    assert side["values"]["pixel_accuracy"] == pytest.approx(100 * np.mean(shares))
    assert [one["name"] for one in side["parts"]] == ["0", "1", "2"]


@pytest.mark.slow
def test_boxes(tmp_path, capsys) -> None:
    if not is_installed("pycocotools"):
        (pytest.skip if sys.version_info >= (3, 14) else missing)("pycocotools is not installed")
    boxes = {"boxes": [[[0.25, 0.25, 0.75, 0.5]]], "scores": [[0.9]], "labels": [[0.0]]}
    values = {name: np.array(box, dtype=np.float32) for name, box in boxes.items()}
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "none"], ["zero"]),
        *(helper.make_node("Add", [f"{name}_in", "zero"], [name]) for name in boxes),
    ]
    weights = {f"{name}_in": array for name, array in values.items()}
    shapes = {name: list(array.shape) for name, array in values.items()}
    model(tmp_path / "net.onnx", nodes, shapes, none=np.float32(0), **weights)
    save(tmp_path / "images" / "a.png", np.zeros((100, 200, 3)))
    held = {
        "images": [{"id": 5, "file_name": "a.png", "width": 200, "height": 100}],
        "annotations": [{"image_id": 5, "category_id": 9, "bbox": [50, 25, 100, 25]}],
        "categories": [{"id": 9, "name": "cat"}],
    }
    (tmp_path / "known.json").write_text(json.dumps(held))
    asked = "detection?unit=relative&classes=order"
    task = task_of(capsys, tmp_path, asked, targets="known.json")
    assert task["sides"][0]["values"]["ap"] == pytest.approx(100)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return depth_model(tmp_path / "net.onnx")


@pytest.mark.slow
def test_one_model_against_targets(tmp_path, capsys, net) -> None:
    images, targets = tmp_path / "images", tmp_path / "gt"
    scenes = [scene(images, targets, f"img{n:03}", n) for n in range(5)]
    (images / "img001.png").rename(images / "other.png")
    given = ("--images", images, "--targets", targets, "--normalise", "imagenet")
    out = tmp_path / "out"
    status, found = run(capsys, net, "--task", "depth?max_depth=8", *given, "-o", out)
    assert status == 0
    task = found["task"]
    rows = [
        by_hand(seen(net, pixels), known.astype(np.float64), 1e-3, 8)
        for number, (pixels, known) in enumerate(scenes)
        if number != 1
    ]
    (side,) = task["sides"]
    for name, figure in side["values"].items():
        assert figure == pytest.approx(np.mean([one[name] for one in rows]), abs=1e-6), name
    assert task["left_out"] == [{"sample": "other.png", "why": "no target"}]
    assert task["targets_without_sample"] == ["img001"]
    each = json.loads((out / "per_sample_diff.json").read_text())["task"][0]["samples"]
    assert [one["name"] for one in each] == [f"img{n:03}.png" for n in (0, 2, 3, 4)]
    page = (out / "validate.html").read_text()
    assert "Depth against the targets" in page
    assert "other.png: no target" in page
    limit = ("--limit", f"abs_rel:{0.9 * side['values']['abs_rel']}")
    status, found = run(capsys, net, "--task", "depth?max_depth=8", *given, *limit)
    assert status == 1
    assert found["task"]["sides"][0]["broken_limits"][0]["metric"] == "abs_rel"
    main(["validate", str(net), "--task", "depth", *map(str, given), "--limit", "d1:1.1"])
    assert "is below its limit of 1.1" in capsys.readouterr().out


@pytest.mark.slow
def test_without_targets_sides_are_held_against_the_reference(tmp_path, capsys, net) -> None:
    worse = depth_model(tmp_path / "worse.onnx", noise=0.05)
    given = (net, worse, "--task", "depth", "--samples", 2, "--tolerance", "fp4")
    status, found = run(capsys, *given)
    assert status == 0
    assert found["task"]["against"] == "reference"
    (side,) = found["task"]["sides"]
    assert 0 < side["values"]["mae"] < side["values"]["rmse"] < side["values"]["max_error"] < 1
    assert run(capsys, *given, "--limit", "rmse:1e-4")[0] == 1


@pytest.mark.slow
def test_where_nobody_answers_no_limit_is_kept(tmp_path, capsys, net) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(net.read_bytes()[:-40])
    arguments = (broken, "--reference", net, "--samples", 1, "--task", "depth", "--limit", "mae:1")
    status = main(["validate", *map(str, arguments)])
    said = capsys.readouterr()
    assert status in (2, 3), said
    assert "every limit is kept" not in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--targets", "gt"), "there is no task"),
        (("--limit", "d1:0.9"), "there is no task"),
        (("--task", "dept"), "did you mean depth"),
        (("--task", "depth?align"), "'align' is not an option"),
        (("--task", "depth", "--targets", "nowhere"), "no such folder"),
        (("--task", "depth", "--limit", "d1:0.9"), "no metric 'd1' without targets"),
        (("--task", "depth", "--limit", "d1"), "is not METRIC:NUMBER"),
        (("--task", "depth", "--targets", "gt", "--limit", "d9:1"), "one of: 'abs_rel', 'd1'"),
        (("--task", "depth", "--targets", "gt", "--image-fit", "crop"), "the whole image"),
        (("--task", "depth", "--images", "nowhere"), "no such file or folder"),
        (("--task", "depth", "--images", "gt"), "it has no image"),
        (("--task", "depth", "--images", "images", "--random"), "each of them selects"),
        (("--task", "depth", "--images", "images"), "nothing to compare"),
    ],
)
def test_mistakes_are_said_in_a_line(tmp_path, capsys, monkeypatch, net, arguments, said) -> None:
    monkeypatch.chdir(tmp_path)
    scene(tmp_path / "images", tmp_path / "gt", "img", 1)
    assert main(["validate", str(net), *arguments]) == 2
    assert said in capsys.readouterr().err
