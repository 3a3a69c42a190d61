"""``validate --task`` of every kind, end to end, on models that only hand their input on."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from enginescope.cli.main import main
from enginescope.core.optional import is_installed
from tests.conftest import missing

pytestmark = pytest.mark.usefixtures("in_process")

SIZE = 16
RNG = np.random.default_rng(2)


def model(path: Path, nodes: list[Any], outputs: dict[str, list[int]], **weights: Any) -> Path:
    shape = [1, 3, SIZE, SIZE]
    ends = (
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
    )
    held = [numpy_helper.from_array(one, name) for name, one in weights.items()]
    graph = helper.make_graph(nodes, "graph", *ends, initializer=held)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opset), path)
    return path


def save(path: Path, pixels: Any) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return pixels


def task_of(capsys, *arguments: Any) -> Any:
    assert main(["validate", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["task"]


@pytest.mark.slow
def test_classes_by_folder(tmp_path, capsys) -> None:
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["scores"]),
    ]
    net = model(tmp_path / "net.onnx", nodes, {"scores": [1, 3]})
    (tmp_path / "names.txt").write_text("red\ngreen\nblue\n")
    right = []
    for number in range(18):
        label = number % 3
        pixels = RNG.integers(0, 200, (SIZE, SIZE, 3))
        pixels[..., label] += RNG.integers(0, 9)
        save(tmp_path / "val" / ("red", "green", "blue")[label] / f"{number}.png", pixels)
        right.append(int(pixels.mean(axis=(0, 1)).argmax()) == label)
    given = ("--images", tmp_path / "val", "--targets", tmp_path / "val")
    task = task_of(capsys, net, "--task", f"classification?names={tmp_path}/names.txt", *given)
    assert task["num_samples"] == 18
    assert task["sides"][0]["values"]["top1"] == pytest.approx(100 * np.mean(right))
    assert {one["name"] for one in task["sides"][0]["parts"]} == {"red", "green", "blue"}
    assert 0 < sum(right) < 18  # else the test shows nothing


@pytest.mark.slow
def test_labels_alone_belong_to_the_samples_in_their_order(tmp_path, capsys) -> None:
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["scores"]),
    ]
    net = model(tmp_path / "net.onnx", nodes, {"scores": [1, 3]})
    for number in range(3):
        pixels = np.zeros((SIZE, SIZE, 3))
        pixels[..., number] = 200
        save(tmp_path / "images" / f"{number}.png", pixels)
    (tmp_path / "labels.txt").write_text("0\n1\n0\n")
    given = ("--images", tmp_path / "images", "--targets", tmp_path / "labels.txt")
    task = task_of(capsys, net, "--task", "classification", *given)
    assert task["sides"][0]["values"]["top1"] == pytest.approx(200 / 3)


@pytest.mark.slow
def test_classes_of_pixels(tmp_path, capsys) -> None:
    nodes = [helper.make_node("Identity", ["image"], ["classes"])]
    net = model(tmp_path / "net.onnx", nodes, {"classes": [1, 3, SIZE, SIZE]})
    shares = []
    for number in range(3):
        pixels = save(tmp_path / "images" / f"{number}.png", RNG.integers(0, 255, (SIZE, SIZE, 3)))
        labels = np.where(RNG.random((SIZE, SIZE)) < 0.3, 0, pixels.argmax(axis=-1))
        labels[0] = 255
        save(tmp_path / "labels" / f"{number}.png", labels)
        shares.append(np.mean((pixels.argmax(axis=-1) == labels)[labels < 255]))
    given = ("--images", tmp_path / "images", "--targets", tmp_path / "labels")
    (side,) = task_of(capsys, net, "--task", "segmentation", *given)["sides"]
    assert side["values"]["pixel_accuracy"] == pytest.approx(100 * np.mean(shares))
    assert [one["name"] for one in side["parts"]] == ["0", "1", "2"]


@pytest.mark.slow
def test_boxes(tmp_path, capsys) -> None:
    if not is_installed("pycocotools") and sys.version_info >= (3, 14):
        pytest.skip("pycocotools is not installed")
    if not is_installed("pycocotools"):
        missing("pycocotools is not installed")
    boxes = np.array([[[0.25, 0.25, 0.75, 0.5]]], dtype=np.float32)
    zero = [
        helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "none"], ["zero"]),
    ]
    sums = [
        helper.make_node("Add", [f"{name}_in", "zero"], [name])
        for name in ("boxes", "scores", "labels")
    ]
    net = model(
        tmp_path / "net.onnx",
        [*zero, *sums],
        {"boxes": [1, 1, 4], "scores": [1, 1], "labels": [1, 1]},
        none=np.float32(0),
        boxes_in=boxes,
        scores_in=np.array([[0.9]], dtype=np.float32),
        labels_in=np.array([[0.0]], dtype=np.float32),
    )
    save(tmp_path / "images" / "a.png", np.zeros((100, 200, 3)))
    held = {
        "images": [{"id": 5, "file_name": "a.png", "width": 200, "height": 100}],
        "annotations": [{"image_id": 5, "category_id": 9, "bbox": [50, 25, 100, 25]}],
        "categories": [{"id": 9, "name": "cat"}],
    }
    (tmp_path / "known.json").write_text(json.dumps(held))
    given = ("--images", tmp_path / "images", "--targets", tmp_path / "known.json")
    task = task_of(capsys, net, "--task", "detection?unit=relative&classes=order", *given)
    assert task["sides"][0]["values"]["ap"] == pytest.approx(100)
