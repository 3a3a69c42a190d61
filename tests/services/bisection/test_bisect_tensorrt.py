"""``validate --bisect`` on the stand-in for TensorRT: the path, not the numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from enginescope.cli.main import main
from enginescope.services.bisection import fp32_fallback
from tests.fakes import loading
from tests.overflowing import LOUD, SHORT_STOP, overflowing

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]


def run(capsys, *arguments: Any) -> tuple[int, Any]:
    status = main(["validate", *map(str, arguments), "--json"])
    text = capsys.readouterr()
    assert text.out, text.err
    return status, json.loads(text.out)


def damaged(model: Path, path: Path, weight: str) -> Path:
    proto = onnx.load(model)
    for one in proto.graph.initializer:
        if one.name == weight:
            values = numpy_helper.to_array(one).copy()
            one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values[::-1]), weight))
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1"])
def test_a_damaged_layer_is_found_in_few_builds(tmp_path, capsys, monkeypatch, version) -> None:
    for name, value in loading.environment(version).items():
        monkeypatch.setenv(name, value)
    with loading.loaded(version):
        model = overflowing(tmp_path / "net.onnx", size=8)
        wrong = damaged(model, tmp_path / "wrong.onnx", "third_w")
        status, found = run(
            capsys, wrong, "--reference", model, "--on", "trt:fp16", "--samples", 1,
            "--bisect", "--marks", 3, "--store", tmp_path / "store",
        )  # fmt: skip
    assert status == 1
    inside = found["sides"][0]["bisect"]
    assert (inside["first"]["node"], inside["cause"]) == ("third", "departs")
    assert inside["marked_copies"] <= 3
    # what was built to look inside is not kept among the user's engines
    assert len(list((tmp_path / "store").rglob("*.engine"))) == 1


def test_proposals_are_built_with_layers_kept_in_fp32(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    for name, value in loading.environment("8.6.0").items():
        monkeypatch.setenv(name, value)
    with loading.loaded("8.6.0"):
        model = overflowing(tmp_path / "net.onnx", size=8)
        wrong = damaged(model, tmp_path / "wrong.onnx", "loud_w")
        _, found = run(
            capsys, wrong, "--reference", model, "--on", "trt:fp16", "--samples", 1,
            "--suggest-precision", "--store", tmp_path / "store",
        )  # fmt: skip
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
    pytest.importorskip("onnx_ir")
    from enginescope.backends.onnxruntime.convert.fp16 import fp16_model

    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    model = overflowing(tmp_path / "net.onnx", size=8, by_constant=True)
    half = fp16_model(model, tmp_path / "cache").path
    for name, value in loading.environment("11.4.0").items():
        monkeypatch.setenv(name, value)
    with loading.loaded("11.4.0"):
        status, found = run(
            capsys, half, "--reference", model, "--on", "trt", "--samples", 1,
            "--suggest-precision", "--store", tmp_path / "store",
        )  # fmt: skip
    assert status == 1
    side = found["sides"][0]
    assert (side["bisect"]["first"]["node"], side["bisect"]["cause"]) == (LOUD, "overflow")
    trials = {one["kind"]: one for one in side["precision"]["trials"]}
    assert not trials["none"]["passes"]
    assert trials["overflow"]["passes"], trials
    assert trials["overflow"]["kept_nodes"] == [LOUD, "pool", "scale"]
