"""Requests of ONNX Runtime's C API: the same outputs and figures as from Python."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from enginescope.backends.onnxruntime import native
from enginescope.backends.onnxruntime.native import NativeSession, runtime_library
from enginescope.backends.registry import backend_of
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.records.run.job import Job, StopRule, WarmUp
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.onnxruntime import test_gpu_providers as gpu_providers
from tests.backends.onnxruntime.test_gpu_providers import chain
from tests.native.conftest import built, loop  # noqa: F401 - fixtures

pytestmark = pytest.mark.usefixtures("loop")


def job_of(path: Path, **mode: Any) -> Job:
    job = gpu_providers.job_of(path, "ort-cpu?session.intra_op.allow_spinning=0", **mode)
    stop = StopRule(iterations=50)
    workload = replace(job.workload, warmup=WarmUp(time_ms=0, iterations=0), stop=stop)
    return replace(job, workload=workload, layer_profile=False)


def measured(job: Job) -> Any:
    backend = backend_of(job.backend)
    backend.prepare()
    return backend.execute(job, lambda specs: make_feeds(specs, job.workload), lambda _: None)


def codes(found: Any) -> set[str]:
    return {one.code for one in found.notices}


def test_both_loops_give_the_same_outputs_and_the_default_is_native(tmp_path) -> None:
    path = chain(tmp_path / "net.onnx")
    found = {one: measured(job_of(path, loop=one)) for one in ("native", "python")}
    assert {one: found[one].mode.loop for one in found} == {"native": "native", "python": "python"}
    for one, two in zip(*(one.answers for one in found.values()), strict=True):
        assert np.array_equal(one.data, two.data)
    assert [len(one.samples[0]) for one in found.values()] == [50, 50]
    assert "I-PYTHON-LOOP" in codes(found["python"])
    assert "I-PYTHON-LOOP" not in codes(found["native"])
    assert measured(job_of(chain(tmp_path / "net.onnx"))).mode.loop == "native"


def test_outputs_are_written_where_the_request_reads_them(tmp_path) -> None:
    path = chain(tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    values = np.full([2, 8], 0.25, np.float32)
    fed = onnxruntime.OrtValue.ortvalue_from_numpy(values)
    (expected,) = session.run(None, {session.get_inputs()[0].name: values})
    answer = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(expected))
    opened = NativeSession(onnxruntime, job_of(path), str(path))
    name, out = session.get_inputs()[0].name, session.get_outputs()[0].name
    opened.program({name: fed}, {out: answer}).run(2)
    opened.close()
    assert np.array_equal(answer.numpy(), expected)


def test_several_requests_are_in_flight(tmp_path) -> None:
    found = measured(job_of(chain(tmp_path / "net.onnx"), kind="throughput", in_flight=3))
    assert found.mode.loop == "native"
    assert len(found.samples[0]) == 50
    assert found.wall_ms > 0


@pytest.mark.parametrize("call", ["arrays", "client"])
def test_calls_that_only_python_has_are_made_from_python(tmp_path, call) -> None:
    found = measured(job_of(chain(tmp_path / "net.onnx"), call=call))
    assert found.mode.loop == "python"
    assert "I-PYTHON-LOOP" not in codes(found)


def test_a_large_model_is_timed_from_python(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(native, "LARGEST_BYTES", 10)
    found = measured(job_of(chain(tmp_path / "net.onnx")))
    assert found.mode.loop == "python"
    assert "I-PYTHON-LOOP" in codes(found)


def test_an_option_that_c_lacks_is_a_reason(tmp_path) -> None:
    job = job_of(chain(tmp_path / "net.onnx"))
    job = replace(job, backend=replace(job.backend, options={"enable_mem_reuse": "0"}))
    (notice,) = (one for one in measured(job).notices if one.code == "I-PYTHON-LOOP")
    assert "enable_mem_reuse" in notice.message


def test_a_wheel_without_the_library_is_a_reason(tmp_path) -> None:
    ort = SimpleNamespace(__file__=str(tmp_path / "__init__.py"), __version__="1.18.1")
    with pytest.raises(UnsupportedError, match=r"1\.18\.1 has no library"):
        runtime_library(ort)


def test_a_model_that_does_not_load_says_why(tmp_path) -> None:
    path = chain(tmp_path / "net.onnx")
    job = job_of(path)
    job = replace(job, backend=replace(job.backend, options={"session.set_denormal_as_zero": "x"}))
    path.write_bytes(b"no model")
    with pytest.raises(UnsupportedError):
        NativeSession(onnxruntime, job, str(path))
