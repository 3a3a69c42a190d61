"""Validate runs the reference once more, rounded, and judges each side by that noise."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enginescope as es
from enginescope.runner.inputs.sample_models import sample_models
from tests.honest.detector import HEAD, detector, picture
from tests.honest.runs import quantized, run

pytestmark = pytest.mark.usefixtures("in_process")

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A detector, pictures, and the detector in INT8: with its head kept in FP32, and without."""
    home = tmp_path_factory.mktemp("detector")
    model = detector(home / "detector.onnx")
    feeds = [{"image": picture(seed)} for seed in range(3)]
    (home / "data").mkdir()
    for number, feed in enumerate(feeds):
        np.savez(home / "data" / f"{number}.npz", **feed)
    quantized(model, home / "honest.onnx", feeds, HEAD)
    quantized(model, home / "destroyed.onnx", feeds, ())
    return home


@pytest.mark.slow
def test_an_int8_detector_passes_unless_its_scores_are_destroyed(folder) -> None:
    """Boxes and scores under one scale: the best scores become 0 or 1.24."""
    data = folder / "data"
    scores = [one["output0"][:, 4:] for one in run(folder / "destroyed.onnx", _feeds(data))]
    assert {round(float(value), 2) for value in np.unique(scores)} == {0.0, 1.24}
    both = es.validate(
        folder / "honest.onnx", folder / "destroyed.onnx", reference=folder / "detector.onnx",
        data=data,
    )  # fmt: skip
    honest, destroyed = both.sides
    assert honest.tolerance == destroyed.tolerance == "int8"
    assert honest.passes
    assert not destroyed.passes
    assert {one.name for one in destroyed.diff.outputs if not one.passes} == {"output0"}


def _feeds(data: Path) -> list[dict[str, Any]]:
    return [dict(np.load(one)) for one in sorted(data.iterdir())]


@pytest.mark.slow
def test_the_noise_of_fp16_is_that_of_rounded_weights_on_the_command_line_too(folder) -> None:
    found = es.validate(folder / "detector.onnx", on="ort-cpu:fp16", data=folder / "data")
    (output,) = found.sides[0].diff.outputs
    noise = output.expected_noise
    assert found.passes
    assert 0.2 < output.figures.rmse / noise.rmse < 5
    assert "I-NO-EXPECTED-NOISE" not in {one.code for one in found.notices}
    model, data = str(folder / "detector.onnx"), str(folder / "data")
    words = ["validate", model, "--on", "ort-cpu:fp16", "--data", data, "--json"]
    command = [sys.executable, "-m", "enginescope", *words]
    printed = json.loads(subprocess.run(command, capture_output=True).stdout)
    (output,) = printed["sides"][0]["outputs"]
    (known,) = found.sides[0].diff.outputs
    assert output["expected_noise"]["rmse"] == known.expected_noise.rmse


def test_stored_outputs_have_no_rounded_copy_and_that_is_said(folder, tmp_path) -> None:
    outputs = run(folder / "detector.onnx", _feeds(folder / "data"))
    for number, one in enumerate(outputs):
        np.savez(tmp_path / f"{number}.npz", **one)
    found = es.validate(
        folder / "detector.onnx", on="ort-cpu:fp16", data=folder / "data", reference=tmp_path
    )
    (notice,) = [one for one in found.notices if one.code == "I-NO-EXPECTED-NOISE"]
    assert "stored outputs" in notice.message
    assert found.sides[0].diff.outputs[0].expected_noise is None


def test_fp32_has_no_rounded_copy_and_nothing_of_a_rounded_run_stays(tmp_path) -> None:
    model = sample_models(tmp_path)[0]
    found = es.validate(model, on="ort-cpu?graph_optimization_level=disable", samples=2)
    assert found.sides[0].tolerance == "fp32"
    assert all(one.expected_noise is None for one in found.sides[0].diff.outputs)
    assert "I-NO-EXPECTED-NOISE" not in {one.code for one in found.notices}
    out = tmp_path / "out"
    es.validate(model, on="ort-cpu:fp16", samples=2, output=out)
    assert {one.name for one in (out / "samples").iterdir()} == {"inputs", "reference", "side-1"}
