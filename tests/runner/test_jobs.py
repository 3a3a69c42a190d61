import hashlib
from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.records.run.job import Limits, StopRule, WarmUp, Workload
from enginescope.runner import jobs
from enginescope.runner.jobs import limits_for, make_jobs, subject_of


def test_models_times_backends(tmp_path) -> None:
    models = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path in models:
        path.write_bytes(path.name.encode())
    made = make_jobs(models, ["ort-cpu", "fake?seed=1"], Workload())
    assert [(job.subject.name, str(job.backend)) for job in made] == [
        ("a.onnx", "ort-cpu"),
        ("a.onnx", "fake?seed=1"),
        ("b.onnx", "ort-cpu"),
        ("b.onnx", "fake?seed=1"),
    ]
    assert made[0].subject.sha256 == hashlib.sha256(b"a.onnx").hexdigest()
    assert made[0].subject.size_bytes == 6


def test_kinds_of_models_and_the_neighbour_that_is_suggested(tmp_path) -> None:
    for name, kind in (("a.onnx", "onnx"), ("a.engine", "engine"), ("a.plan", "engine")):
        (tmp_path / name).touch()
        assert subject_of(tmp_path / name).kind == kind
    folder = tmp_path / "mobilenet"
    folder.mkdir()
    (folder / "model.onnx").touch()
    assert subject_of(folder / "model.onnx").name == "mobilenet/model.onnx"
    (tmp_path / "resnet18.onnx").touch()
    with pytest.raises(UsageError) as caught:
        subject_of(tmp_path / "resnet81.onnx")
    assert "resnet18.onnx" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="a folder"):
        subject_of(tmp_path)
    (tmp_path / "bert.onnx").touch()
    with pytest.raises(UsageError) as caught:
        subject_of(tmp_path / "vit.onnx")
    assert (caught.value.hint or "").startswith("there: ")


def test_data_sets(tmp_path) -> None:
    model = tmp_path / "m.onnx"
    model.touch()
    (tmp_path / "test_data_set_1").mkdir()
    (tmp_path / "test_data_set_0").mkdir()
    (tmp_path / "test_data_set_1" / "input_0.pb").touch()
    plain = Workload()

    def chosen(data: str, workload: Workload) -> str | None:
        return make_jobs([model], ["fake"], workload, data=data)[0].workload.data_set

    assert chosen("auto", plain) == str(tmp_path / "test_data_set_0")
    assert chosen("none", plain) is None
    assert chosen(str(tmp_path / "test_data_set_1"), plain) == str(tmp_path / "test_data_set_1")
    assert chosen("auto", Workload(data_set="mine")) == "mine"
    assert chosen("none", Workload(data_set="mine")) is None
    for absent in (str(tmp_path / "absent"), "~nobody-of-that-name/set"):
        with pytest.raises(UsageError, match="no such folder"):
            chosen(absent, plain)
    with pytest.raises(UsageError, match=r"holds no input_\*\.pb"):
        chosen(str(tmp_path / "test_data_set_0"), plain)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS"),
        (b'\xef\xbb\xbf\n {"Layers": []}', "it is JSON"),
        (b"<!DOCTYPE html>", "a page"),
        (b"PK\x03\x04rest", "zip file"),
    ],
)
def test_what_is_plainly_no_model_is_said_before_anything_runs(tmp_path, content, said) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        make_jobs([path], ["ort-cpu"], Workload())
    assert caught.value.hint


def test_a_model_that_cannot_be_read(tmp_path, monkeypatch) -> None:
    (tmp_path / "m.onnx").touch()

    def refuse(_) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(jobs, "sha256_of", refuse)
    with pytest.raises(UsageError, match="Permission denied"):
        subject_of(tmp_path / "m.onnx")


def test_a_name_that_no_run_could_hold(tmp_path) -> None:
    path = tmp_path / "caf\udce9.onnx"
    path.touch()
    with pytest.raises(UsageError, match="not UTF-8"):
        subject_of(path)


def test_the_timeout_leaves_the_timing_its_time() -> None:
    assert limits_for(Workload()) == Limits()
    assert limits_for(Workload(stop=StopRule(iterations=5, max_time_ms=1e7))) == Limits()
    long = Workload(stop=StopRule(duration_ms=3_600_000))
    assert limits_for(long).timeout_s > 3_600 + 60
    assert limits_for(Workload(stop=StopRule(max_time_ms=600_000))).timeout_s > 6 * 600 + 60
    assert limits_for(Workload(warmup=WarmUp(time_ms=6e5, limit_ms=6e6))).timeout_s > 6_060
    wanted = Limits(timeout_s=5, build_timeout_s=5, memory_bytes=7)
    assert limits_for(long, timeout_s=5, memory_bytes=7) == wanted
    (tiny,) = make_jobs([Path(__file__)], ["fake"], long)
    assert tiny.limits == limits_for(long)
