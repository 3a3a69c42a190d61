from __future__ import annotations

import hashlib

import pytest

from enginescope.core.errors import UsageError
from enginescope.model.job import Workload
from enginescope.runner.jobs import make_jobs, subject_of


def test_models_times_backends(tmp_path) -> None:
    models = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path in models:
        path.write_bytes(path.name.encode())
    jobs = make_jobs(models, ["ort-cpu", "fake?seed=1"], Workload())
    assert [(job.subject.name, str(job.backend)) for job in jobs] == [
        ("a.onnx", "ort-cpu"),
        ("a.onnx", "fake?seed=1"),
        ("b.onnx", "ort-cpu"),
        ("b.onnx", "fake?seed=1"),
    ]
    assert jobs[0].subject.sha256 == hashlib.sha256(b"a.onnx").hexdigest()
    assert jobs[0].subject.size_bytes == 6


def test_kinds(tmp_path) -> None:
    for name, kind in (("a.onnx", "onnx"), ("a.engine", "engine"), ("a.plan", "engine")):
        (tmp_path / name).touch()
        assert subject_of(tmp_path / name).kind == kind


def test_a_file_called_model_is_told_by_its_folder(tmp_path) -> None:
    folder = tmp_path / "mobilenet"
    folder.mkdir()
    (folder / "model.onnx").touch()
    assert subject_of(folder / "model.onnx").name == "mobilenet/model.onnx"


def test_the_neighbour_is_suggested(tmp_path) -> None:
    (tmp_path / "resnet18.onnx").touch()
    with pytest.raises(UsageError) as caught:
        subject_of(tmp_path / "resnet81.onnx")
    assert "resnet18.onnx" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="a folder"):
        subject_of(tmp_path)


def test_data_sets(tmp_path) -> None:
    model = tmp_path / "m.onnx"
    model.touch()
    (tmp_path / "test_data_set_1").mkdir()
    (tmp_path / "test_data_set_0").mkdir()

    def chosen(data: str) -> str | None:
        return make_jobs([model], ["fake"], Workload(), data=data)[0].workload.data_set

    assert chosen("auto") == str(tmp_path / "test_data_set_0")
    assert chosen("none") is None
    assert chosen(str(tmp_path / "test_data_set_1")) == str(tmp_path / "test_data_set_1")
    with pytest.raises(UsageError, match="no such folder"):
        chosen(str(tmp_path / "absent"))
