"""Honest runs of real models pass; runs that lose their task's figures by a planted error fail."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enginescope as es
from enginescope.runner.inputs.sample_models import sample_models
from tests.cli.called import called
from tests.honest.detector import HEAD, detector, picture
from tests.honest.models import MODELS
from tests.honest.runs import honest_runs, judged, quantized, rounded_runs, run

pytestmark = pytest.mark.usefixtures("in_process")

#: Models whose honest runs all pass; benchmarks/honest_runs.py has the others.
PASSING = ["MNIST CNN", "toy BERT", "voice commands", "YOLO-shaped detector"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSING)
def test_honest_runs_pass(name, tmp_path) -> None:
    model = MODELS[name]
    reference = run(model.path(tmp_path), model.feeds())
    rounded = rounded_runs(model, tmp_path)
    failing = [
        one.name
        for one in honest_runs(model, tmp_path)
        if one.holds and not judged(reference, one.outputs, one.row, rounded.get(one.row)).passes
    ]
    assert failing == []


@pytest.mark.slow
@pytest.mark.parametrize("level", ["off", "basic"])
def test_pictures_without_text_pass_at_every_level(level, tmp_path) -> None:
    """Maps of values near 0 differ by 1.2e-7."""
    model = MODELS["PP-OCR detection, no text"]
    path, feeds = model.path(tmp_path), model.feeds()
    assert judged(run(path, feeds), run(path, feeds, level), "fp32").passes


@pytest.mark.slow
@pytest.mark.parametrize(("row", "factor"), [("fp32", 0.5), ("fp16", 0.0)])
def test_scores_halved_or_zeroed_fail(row, factor, tmp_path) -> None:
    model = MODELS["YOLO-shaped detector"]
    reference = run(model.path(tmp_path), model.feeds())
    wrong = [{name: value.copy() for name, value in one.items()} for one in reference]
    for one in wrong:
        one["output0"][:, 4:] *= factor
    assert not judged(reference, wrong, row).passes


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
    model, data = folder / "detector.onnx", folder / "data"
    found = es.validate(model, on="ort-cpu:fp16", data=data)
    (output,) = found.sides[0].diff.outputs
    assert found.passes
    assert 0.2 < output.figures.rmse / output.expected_noise.rmse < 5
    assert "I-NO-EXPECTED-NOISE" not in {one.code for one in found.notices}
    ended = called("validate", model, "--on", "ort-cpu:fp16", "--data", data, "--json")
    (known,) = json.loads(ended.stdout)["sides"][0]["outputs"]
    assert known["expected_noise"]["rmse"] == output.expected_noise.rmse


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
