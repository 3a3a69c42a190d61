"""``validate`` with samples it cannot read, outputs of other names, and full disks."""

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.runner import isolate
from enginescope.runner.inputs import collect_outputs
from enginescope.services.bisection import branches
from tests.cli.accuracy.test_validate import run
from tests.depth_models import depth_model, scene
from tests.fakes.models import WEIGHTS, perceptron, save, value

pytestmark = pytest.mark.usefixtures("in_process")

EXACT = "ort-cpu?graph_optimization_level=disable"
Image = pytest.importorskip("PIL.Image")


MAPPED = ("--map", "out_a=a", "--map", "out_b=b")


def two_outputs(path: Path, first: str = "a", second: str = "b", w: Any = WEIGHTS) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], [first]),
        helper.make_node("Tanh", [first], [second]),
    ]
    outputs = [value(first, ["n", 3]), value(second, ["n", 3])]
    return save(path, nodes, [value("x", ["n", 4])], outputs, w=w)


def full(path: object) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", str(path))


@pytest.fixture
def pictures(tmp_path) -> tuple[Path, Path]:
    """Three scenes with known depth, and a picture between them that is cut off."""
    images, targets = tmp_path / "images", tmp_path / "targets"
    for number in range(4):
        scene(images, targets, f"{number}", number)
    bad = next(images.glob("1.*"))
    bad.write_bytes(bad.read_bytes()[:60])
    return images, targets


def test_a_picture_that_cannot_be_read_is_skipped_and_named(tmp_path, pictures, capsys) -> None:
    model = depth_model(tmp_path / "net.onnx")
    images, targets = pictures
    bad = next(images.glob("1.*")).name
    given = ("--on", EXACT, "--images", images, "--task", "depth", "--targets", targets)
    out = tmp_path / "out"
    status, found = run(capsys, model, *given, "--output", out)
    assert (status, found["passes"]) == (0, True)
    assert (found["num_samples"], found["num_skipped"]) == (4, 1)
    (skipped,) = found["skipped"]
    assert (skipped["sample"], skipped["name"]) == (1, bad)
    (notice,) = (one for one in found["notices"] if one["code"] == "W-SKIPPED-SAMPLES")
    assert f"1 of 4 samples cannot be read and were skipped: {bad} (" in notice["message"]
    assert found["sides"][0]["outputs"][0]["samples"] == 3
    assert found["task"]["num_samples"] == 3
    assert [one["sample"] for one in found["task"]["left_out"]] == [bad]
    assert json.loads((out / "samples" / "side-1" / "skipped.json").read_text()) == found["skipped"]
    assert main(["validate", *map(str, (model, *given, "--fail-fast"))]) == 3
    assert f"sample 1 ({bad})" in capsys.readouterr().err
    next(targets.glob("2.*")).write_bytes(b"no map")  # a target that cannot be read
    given = (model, "--images", images, "--task", "depth", "--targets", targets)
    status, found = run(capsys, *given)
    assert status == 0
    assert sorted(one["sample"][0] for one in found["task"]["left_out"]) == ["1", "2"]
    assert found["task"]["num_samples"] == 2
    assert main(["validate", *map(str, given), "--fail-fast"]) != 0
    capsys.readouterr()
    for picture in images.iterdir():
        picture.write_bytes(b"none")
    assert main(["validate", str(model), "--on", EXACT, "--images", str(images)]) == 3
    assert "none of the 4 samples can be read" in capsys.readouterr().err


def test_python_skips_the_same_samples(tmp_path, pictures) -> None:
    model = depth_model(tmp_path / "net.onnx")
    images, targets = pictures
    found = es.validate(model, on=EXACT, images=images, task="depth", targets=targets)
    assert [one.sample for one in found.skipped] == [1]
    assert found.task.counted == 3
    with pytest.raises(es.EnginescopeError, match="sample 1"):
        es.validate(model, on=EXACT, images=images, fail_fast=True)


@pytest.fixture
def renamed(tmp_path) -> tuple[Path, Path]:
    """A model, and the same with other names of its outputs."""
    other = two_outputs(tmp_path / "renamed.onnx", "out_a", "out_b")
    return two_outputs(tmp_path / "net.onnx"), other


def test_renamed_outputs_are_suggested_and_a_map_to_the_wrong_one_fails(renamed, capsys) -> None:
    model, other = renamed
    given = (other, "--reference", model, "--samples", 2)
    status, found = run(capsys, *given)
    assert status == 1
    pairs = {one["side"]: one["reference"] for one in found["sides"][0]["suggested_map"]}
    assert pairs == {"out_a": "a", "out_b": "b"}
    main(["validate", *map(str, given)])
    text = " ".join(capsys.readouterr().out.split())
    assert "same shape, nearest values (err ÷ spread 0)" in text
    assert "--map out_a=a" in text
    status, found = run(capsys, *given, *MAPPED)
    assert (status, found["passes"]) == (0, True)
    assert [one["name"] for one in found["sides"][0]["outputs"]] == ["a", "b"]
    assert found["sides"][0]["binding_differences"] == []
    assert es.validate(other, reference=model, samples=2, map={"out_a": "a", "out_b": "b"}).passes
    status, found = run(capsys, *given, "--map", "out_a=b", "--map", "out_b=a")
    assert (status, found["passes"]) == (1, False)


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ({"out_c": "a"}, "no side has an output called 'out_c'"),
        ({"out_a": "c"}, "the reference has no output called 'c'"),
        ({"a": "out_a"}, "no side has an output called 'a'"),
    ],
)
def test_a_map_of_unknown_outputs_is_refused(renamed, pair, said) -> None:
    model, other = renamed
    with pytest.raises(UsageError, match=said):
        es.validate(other, reference=model, samples=1, map=pair)


def test_a_mapped_side_is_searched_under_its_own_names(renamed, tmp_path, capsys) -> None:
    moved = two_outputs(tmp_path / "moved.onnx", "out_a", "out_b", 1.1 * WEIGHTS)
    given = ("--reference", renamed[0], "--samples", 2, *MAPPED, "--bisect")
    status, found = run(capsys, moved, *given)
    assert status == 1
    assert found["sides"][0]["bisect"]["first"]


def test_files_that_cannot_be_stored_leave_the_comparison(tmp_path, capsys) -> None:
    model, out = perceptron(tmp_path / "net.onnx"), tmp_path / "out"
    out.mkdir()
    for name in ("output_diff.json", "validate.html"):
        (out / name).symlink_to("/dev/full")  # every write there says that the disk is full
    status, found = run(capsys, model, "--on", EXACT, "--samples", 2, "--output", out)
    assert (status, found["passes"]) == (3, True)
    assert found["sides"][0]["outputs"][0]["samples"] == 2
    (notice,) = (one for one in found["notices"] if one["code"] == "W-NOT-STORED")
    for part in ("output_diff.json, validate.html", str(out), "No space left on device"):
        assert part in notice["message"]
    assert (out / "per_sample_diff.json").is_file()


@pytest.mark.parametrize("option", ["--bisect", "--suggest-precision"])
def test_a_full_disk_leaves_the_comparison(tmp_path, capsys, monkeypatch, option) -> None:
    def refuse(_model: Path, _marks: Any, folder: Path) -> None:
        raise full(folder)

    model = perceptron(tmp_path / "net.onnx")
    nodes, ends = (
        list(onnx.load(model).graph.node),
        ([value("x", ["n", 4])], [value("y", ["n", 3])]),
    )
    other = save(tmp_path / "other.onnx", nodes, *ends, w=1.1 * WEIGHTS)
    monkeypatch.setattr(branches, "marked_onnx", refuse)
    status, found = run(capsys, other, "--reference", model, "--samples", 2, option)
    assert status == 3
    (side,) = found["sides"]
    assert side["outputs"][0]["max_abs_error"] > 0
    (notice,) = (one for one in found["notices"] if one["code"] == "W-DISK-FULL")
    for part in ("other.onnx", "No space left on device", "TMPDIR"):
        assert part in notice["message"]


def test_a_full_disk_at_one_side_leaves_the_others(tmp_path, capsys, monkeypatch) -> None:
    model = perceptron(tmp_path / "net.onnx")
    usual = isolate.write_atomic

    def refuse(path: Path, data: bytes) -> None:
        if b'"inter_op_num_threads": "7"' in data:
            raise full(path)
        usual(path, data)

    monkeypatch.setattr(isolate, "write_atomic", refuse)
    monkeypatch.setattr(collect_outputs, "run_isolated", isolate.run_isolated)  # real processes
    given = ("--on", EXACT, "--on", "ort-cpu?inter_op_num_threads=7", "--samples", 2)
    status, found = run(capsys, model, *given)
    assert status == 3
    fine, failed = found["sides"]
    assert fine["passes"]
    assert "No space left on device" in failed["failure"]
    assert "make space" in failed["hint"]


def test_the_hint_of_a_failed_conversion_is_in_every_form(tmp_path, capsys) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"]),
    ]
    ends = ([value("x", ["n", 4])], [value("y", ["n", 4])])
    model = save(tmp_path / "q.onnx", nodes, *ends, s=np.float32(0.1))
    given = (model, "--on", "ort-cpu:fp16", "--samples", 1)
    status, found = run(capsys, *given)
    assert status == 3
    assert "no FP16 form below opset 19" in found["sides"][0]["failure"]
    assert "export it again at opset 19" in found["sides"][0]["hint"]
    main(["validate", *map(str, given)])
    assert "export it again at opset 19" in " ".join(capsys.readouterr().out.split())
    (side,) = es.validate(model, on="ort-cpu:fp16", samples=1).sides
    assert "export it again" in (side.hint or "")
