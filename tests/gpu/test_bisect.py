"""Where an engine's error starts, and what mends it, on a real GPU."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from enginescope.backends.onnxruntime.convert.fp16 import fp16_model
from enginescope.cli.main import main
from tests.gpu.conftest import spec
from tests.overflowing import LOUD, TENSOR, overflowing


def validated(capsys, store: Path, *arguments: Any) -> tuple[int, Any]:
    typed = [*map(str, arguments), "--random", "--json", "--store", str(store)]
    status = main(["validate", *typed])
    text = capsys.readouterr()
    assert text.out, text.err
    (side,) = json.loads(text.out)["sides"]
    return status, side


@pytest.fixture
def loud(tmp_path) -> Path:
    return overflowing(tmp_path / "loud.onnx", size=64)


def test_the_first_overflow_is_found_and_mended_in_fp32(loud, tmp_path, capsys) -> None:
    fp16 = spec("fp16", tf32="0")
    if _version() >= 11:
        pytest.skip("this TensorRT takes precision from the model alone")
    status, side = validated(
        capsys, tmp_path / "store", loud, "--on", fp16, "--samples", 2, "--suggest-precision"
    )
    assert status == 1, "the engine did not overflow: TensorRT computed the loud layer in FP32"
    inside = side["bisect"]
    assert inside["cause"] == "overflow", inside
    assert inside["overflowing"] == TENSOR, inside
    # a layer may be told before it is stored: then its reader shows it first
    assert inside["first"]["node"] in (LOUD, "pool"), inside["first"]
    trials = {one["kind"]: one for one in side["precision"]["trials"]}
    assert not trials["none"]["passes"], trials
    assert trials["all"]["passes"], trials
    mended = [one for one in trials.values() if one["passes"] and one["kept_nodes"]]
    assert mended, trials
    assert LOUD in mended[0]["kept_nodes"]
    assert all(one["latency_ms"] > 0 for one in trials.values() if not one["failure"])
    assert side["precision"]["suggested"]["passes"]
    # what was suggested passes when it is typed
    kept = spec("fp16", tf32="0", keep_fp32=f"{LOUD},pool,scale")
    status, side = validated(capsys, tmp_path / "store", loud, "--on", kept, "--samples", 2)
    assert status == 0, side["outputs"]


def test_a_damaged_layer_is_found(loud, tmp_path, capsys) -> None:
    proto = onnx.load(loud)
    for one in proto.graph.initializer:
        if one.name == "third_w":
            values = numpy_helper.to_array(one)
            one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values[::-1]), one.name))
    wrong = tmp_path / "wrong.onnx"
    onnx.save(proto, wrong)
    status, side = validated(
        capsys, tmp_path / "store", wrong, "--reference", loud, "--on", spec(), "--samples", 1,
        "--bisect", "--marks", 3,
    )  # fmt: skip
    assert status == 1
    assert side["bisect"]["first"]["node"] == "third", side["bisect"]
    assert side["bisect"]["cause"] == "departs"


def test_a_converted_model_is_looked_into_and_mended(loud, tmp_path, capsys) -> None:
    """The way of strongly typed networks, which compute an FP16 model as it is."""
    pytest.importorskip("onnx_ir")
    if _version() < 10:
        pytest.skip("TensorRT 8 may compute in FP16 what a model holds as FP32")
    half = Path(fp16_model(loud, tmp_path / "cache").path)
    on = spec(**({"strongly_typed": "1"} if _version() == 10 else {}))
    status, side = validated(
        capsys, tmp_path / "store", half, "--reference", loud, "--on", on, "--samples", 2,
        "--suggest-precision",
    )  # fmt: skip
    assert status == 1
    assert side["bisect"]["overflowing"] == TENSOR, side["bisect"]
    tried = side["precision"]["trials"]
    assert any(one["passes"] and one["kept_nodes"] for one in tried), tried


def _version() -> int:
    return int(import_module("tensorrt").__version__.partition(".")[0])
