"""Inputs that are named and that no model has, found in the models' files alone."""

from pathlib import Path

import pytest
from onnx import helper

from enginescope.core.errors import UsageError
from enginescope.records.run.job import InputShape, Workload
from enginescope.records.run.sample_set import Sample, SampleFile, SampleShape
from enginescope.runner.inputs import sample_feeds
from enginescope.runner.jobs import make_jobs, subject_of
from tests.cli.called import called
from tests.fakes.loading import loaded
from tests.fakes.models import WEIGHTS, save, value


def net(path: Path, name: str = "x") -> Path:
    nodes = [helper.make_node("MatMul", [name, "w"], ["y"])]
    return save(path, nodes, [value(name, ["n", 4])], [value("y", ["n", 3])], w=WEIGHTS)


def shaped(*names: str) -> Workload:
    return Workload(shapes=tuple(InputShape(name=one, dims=(1, 4)) for one in names))


def jobs(workload: Workload, *models: Path):
    return make_jobs(models, ["ort-cpu"], workload, has_its_inputs=False)


def test_weights_are_no_inputs_and_a_broken_file_is_its_readers_to_refuse(tmp_path) -> None:
    subject = subject_of(net(tmp_path / "a.onnx"))
    sample_feeds.check_input_names(subject, shaped("x"))
    with pytest.raises(UsageError, match=r"a\.onnx has no input called 'w'"):
        sample_feeds.check_input_names(subject, shaped("x", "w"))
    for name in ("a.onnx", "a.engine"):
        (tmp_path / name).write_bytes(b"\xff\xff\xff")
        sample_feeds.check_input_names(subject_of(tmp_path / name), shaped("z"))


def test_of_several_models_one_has_to_have_it(tmp_path) -> None:
    first, second = net(tmp_path / "a.onnx"), net(tmp_path / "b.onnx", "other")
    sample_feeds.check_shared_names(jobs(shaped("x", "other"), first, second), ())
    with pytest.raises(UsageError, match=r"a\.onnx or b\.onnx has no input called 'z'") as found:
        sample_feeds.check_shared_names(jobs(shaped("z"), first, second), ())
    assert found.value.hint == "one of: 'other', 'x'"
    with pytest.raises(UsageError, match=r"b\.onnx has no input called 'x'"):
        make_jobs([first, second], ["ort-cpu"], shaped("x"))
    engine = tmp_path / "a.engine"
    engine.write_bytes(b"plan")
    sample_feeds.check_shared_names(jobs(shaped("z"), net(tmp_path / "a.onnx"), engine), ())
    with pytest.raises(UsageError, match="no input called 'z'"):
        sample_feeds.check_names_among({"x"}, jobs(shaped("z"), engine), ())


def test_names_of_single_samples(tmp_path) -> None:
    made = jobs(Workload(), net(tmp_path / "a.onnx", "x:0"))
    for name, is_known in (("x:0", True), ("x_0", True), (None, True), ("y", False)):
        sample = Sample(name="s", images=(SampleFile(input=name, path="p.png"),))
        if is_known:
            sample_feeds.check_shared_names(made, (sample,))
            continue
        with pytest.raises(UsageError, match="no input called 'y'"):
            sample_feeds.check_shared_names(made, (sample,))
    shape = SampleShape(input="x_0", dims=(1, 4))
    with pytest.raises(UsageError, match="no input called 'x_0'"):
        sample_feeds.check_shared_names(made, (Sample(name="s", shapes=(shape,)),))


@pytest.mark.usefixtures("in_process")
def test_an_engine_is_asked_before_anybody_answers(tmp_path, monkeypatch) -> None:
    """On the stand-in for TensorRT: what an engine takes only its runtime says."""
    net(tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    with loaded():
        assert called("build", "net.onnx", "-o", "net.engine", "--store", "s").returncode == 0
        ended = called(
            *("validate", "net.engine", "--reference", "net.onnx", "--input-shape", "z:1,4")
        )
    assert ended.returncode == 2
    assert "no input called 'z'" in ended.stderr
    assert "one of: 'x'" in ended.stderr
    assert "samples …" not in ended.stderr
