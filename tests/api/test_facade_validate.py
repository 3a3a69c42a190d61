"""``es.validate``: the comparison of answers from Python."""

import json

import msgspec
import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import UsageError
from enginescope.records.run.job import InputShape, StopRule, WarmUp, Workload
from enginescope.records.run.sample_set import Preprocessing
from tests.fakes.models import perceptron

pytestmark = pytest.mark.usefixtures("in_process")

EXACT = "ort-cpu?graph_optimization_level=disable"


def test_the_result_is_frozen_and_has_the_figures(tmp_path) -> None:
    model, out = perceptron(tmp_path / "net.onnx"), tmp_path / "out"
    found = es.validate(model, on=EXACT, samples=3, workload=Workload(batch=4), output=out)
    assert found.passes
    (side,) = found.sides
    (output,) = side.diff.outputs
    assert (output.name, output.samples, output.figures.elements) == ("y", 3, 36)
    assert len(found.samples) == 3
    with pytest.raises(AttributeError):
        found.sides = ()
    written = json.loads((out / "output_diff.json").read_text())
    assert written["sides"][0]["outputs"][0]["rmse"] == output.figures.rmse
    assert (out / "validate.html").is_file()
    assert len(list((out / "samples" / "inputs").iterdir())) == 3


@pytest.mark.slow
def test_data_and_limits_are_those_given(tmp_path) -> None:
    model = perceptron(tmp_path / "net.onnx")
    generator = np.random.default_rng(0)
    inputs, answers = tmp_path / "inputs", tmp_path / "answers"
    for folder in (inputs, answers):
        folder.mkdir()
    first = es.validate(
        model, on=EXACT, samples=2, workload=Workload(batch=2), output=tmp_path / "o"
    )
    assert first.passes
    for number in range(2):
        np.savez(inputs / f"{number}.npz", x=generator.standard_normal((2, 4)).astype(np.float32))
        np.savez(answers / f"{number}.npz", y=np.zeros((2, 3), np.float32))
    assert not es.validate(model, data=inputs, reference=answers).passes
    assert es.validate(model, data=[inputs], reference=answers, atol={"y": 1e3}).passes
    assert es.validate(model, data=inputs, reference=answers, percent_mismatch=100).passes is False
    shapes = tuple(InputShape(name="x", dims=(n, 4)) for n in (1, 2, 5))
    several = es.validate(model, on=EXACT, samples=1, workload=Workload(shapes=shapes))
    assert several.sides[0].diff.outputs[0].shapes == ((1, 3), (2, 3), (5, 3))


@pytest.mark.parametrize(
    "given",
    [
        {"rtol": float("nan")},
        {"atol": {"y": float("inf")}},
        {"rtol": -1},
        {"percent_mismatch": "1e-3"},
        {"samples": 0},
        {"samples": -3},
    ],
)
def test_a_limit_that_is_none_is_no_limit(tmp_path, given) -> None:
    """NaN would pass whatever there is."""
    model = perceptron(tmp_path / "net.onnx")
    with pytest.raises(UsageError, match=r"tolerance|`samples`"):
        es.validate(model, on=EXACT, **given)


@pytest.mark.parametrize(
    "given", [{"divisor": 0.0}, {"divisor": float("nan")}, {"std": (1.0, 0.0)}, {"mean": (1e999,)}]
)
def test_pictures_that_would_be_no_numbers_are_a_mistake(tmp_path, given) -> None:
    model = perceptron(tmp_path / "net.onnx")
    with pytest.raises(UsageError, match="preprocessing"):
        es.validate(model, on=EXACT, preprocessing=Preprocessing(**given))


def test_the_result_can_be_encoded_and_what_contradicts_itself_is_refused(tmp_path) -> None:
    model = perceptron(tmp_path / "net.onnx")
    with pytest.raises(UsageError, match="`tolerance` and `rtol`"):
        es.validate(model, on=EXACT, samples=1, tolerance="fp16", rtol=0.1)
    with pytest.raises(es.EnginescopeError, match="nothing to validate"):
        es.validate()
    assert es.validate(model, on=EXACT, samples=1, tolerance="fp16", rtol={"y": 0.1}).passes
    found = es.validate(model, on=EXACT, samples=1)
    assert json.loads(msgspec.json.encode(found))["reference"] == found.reference


def test_a_database_is_a_store_too(tmp_path, monkeypatch) -> None:
    """Not a folder that has its name."""
    monkeypatch.chdir(tmp_path)
    model = perceptron(tmp_path / "net.onnx")
    url = f"sqlite:///{tmp_path / 'team.db'}"
    assert es.validate(model, on=EXACT, samples=1, store=url).passes
    assert [one.name for one in tmp_path.iterdir()] == ["net.onnx"]
    with pytest.raises(es.EnginescopeError, match="neither a folder nor a database"):
        es.validate(model, on=EXACT, samples=1, store="mysql://host/db")


@pytest.mark.slow
def test_a_report_carries_it(tmp_path) -> None:
    model = perceptron(tmp_path / "net.onnx")
    quick = Workload(warmup=WarmUp(iterations=1, time_ms=1), stop=StopRule(iterations=20))
    measured = es.bench(model, workload=quick)
    found = es.validate(model, on=EXACT, samples=2)
    written = es.write_report(measured, tmp_path / "report", answers=found)
    assert "Outputs compared" in written.page.read_text()
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert [(one["source"], one["passes"]) for one in report["answers"]] == [("es.validate", True)]
