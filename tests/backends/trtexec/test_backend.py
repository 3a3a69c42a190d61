import pytest

from enginescope.backends.registry import backend_names, load_backend, parse_backend
from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.backend import TrtexecBackend
from enginescope.core import errors
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.records.progress import Progress
from enginescope.records.run.job import BackendSpec, Job, Mode, Subject
from enginescope.runner.jobs import make_jobs
from tests.backends.onnxruntime import models
from tests.backends.trtexec.jobs import job, measured, workload


def test_it_is_in_the_registry(tool) -> None:
    assert "trtexec" in backend_names()
    assert isinstance(load_backend("trtexec"), TrtexecBackend)
    spec = parse_backend("trtexec:fp16+int8?workspace=1GiB")
    assert (spec.precision, spec.options) == ("fp16+int8", {"workspace": "1GiB"})
    with pytest.raises(UsageError, match="has no option"):
        parse_backend("trtexec?latency_us=5")


def test_a_machine_without_it(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("TRTEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(process, "USUAL", tmp_path / "absent")
    with pytest.raises(errors.MissingDependencyError):
        TrtexecBackend().require(parse_backend("trtexec"))
    state = TrtexecBackend().availability()
    assert not state.usable
    assert "trtexec is not on this machine" in state.detail
    assert "container" in (state.hint or "")


def test_availability(tool) -> None:
    state = TrtexecBackend().availability()
    assert state.usable
    assert state.detail == f"TensorRT 8.6.1: {tool.binary}"
    tool.version("11.4.1")
    assert "newer than 11.1" in TrtexecBackend().availability().detail
    tool.fault("loader")
    assert "does not start" in TrtexecBackend().availability().detail


def test_the_binary_of_the_specification(tool, engine, monkeypatch) -> None:
    monkeypatch.delenv("TRTEXEC")
    assert measured(job(engine, options={"binary": str(tool.binary)})).samples
    assert not tool.has("binary")


def test_what_is_missing_or_has_no_flag_is_said_before_a_job_is_made(
    tool, engine, tmp_path
) -> None:
    with pytest.raises(UsageError, match="no such file"):
        make_jobs([engine], [f"trtexec?binary={tmp_path / 'absent'}"], workload())
    with pytest.raises(UsageError, match="trtexec has no `cold`"):
        make_jobs([engine], ["trtexec"], workload(mode=Mode(cold=True)))
    mode = Mode(kind="throughput", spin_wait=True, streams=2, transfers=False, idle_ms=1.0)
    assert make_jobs([engine], ["trtexec"], workload(mode=mode))


def test_it_runs_models_and_engines_alone(tool) -> None:
    TrtexecBackend().prepare()  # imports nothing ahead
    one = Job(subject=Subject(name="none", kind="synthetic"), backend=BackendSpec(name="trtexec"))
    with pytest.raises(UnsupportedError, match="neither an ONNX model nor an engine"):
        measured(one)


def test_progress_memory_and_an_empty_temporary_folder(
    tool, convnet, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[Progress] = []
    result = measured(job(convnet), seen)
    phases = [one.phase for one in seen]
    assert phases == ["load", "parse", "build", "load", "steady_state", "layer_profile"]
    assert (result.peak_memory_bytes or 0) > 1 << 20
    assert list(tmp_path.glob("enginescope-trtexec-*")) == []


def test_indices_out_of_range_point_to_range(tool, tmp_path) -> None:
    tool.fault("fails")
    with pytest.raises(BackendError) as caught:
        measured(job(models.lookup(tmp_path / "m.onnx")))
    assert "--range ids:0:99" in (caught.value.hint or "")


def test_an_argument_that_trtexec_does_not_know(tool, engine) -> None:
    with pytest.raises(BackendError, match="Unknown option: --fp61") as caught:
        measured(job(engine, options={"args": "--fp61"}))
    assert "--trtexec-args" in (caught.value.hint or "")
