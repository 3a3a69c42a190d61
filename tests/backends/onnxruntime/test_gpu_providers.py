"""Providers of a GPU, with a runtime that stands in for one."""

import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from enginescope.backends.base import InputSpec, Measured
from enginescope.backends.onnxruntime import preparing
from enginescope.backends.onnxruntime import preparing as heartbeat
from enginescope.backends.onnxruntime.backend import OrtBackend, cuda, tensorrt
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.formats.onnxruntime.ort_profile import GpuCall, GpuTrace
from enginescope.records.environment import Device
from enginescope.records.plan.build import Preparation
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Mode, Subject
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.gpu_runtime import CPU, CUDA, TENSORRT, GpuRuntime
from tests.backends.onnxruntime.test_backend import QUICK


@pytest.fixture
def use(monkeypatch):
    def become(**more: Any) -> GpuRuntime:
        runtime = GpuRuntime(**more)
        monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
        return runtime

    return become


def chain(path: Path, *, dims: tuple[int, ...] = (2, 8), known: bool = True) -> Path:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="first"),
        helper.make_node("Softmax", ["r"], ["s"], name="middle"),
        helper.make_node("Relu", ["s"], ["y"], name="last"),
    ]
    ends = [models.info(name, *dims) for name in ("x", "y")]
    path.parent.mkdir(exist_ok=True)
    return models.write(path, nodes, ends[:1], ends[1:])


def job_of(path: Path, text: str, cache: Path | None = None, **mode: Any) -> Job:
    workload = replace(QUICK, mode=Mode(**mode))
    return Job(
        subject=Subject(name=path.name, kind="onnx", path=str(path)),
        backend=parse_backend(text),
        workload=workload,
        engine_cache=str(cache) if cache else None,
        keep_outputs=True,
    )


def made_ready(job: Job, backend: OrtBackend | None = None) -> Preparation:
    backend = backend or load_backend(job.backend.name)  # type: ignore[assignment]
    feeds = lambda specs: make_feeds(specs, job.workload)  # noqa: E731
    found = backend.make_ready(job, feeds, lambda _: None).preparation
    assert found is not None
    return found


def executed(job: Job) -> Measured:
    backend: Any = load_backend(job.backend.name)
    return backend.execute(job, lambda specs: make_feeds(specs, job.workload), lambda _: None)


def measured(job: Job) -> Measured:
    backend: Any = load_backend(job.backend.name)
    is_ready = not backend.needs_preparation(job)
    return executed(job if is_ready else replace(job, engine=made_ready(job).record))


def series(result: Measured) -> dict[str, int]:
    return {one.metric: len(one) for one in result.samples}


def test_both_ways_are_timed_in_turn(use, tmp_path) -> None:
    runtime = use()
    result = measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda"))
    assert series(result) == {"latency": 15, "device_latency": 15}
    assert result.mode == Mode(kind="latency", in_flight=1, transfers=True, loop="python")
    assert runtime.runs["cpu"] >= 15
    assert runtime.runs["cuda"] >= 15
    (answer,) = result.answers
    wanted = onnxruntime.InferenceSession(str(tmp_path / "net.onnx")).run(
        None, dict(make_feeds_of(result).arrays)
    )
    np.testing.assert_allclose(answer.data, wanted[0], rtol=1e-5)


def make_feeds_of(result: Measured) -> Any:
    specs = tuple(
        InputSpec(name=one.name, dtype=one.dtype, shape=one.shape or (), type_text="")
        for one in result.inputs
    )
    return make_feeds(specs, QUICK)


@pytest.mark.parametrize(("transfers", "device"), [(True, "cpu"), (False, "cuda")])
def test_one_way_alone(use, tmp_path, transfers, device) -> None:
    runtime = use()
    job = job_of(chain(tmp_path / "net.onnx"), "ort-cuda", transfers=transfers)
    result = measured(replace(job, layer_profile=False))
    assert series(result) == {"latency": 15}
    assert result.mode.transfers is transfers
    assert set(runtime.runs) == {device}


def test_device_memory_that_cannot_be_had(use, tmp_path) -> None:
    use(without=("device memory",))
    path = chain(tmp_path / "net.onnx")
    result = measured(job_of(path, "ort-cuda"))
    assert series(result) == {"latency": 15}
    (notice,) = [one for one in result.notices if one.code == "W-NO-DEVICE-TENSORS"]
    assert "cannot allocate on cuda" in notice.message
    with pytest.raises(UnsupportedError, match="cannot lie in device memory"):
        measured(job_of(path, "ort-cuda", transfers=False))


@pytest.mark.parametrize(
    ("text", "option"), [("ort-cuda", "enable_cuda_graph"), ("ort-trt", "trt_cuda_graph_enable")]
)
@pytest.mark.parametrize("graph", [True, False, None])
def test_a_cuda_graph_is_the_providers_own(use, tmp_path, text, option, graph) -> None:
    runtime = use()
    job = job_of(chain(tmp_path / "net.onnx"), text, tmp_path / "cache", cuda_graph=graph)
    result = measured(job)
    told = [own.get(option) for _, own in runtime.opened]
    assert told[-2] in {True: ("1", "True"), False: ("0", "False"), None: (None,)}[graph]
    assert told[-1] in ((None,) if graph is None else ("0", "False"))  # nothing is timed in one
    assert result.mode.cuda_graph is graph
    assert series(result) == {"latency": 15, "device_latency": 15}
    assert result.profile is not None
    if graph:
        assert series(measured(replace(job, layer_profile=False))) == series(result)


def test_a_model_that_cannot_be_captured(use, tmp_path, monkeypatch) -> None:
    runtime = use()

    def refuses(*_: Any, **__: Any) -> Any:
        raise RuntimeError("This session cannot use the graph capture feature as requested")

    monkeypatch.setattr(runtime, "InferenceSession", refuses)
    job = job_of(chain(tmp_path / "net.onnx"), "ort-cuda", cuda_graph=True)
    with pytest.raises(UnsupportedError, match="cannot be captured") as caught:
        measured(job)
    assert caught.value.hint == "remove --graph"


def test_cuda_takes_what_tensorrt_leaves(use, tmp_path) -> None:
    runtime = use()
    path = chain(tmp_path / "net.onnx")
    measured(job_of(path, "ort-trt", tmp_path / "cache"))
    assert {names for names, _ in runtime.opened} == {(TENSORRT, CUDA)}
    runtime.opened.clear()
    measured(job_of(path, "ort-trt?leftover=cpu", tmp_path / "cache"))
    assert {names for names, _ in runtime.opened} == {(TENSORRT,)}


def test_cuda_that_does_not_start_is_said(use, tmp_path) -> None:
    use(without=(CUDA,))
    result = measured(job_of(chain(tmp_path / "net.onnx"), "ort-trt", tmp_path / "cache"))
    (notice,) = [one for one in result.notices if one.code == "W-LEFTOVER-ON-CPU"]
    assert "the CPU runs nodes" in notice.message


def test_nodes_by_provider_and_operator(use, tmp_path) -> None:
    use(leaves=("Softmax",))
    result = measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda"))
    ours, left = result.placement
    assert (ours.provider, ours.nodes, ours.operators) == (CUDA, 2, {"Relu": 2})
    assert (left.provider, left.operators) == (CPU, {"Softmax": 1})
    by_kind = {one.kind: one.provider for one in result.profile.layers}
    assert by_kind == {"Relu": CUDA, "Softmax": CPU}


class Trace(AbstractContextManager):
    """Of a GPU that works a quarter of each microsecond since the profile began."""

    def __exit__(self, *_: object) -> None:
        self.ended_ns = time.time_ns()

    def result(self, since_ns: int) -> GpuTrace:
        span_us = (self.ended_ns - since_ns) // 1_000
        assert 0 < span_us < 60_000_000
        return GpuTrace(calls=tuple(GpuCall(called_us=at, gpu_us=0.25) for at in range(span_us)))


def test_nodes_on_cuda_last_as_long_as_their_kernels(use, tmp_path, monkeypatch) -> None:
    use(leaves=("Softmax",))
    monkeypatch.setattr("enginescope.backends.onnxruntime.backend.KernelTrace", Trace)
    result = measured(job_of(chain(tmp_path / "net.onnx", dims=(64, 4096)), "ort-cuda"))
    assert result.profile.mode == "gpu"
    assert "I-GPU-NODE-TIMES" in [one.code for one in result.notices]
    relus = [one.median_ms for one in result.profile.layers if one.provider == CUDA]
    assert len(relus) == 2
    assert all((value * 4e3) % 0.5 == pytest.approx(0.0, abs=1e-6) for value in relus)


def test_without_a_trace_nodes_on_cuda_have_the_hosts_times(use, tmp_path, monkeypatch) -> None:
    use()
    monkeypatch.setitem(sys.modules, "cupti", None)
    result = measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda"))
    assert result.profile.mode == "host"
    (said,) = [one for one in result.notices if one.code == "W-HOST-NODE-TIMES"]
    assert "enginescope[cupti]" in said.message


def test_why_a_node_was_left_is_read_from_the_log(use, tmp_path, capfd) -> None:
    """The runtime writes it to the descriptor, not to Python's stream."""
    runtime = use(leaves=("Softmax",))
    line = b"CUDA kernel not found in registries for Op type: Softmax node name: middle\n"
    runtime.on_open = lambda options: options.log_severity_level == 1 and os.write(2, line)
    _, left = measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda")).placement
    assert left.reasons == {"Softmax": f"{CUDA} has no kernel for it with these types"}
    assert "CUDA kernel not found" not in capfd.readouterr().err


def test_an_older_runtime_that_ran_nothing_there(use, tmp_path) -> None:
    use(leaves=("Relu", "Softmax"), keeps_assignment=False)
    with pytest.raises(UnsupportedError, match=r"took no node.*kernels ran on: CPU"):
        measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda"))


def test_an_older_runtime_that_ran_something_there(use, tmp_path) -> None:
    use(keeps_assignment=False)
    assert measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda")).placement == ()


@pytest.mark.parametrize(
    ("text", "switch"),
    [
        ("ort-trt:fp16", "trt_fp16_enable"),
        ("ort-trt:bf16", "trt_bf16_enable"),
        ("ort-trt:int8", "trt_int8_enable"),
    ],
)
def test_a_provider_with_a_switch_keeps_the_model(use, tmp_path, text, switch) -> None:
    runtime = use()
    result = measured(job_of(chain(tmp_path / "net.onnx"), text, tmp_path / "cache"))
    assert all(own[switch] == "True" for _, own in runtime.opened)
    (notice,) = [one for one in result.notices if one.code == "I-PRECISION"]
    assert f"{switch}=1" in notice.message
    assert not (tmp_path / "cache" / "converted").exists()


def test_a_provider_without_one_gets_a_converted_model(use, tmp_path) -> None:
    use()
    result = measured(job_of(chain(tmp_path / "net.onnx"), "ort-cuda:fp16", tmp_path / "cache"))
    (notice,) = [one for one in result.notices if one.code == "I-PRECISION"]
    assert "converted by onnxruntime.transformers.float16" in notice.message
    assert notice.evidence["way"] == "converter"
    assert list((tmp_path / "cache" / "converted").iterdir())
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["net.onnx"]


def test_cold_once_then_kept(use, tmp_path) -> None:
    runtime = use()
    job = job_of(chain(tmp_path / "net.onnx"), "ort-trt:fp16", tmp_path / "cache")
    cold = made_ready(job)
    assert [one.name for one in cold.cold] == ["cold_load", "cold_first_inference"]
    assert (cold.cache_files, len(runtime.engines_built)) == (1, 1)
    kept = tensorrt().prepared_for(job)
    assert kept.from_cache
    assert replace(kept, from_cache=False) == cold
    executed(replace(job, engine=kept.record))
    assert len(runtime.engines_built) == 1
    assert Path(runtime.opened[-1][1]["trt_engine_cache_path"]).is_dir()


@pytest.mark.parametrize("text", ["ort-trt", "ort-cuda:fp16"])
def test_a_store_and_a_model_that_were_moved(use, tmp_path, text) -> None:
    runtime = use()
    made_ready(job_of(chain(tmp_path / "here" / "net.onnx"), text, tmp_path / "here" / "cache"))
    (tmp_path / "here").rename(tmp_path / "there")
    moved = tmp_path / "there"
    job = job_of(moved / "net.onnx", text, moved / "cache")
    found: Any = load_backend(job.backend.name).prepared_for(job)  # type: ignore[attr-defined]
    assert Path(found.model).is_relative_to(moved)
    built = len(runtime.engines_built)
    executed(replace(job, engine=found.record))
    assert len(runtime.engines_built) == built


def test_one_graph_name_two_static_shapes(use, tmp_path) -> None:
    """ONNX Runtime's issue 32254: it finds an engine by the graph's name, whatever its shape."""
    runtime = use()
    for width in (8, 32):
        path = chain(tmp_path / f"w{width}" / "net.onnx", dims=(2, width))
        assert measured(job_of(path, "ort-trt", tmp_path / "cache")).outputs[0].shape == (2, width)
    assert len({Path(one).name for one in runtime.engines_built}) == 1
    folders = {own["trt_engine_cache_path"] for _, own in runtime.opened}
    assert len([one for one in folders if Path(one).is_dir()]) == 2


@pytest.mark.parametrize(
    "change", ["model", "name", "option", "precision", "batch", "graph", "version", "gpu"]
)
def test_what_makes_another_entry(use, tmp_path, monkeypatch, change) -> None:
    use()
    path = chain(tmp_path / "net.onnx")
    job = job_of(path, "ort-trt", tmp_path / "cache")
    provider = tensorrt().provider
    before = preparing.preparation_key(job, provider)
    assert before == preparing.preparation_key(job, provider)
    if change == "model":
        chain(path, dims=(4, 8))
    elif change == "name":  # by which the provider calls its engines
        job = job_of(chain(tmp_path / "other.onnx"), "ort-trt", tmp_path / "cache")
    elif change == "version":
        monkeypatch.setattr(preparing, "versions_of", lambda *_: {"onnxruntime-gpu": "9"})
    elif change == "gpu":
        monkeypatch.setattr(preparing, "probe_device", lambda _: Device(name="another"))
    elif change == "batch":
        job = replace(job, workload=replace(job.workload, batch=4))
    else:
        text = {"option": "ort-trt?trt_sparsity_enable=1", "precision": "ort-trt:fp16"}
        graph = True if change == "graph" else None
        job = job_of(path, text.get(change, "ort-trt"), tmp_path / "cache", cuda_graph=graph)
    assert preparing.preparation_key(job, provider) != before


def test_a_place_of_the_users_own_is_his(use, tmp_path) -> None:
    runtime = use()
    own = tmp_path / "own"
    own.mkdir()
    text = f"ort-trt?trt_engine_cache_enable=1&trt_engine_cache_path={own}"
    job = job_of(chain(tmp_path / "net.onnx"), text, tmp_path / "cache")
    assert not tensorrt().needs_preparation(job)
    measured(job)
    assert runtime.opened[-1][1]["trt_engine_cache_path"] == str(own)


def test_shapes_are_inferred_when_asked_for(use, tmp_path) -> None:
    runtime = use(wants_shapes=True)
    path = chain(tmp_path / "net.onnx")
    result = measured(job_of(path, "ort-trt", tmp_path / "cache"))
    assert "I-SHAPES" in {one.code for one in result.notices}
    assert len(runtime.engines_built) == 1
    with pytest.raises(BackendError, match="shape inference"):
        measured(job_of(path, "ort-trt?infer_shapes=never", tmp_path / "cache"))


def test_an_entry_that_is_gone(use, tmp_path) -> None:
    use()
    job = job_of(chain(tmp_path / "net.onnx"), "ort-cuda:fp16", tmp_path / "cache")
    ready = made_ready(job)
    Path(ready.model).unlink()
    assert cuda().prepared_for(job) is None
    with pytest.raises(BackendError, match="gone or not whole"):
        executed(replace(job, engine=ready.record))


def test_a_build_that_fails_leaves_nothing(use, tmp_path, monkeypatch) -> None:
    runtime = use()

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the builder gave up")

    monkeypatch.setattr(runtime, "InferenceSession", fails)
    job = job_of(chain(tmp_path / "net.onnx"), "ort-trt", tmp_path / "cache")
    with pytest.raises(BackendError, match="the builder gave up"):
        made_ready(job)
    assert list((tmp_path / "cache" / "ort").iterdir()) == []


def test_an_unknown_option_is_handed_on_with_a_notice(use, tmp_path) -> None:
    runtime = use()
    text = "ort-cuda?cudnn_conv_algo_serach=DEFAULT"
    result = measured(job_of(chain(tmp_path / "net.onnx"), text))
    assert runtime.opened[0][1]["cudnn_conv_algo_serach"] == "DEFAULT"
    (notice,) = [one for one in result.notices if one.code == "W-UNKNOWN-OPTION"]
    assert "did you mean cudnn_conv_algo_search?" in notice.message


def test_a_long_build_gives_signs_of_life(use, tmp_path, monkeypatch) -> None:
    runtime = use()
    monkeypatch.setattr(heartbeat, "_INTERVAL_S", 0.01)
    seen: list[Progress] = []
    beats = threading.Event()

    def told(progress: Progress) -> None:
        seen.append(progress)
        if "so far" in (progress.detail or ""):
            beats.set()

    real = runtime.InferenceSession

    def slow(*arguments: Any, **options: Any) -> Any:
        assert beats.wait(20)
        return real(*arguments, **options)

    monkeypatch.setattr(runtime, "InferenceSession", slow)
    job = job_of(chain(tmp_path / "net.onnx"), "ort-trt", tmp_path / "cache")
    tensorrt().make_ready(job, lambda specs: make_feeds(specs, job.workload), told)
    assert seen[0].phase == "build"
    assert seen[0].detail == f"{TENSORRT} builds what it needs"
