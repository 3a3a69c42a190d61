from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from enginescope.core.errors import UsageError
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleFile, SampleShape
from enginescope.records.tensor import DataType, Tensor
from enginescope.runner import jobs as jobs_module
from enginescope.runner.inputs.images import height_width, picture_shape
from enginescope.services.accuracy.output_files import with_picture_shapes
from enginescope.services.accuracy.request import ValidateRequest
from enginescope.services.accuracy.sides import REFERENCE, Sides, sides_of, tolerance_name
from enginescope.services.accuracy.validation_run import check_space
from tests.depth_models import depth_model
from tests.fakes import models


def sides(
    tmp_path: Path, model: Path, backends: Sequence[str], samples: Sequence[Sample], **more: Any
) -> Sides:
    request = ValidateRequest(models=(model,), on=tuple(backends), store=tmp_path, **more)
    return sides_of(request, samples)


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    """A model; what a backend lacks on this machine is not asked."""
    monkeypatch.setattr(jobs_module, "check_demands", lambda *_, **__: None)
    return models.perceptron(tmp_path / "net.onnx")


def sample(*dims: int) -> Sample:
    return Sample(name="s", shapes=(SampleShape(input="x", dims=dims),) if dims else ())


def test_the_reference_is_the_cpu_with_fixed_threads_and_no_side_too(model, tmp_path) -> None:
    found = sides(tmp_path, model, ["trt:fp16"], [sample()])
    assert str(found.reference.job.backend) == REFERENCE
    assert found.reference.label == "net.onnx · ort-cpu"
    assert "1 thread" in found.note
    assert [one.label for one in found.others] == ["net.onnx · trt:fp16"]
    found = sides(tmp_path, model, ["ort-cpu", "ort-cuda"], [sample()], reference="ort-cpu")
    assert [one.label for one in found.others] == ["net.onnx · ort-cuda"]
    with pytest.raises(UsageError, match="nothing to compare"):
        sides(tmp_path, model, ["ort-cpu"], [sample()])


def test_an_engine_is_built_for_all_samples_and_limits_have_no_options(model, tmp_path) -> None:
    samples = [sample(1, 4), sample(8, 4), sample(3, 4)]
    (built,) = sides(tmp_path, model, ["trt"], samples).others
    options = built.job.backend.options
    assert (options["min_shapes"], options["max_shapes"]) == ("x:1x4", "x:8x4")
    assert built.label == "net.onnx · trt"
    found = sides(tmp_path, model, ["trt?min_shapes=x:1x4&max_shapes=x:16x4"], samples)
    assert found.others[0].job.backend.options["max_shapes"] == "x:16x4"
    # Shapes of a profile that follow from the samples are three lines of noise.
    found = sides(tmp_path, model, ["trt:fp16?workspace=1GiB"], samples)
    assert tolerance_name(found.others[0], found.reference)[1] == "trt:fp16 may compute in fp16"


@pytest.mark.parametrize(
    ("backend", "wanted"),
    [
        ("ort-cpu?graph_optimization_level=disable", "fp32"),
        ("ort-cuda", "tf32"),
        ("ort-cuda?use_tf32=0", "fp32"),
        ("ort-cuda?use_tf32=False", "fp32"),
        ("ort-cuda?use_tf32=1", "tf32"),
        ("ort-cuda:fp16?use_tf32=0", "fp16"),
        ("ort:CUDAExecutionProvider?use_tf32=0", "fp32"),
        ("ort-trt-rtx", "tf32"),
        ("ort:CUDAExecutionProvider", "tf32"),
        ("ort:CPUExecutionProvider", "fp32"),
        ("ort:OpenVINOExecutionProvider", "fp32"),
        ("trt", "tf32"),
        ("trt?tf32=0", "fp32"),
        ("trt?tf32=1", "tf32"),
        ("trt:fp16", "fp16"),
        ("trt:bf16", "bf16"),
        ("trt:int8", "int8"),
        ("trt:best", "int8"),
    ],
)
def test_limits_are_those_of_the_coarsest_precision(model, tmp_path, backend, wanted) -> None:
    found = sides(tmp_path, model, [backend], [sample()])
    assert tolerance_name(found.others[0], found.reference)[0] == wanted


def test_expected_outputs_of_some_samples_alone_are_no_reference(model, tmp_path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "output_0.pb").write_bytes(b"")
    full, bare = (Sample(name=one, data_set=str(tmp_path / one)) for one in ("with", "without"))
    assert sides(tmp_path, model, ["trt"], [full]).reference.job is None
    found = sides(tmp_path, model, ["trt"], [full, bare])
    assert found.reference.label == "net.onnx · ort-cpu"
    assert "1 of 2 data sets have expected outputs: they are not used" in found.note


def test_files_of_one_name_are_told_apart_by_their_folders(model, tmp_path) -> None:
    paths = []
    for folder in ("a/x", "b/x", "c"):
        (tmp_path / folder).mkdir(parents=True)
        paths.append(models.perceptron(tmp_path / folder / "net.onnx"))
    request = ValidateRequest(models=(*paths, paths[2]), on=("ort-cuda",), store=tmp_path)
    found = sides_of(request, [sample()])
    assert found.reference.label == "net.onnx · ort-cpu"
    wanted = ["a/x/net.onnx · ort-cuda", "b/x/net.onnx · ort-cuda", "c/net.onnx · ort-cuda"]
    assert [one.label for one in found.others] == wanted
    request = ValidateRequest(models=(paths[1],), reference=str(paths[2]), store=tmp_path)
    found = sides_of(request, [sample()])
    labels = (found.reference.label, found.others[0].label)
    assert labels == ("c/net.onnx · ort-cpu", "x/net.onnx · ort-cpu")


def test_answers_that_do_not_fit_are_refused_before_they_are_made(tmp_path) -> None:
    depth = Tensor(name="depth", dtype=DataType.FP32, shape=(None, 1, 512, 512))
    check_space(tmp_path, [[depth, Tensor(name="parts", dtype=None, shape=None)], [depth]], 8)
    with pytest.raises(UsageError, match="2,097,152 TiB or more") as caught:
        check_space(tmp_path, [[depth], [depth]], 1 << 40)
    assert "1,099,511,627,776 samples" in str(caught.value)
    assert "TMPDIR" in str(caught.value.hint)


def test_pictures_get_the_size_that_was_said_else_that_of_the_model(tmp_path: Path) -> None:
    taken = Sample(name="a.png", images=(SampleFile(input=None, path="a.png"),))
    net, other = depth_model(tmp_path / "net.onnx", size=("height", "width")), sample()
    how = Preprocessing(size=(32, 48))
    shaped, plain = with_picture_shapes((taken, other), [net], how)
    assert shaped.shapes == (SampleShape(input="image", dims=(1, 3, 32, 48)),)
    assert plain == other
    fixed = depth_model(tmp_path / "fixed.onnx")
    for model, asked in ((net, Preprocessing()), (tmp_path / "a.engine", how), (fixed, how)):
        assert with_picture_shapes((taken,), [model], asked) == (taken,)
    assert picture_shape((None, 3, None, None), (5, 7)) == (1, 3, 5, 7)
    assert picture_shape((None, None, 9, 3), (5, 7)) == (1, 5, 9, 3)
    assert picture_shape((None, None, None, None), (5, 7), "nhwc") == (1, 5, 7, 3)
    assert height_width((1, 5, 7, 3)) == height_width((1, 3, 5, 7)) == (5, 7)
