from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enginescope.cli.validation_sides import REFERENCE, sides_of, tolerance_name
from enginescope.core.errors import UsageError
from enginescope.model.job import Workload
from enginescope.model.sample_set import Sample, SampleShape
from enginescope.runner import jobs as jobs_module
from enginescope.store.archive import Store
from tests.fakes import models


def options(tmp_path: Path, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "store": Store(tmp_path / "store"),
        "reference": None,
        "profile_index": None,
        "timeout": 1e6,
        "memory_limit": None,
        "rebuild": False,
    }
    return usual | more


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    """A model; what a backend lacks on this machine is not asked."""
    monkeypatch.setattr(jobs_module, "check_demands", lambda *_: None)
    return models.perceptron(tmp_path / "net.onnx")


def sample(*dims: int) -> Sample:
    return Sample(name="s", shapes=(SampleShape(input="x", dims=dims),) if dims else ())


def test_the_reference_is_the_cpu_with_fixed_threads(model, tmp_path) -> None:
    found = sides_of([model], ["trt:fp16"], options(tmp_path), Workload(), [sample()])
    assert str(found.reference.job.backend) == REFERENCE
    assert found.reference.label == "net.onnx · ort-cpu"
    assert "1 thread" in found.note
    assert [one.label for one in found.others] == ["net.onnx · trt:fp16"]


def test_a_backend_as_the_reference_is_no_side_too(model, tmp_path) -> None:
    both = ["ort-cpu", "ort-cuda"]
    found = sides_of([model], both, options(tmp_path, reference="ort-cpu"), Workload(), [sample()])
    assert [one.label for one in found.others] == ["net.onnx · ort-cuda"]
    with pytest.raises(UsageError, match="nothing to compare"):
        sides_of([model], ["ort-cpu"], options(tmp_path), Workload(), [sample()])


def test_an_engine_is_built_for_the_shapes_of_all_samples(model, tmp_path) -> None:
    samples = [sample(1, 4), sample(8, 4), sample(3, 4)]
    found = sides_of([model], ["trt"], options(tmp_path), Workload(), samples)
    built = found.others[0].job.backend.options
    assert (built["min_shapes"], built["max_shapes"]) == ("x:1x4", "x:8x4")
    assert found.others[0].label == "net.onnx · trt"
    own = "trt?min_shapes=x:1x4&max_shapes=x:16x4"
    found = sides_of([model], [own], options(tmp_path), Workload(), samples)
    assert found.others[0].job.backend.options["max_shapes"] == "x:16x4"


@pytest.mark.parametrize(
    ("backend", "wanted"),
    [
        ("ort-cpu?graph_optimization_level=disable", "fp32"),
        ("ort-cuda", "tf32"),
        ("trt", "tf32"),
        ("trt:fp16", "fp16"),
        ("trt:bf16", "bf16"),
        ("trt:int8", "int8"),
        ("trt:best", "int8"),
    ],
)
def test_limits_are_those_of_the_coarsest_precision_in_play(
    model, tmp_path, backend, wanted
) -> None:
    found = sides_of([model], [backend], options(tmp_path), Workload(), [sample()])
    assert tolerance_name(found.others[0], found.reference)[0] == wanted
