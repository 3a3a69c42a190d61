"""``validate --bisect`` and ``--suggest-precision``, end to end on ONNX Runtime's CPU provider."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import enginescope as es
from enginescope.backends.onnxruntime.convert.fp16 import fp16_model
from enginescope.cli.main import main
from enginescope.core.errors import BackendError
from enginescope.services.bisection import branches, fp32_fallback
from tests.fakes import loading
from tests.fakes.models import WEIGHTS, save, value
from tests.overflowing import LOUD, SHORT_STOP, TENSOR, overflowing

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]


def run(capsys, *arguments: Any) -> tuple[int, Any]:
    status = main(["validate", *map(str, arguments), "--json"])
    text = capsys.readouterr()
    assert text.out, text.err
    return status, json.loads(text.out)


def damaged(model: Path, path: Path, weight: str) -> Path:
    """A copy in which the output channels of one weight are in another order."""
    proto = onnx.load(model)
    (one,) = (each for each in proto.graph.initializer if each.name == weight)
    values = numpy_helper.to_array(one)
    one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values[::-1]), weight))
    onnx.save(proto, path)
    return path


@contextmanager
def tensorrt(version: str) -> Iterator[None]:
    """The stand-in for TensorRT, in workers too: the path, not the numbers."""
    with patch.dict(os.environ, loading.environment(version)), loading.loaded(version):
        yield


def renamed(model: Path, path: Path) -> Path:
    """A copy whose tensors and nodes are called otherwise, as an export by another version is."""
    proto = onnx.load(model)
    kept = {one.name for one in (*proto.graph.input, *proto.graph.output)}
    kept |= {one.name for one in proto.graph.initializer}
    for at, node in enumerate(proto.graph.node):
        node.name = f"n{at}"
        for names in (node.input, node.output):
            for slot, name in enumerate(names):
                names[slot] = name if name in kept or not name else f"t_{name}"
    onnx.save(proto, path)
    return path


def test_the_layer_whose_weights_are_damaged_is_found(convnet, tmp_path, capsys) -> None:
    """Also where the weights are in a file of their own."""
    wrong = damaged(convnet, tmp_path / "wrong.onnx", "stage1/block1/conv2/weight")
    status, found = run(capsys, wrong, "--reference", convnet, "--samples", 2, "--bisect")
    assert status == 1
    inside = found["sides"][0]["bisect"]
    first = inside["first"]
    assert first["node"] == "stage1/block1/conv2"
    assert (inside["cause"], first["over"], first["reaches_output"]) == ("departs", "error", True)
    assert (first["inputs_error_to_spread"], inside["starts"]) == (0, [first["tensor"]])
    assert inside["looked_at"] == inside["tensors"] > 30
    before = [one for one in inside["growth"] if one["position"] < first["position"]]
    assert before
    assert all(one["error_to_spread"] == 0 for one in before)
    (tmp_path / "apart").mkdir()
    side = tmp_path / "apart" / "net.onnx"
    onnx.save(onnx.load(wrong), side, save_as_external_data=True, location="net.data")
    files = sorted(side.parent.iterdir())
    main(["validate", str(side), "--reference", str(convnet), "--samples", "1", "--bisect"])
    text = capsys.readouterr().out
    assert "starts at  stage1/block1/conv2 (Conv)" in text
    assert max(map(len, text.splitlines())) <= 80
    assert sorted(side.parent.iterdir()) == files


def test_tensors_of_other_names_are_paired_by_order_and_marks(convnet, tmp_path, capsys) -> None:
    wrong = damaged(convnet, tmp_path / "wrong.onnx", "stage1/block0/conv1/weight")
    other = renamed(wrong, tmp_path / "renamed.onnx")
    sides = ("--reference", convnet, "--samples", 1, "--bisect")
    inside = run(capsys, other, *sides)[1]["sides"][0]["bisect"]
    assert inside["first"]["tensor"].startswith("stage1/block0/conv1")
    assert (inside["first"]["paired_by"], inside["without_counterpart"]) == ("order", 0)
    inside = run(capsys, wrong, *sides, "--marks", 5)[1]["sides"][0]["bisect"]
    assert inside["first"]["node"] == "stage1/block0/conv1"
    assert inside["looked_at"] < inside["tensors"]
    assert inside["marked_copies"] <= 4


@pytest.fixture(scope="module")
def halved(tmp_path_factory) -> tuple[Path, Path]:
    """A model with a constant that FP16 cannot hold, and what the converter makes of it."""
    folder = tmp_path_factory.mktemp("halved")
    model = overflowing(folder / "net.onnx", size=16, by_constant=True)
    return model, Path(fp16_model(model, folder / "cache").path)


@pytest.mark.filterwarnings("ignore")
def test_an_overflow_is_found_and_mended_as_suggested(
    halved, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    model, half = halved
    out = tmp_path / "out"
    status, found = run(
        capsys, half, "--reference", model, "--samples", 2, "--suggest-precision", "-o", out
    )
    assert status == 1
    side = found["sides"][0]
    inside = side["bisect"]
    assert (inside["cause"], inside["overflowing"]) == ("overflow", TENSOR)
    assert (inside["first"]["node"], inside["first_not_finite"]) == (LOUD, TENSOR)
    assert inside["first"]["reference_peak"] > 65_504
    own = {one["node"]: one for one in inside["growth"]}
    # given what the reference has, a layer behind the overflow is right
    assert own["third"]["error_to_spread"] > 0.1 > 0.01 > own["third"]["own_error_to_spread"]
    assert own[LOUD]["own_is_finite"] is False
    trials = {one["kind"]: one for one in side["precision"]["trials"]}
    assert not trials["none"]["passes"]
    assert trials["none"]["error_to_spread"] > 0.1
    assert trials["overflow"]["kept_nodes"] == [LOUD, "pool", "scale"]
    assert trials["overflow"]["passes"]
    assert trials["all"]["error_to_spread"] == 0
    assert side["precision"]["suggested"]["passes"]
    for trial in trials.values():
        low = trial["latency_low_ms"]  # None where a busy machine leaves too few effective samples
        assert trial["latency_ms"] > 0
        assert low is None or low <= trial["latency_ms"]
    assert [one for one in trials.values() if one["on_front"]]
    page = (out / "validate.html").read_text(encoding="utf-8")
    assert f"Starts at: {LOUD} (Mul)" in page
    assert "Keep FP32: " in page
    assert "-growth" in page


def test_fp32_is_not_mended_by_precision_and_a_side_that_passes_has_no_start(
    convnet, tmp_path, capsys
) -> None:
    wrong = damaged(convnet, tmp_path / "wrong.onnx", "stage1/block0/conv1/weight")
    _, found = run(capsys, wrong, "--reference", convnet, "--samples", 1, "--suggest-precision")
    precision = found["sides"][0]["precision"]
    assert precision["trials"] == []
    assert "computes in FP32 already" in precision["why_none"]
    on = "ort-cpu?graph_optimization_level=disable"
    status, found = run(capsys, convnet, "--on", on, "--samples", 1, "--bisect")
    inside = found["sides"][0]["bisect"]
    assert (status, inside["first"], inside["cause"]) == (0, None, "within")
    assert "disable" in inside["optimisation"]


def test_a_side_that_cannot_be_bisected_keeps_its_verdict(convnet, tmp_path, monkeypatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BackendError("building wrong.onnx", why="no more memory")

    monkeypatch.setattr(branches.IntermediateOutputs, "marked", refuse)
    wrong = damaged(convnet, tmp_path / "wrong.onnx", "stage2/block0/conv1/weight")
    found = es.validate(wrong, reference=convnet, samples=1, bisect=True)
    assert not found.passes
    assert (found.sides[0].inside, found.sides[0].precision) == (None, None)
    (notice,) = (one for one in found.notices if one.code == "W-NOT-LOOKED-INTO")
    assert "no more memory" in notice.message


def test_what_cannot_be_looked_into_is_said_before_anything_runs(tmp_path, capsys) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = save(
        tmp_path / "net.onnx", nodes, [value("x", ["n", 4])], [value("y", ["n", 3])], w=WEIGHTS
    )
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    x = np.ones((1, 4), np.float32)
    for name, values in (("input_0", x), ("output_0", x @ -WEIGHTS)):
        proto = numpy_helper.from_array(values, "x" if name == "input_0" else "y")
        (folder / f"{name}.pb").write_bytes(proto.SerializeToString())
    assert main(["validate", str(model), "--bisect"]) == 2
    told = capsys.readouterr().err
    assert "have no reference for intermediate tensors" in told
    assert "--reference MODEL" in told
    assert main(["validate", str(model), "--marks", "3"]) == 2
    assert "how many tensors --bisect marks" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1"])
def test_a_damaged_layer_is_found_in_few_builds(tmp_path, capsys, version) -> None:
    model = overflowing(tmp_path / "net.onnx", size=8)
    wrong = damaged(model, tmp_path / "wrong.onnx", "third_w")
    sides = (wrong, "--reference", model, "--on", "trt:fp16", "--samples", 1)
    with tensorrt(version):
        status, found = run(capsys, *sides, "--bisect", "--marks", 3, "--store", tmp_path / "store")
    assert status == 1
    inside = found["sides"][0]["bisect"]
    assert (inside["first"]["node"], inside["cause"]) == ("third", "departs")
    assert inside["marked_copies"] <= 3
    # what was built to look inside is not kept among the user's engines
    assert len(list((tmp_path / "store").rglob("*.engine"))) == 1


def test_proposals_are_built_with_layers_kept_in_fp32(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    model = overflowing(tmp_path / "net.onnx", size=8)
    wrong = damaged(model, tmp_path / "wrong.onnx", "loud_w")
    sides = (wrong, "--reference", model, "--on", "trt:fp16", "--samples", 1)
    with tensorrt("8.6.0"):
        _, found = run(capsys, *sides, "--suggest-precision", "--store", tmp_path / "store")
    tried = found["sides"][0]["precision"]
    by_kind = {one["kind"]: one for one in tried["trials"]}
    assert by_kind["first"]["specification"] == f"trt:fp16?keep_fp32={LOUD}"
    assert by_kind["all"]["specification"] == "trt"
    assert all(one["failure"] is None for one in tried["trials"])
    assert all(one["latency_ms"] > 0 for one in tried["trials"])
    # the weights are wrong, not the precision: nothing that is kept in FP32 mends that
    assert tried["suggested"] is None


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_sets_the_precision_is_converted_anew(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    model = overflowing(tmp_path / "net.onnx", size=8, by_constant=True)
    half = fp16_model(model, tmp_path / "cache").path
    sides = (half, "--reference", model, "--on", "trt", "--samples", 1)
    with tensorrt("11.4.0"):
        status, found = run(capsys, *sides, "--suggest-precision", "--store", tmp_path / "store")
    assert status == 1
    side = found["sides"][0]
    assert (side["bisect"]["first"]["node"], side["bisect"]["cause"]) == (LOUD, "overflow")
    trials = {one["kind"]: one for one in side["precision"]["trials"]}
    assert not trials["none"]["passes"]
    assert trials["overflow"]["passes"], trials
    assert trials["overflow"]["kept_nodes"] == [LOUD, "pool", "scale"]
