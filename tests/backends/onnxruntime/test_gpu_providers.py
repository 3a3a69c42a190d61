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
from onnx.helper import make_node

from enginescope.backends.base import InputSpec, Measured
from enginescope.backends.onnxruntime import preparing
from enginescope.backends.onnxruntime.backend import cuda, tensorrt
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


def chain(path: Path, *, dims: tuple[int, ...] = (2, 8)) -> Path:
    nodes = [
        make_node("Relu", ["x"], ["r"], name="first"),
        make_node("Softmax", ["r"], ["s"], name="middle"),
        make_node("Relu", ["s"], ["y"], name="last"),
    ]
    path.parent.mkdir(exist_ok=True)
    return models.write(path, nodes, [models.info("x", *dims)], [models.info("y", *dims)])


def job_of(path: Path, text: str, cache: Path | None = None, **mode: Any) -> Job:
    return Job(
        subject=Subject(name=path.name, kind="onnx", path=str(path)),
        backend=parse_backend(text),
        workload=replace(QUICK, mode=Mode(**mode)),
        engine_cache=str(cache) if cache else None,
        keep_outputs=True,
    )


@pytest.fixture
def job(tmp_path):
    """Make jobs of the chain: what they prepare is kept beside it."""

    def made(text: str, *, dims: tuple[int, ...] = (2, 8), **mode: Any) -> Job:
        return job_of(chain(tmp_path / "net.onnx", dims=dims), text, tmp_path / "cache", **mode)

    return made


def noticed(result: Measured, code: str) -> Any:
    (notice,) = [one for one in result.notices if one.code == code]
    return notice


def made_ready(job: Job) -> Preparation:
    feeds = lambda specs: make_feeds(specs, job.workload)  # noqa: E731
    found = load_backend(job.backend.name).make_ready(job, feeds, lambda _: None).preparation
    assert found is not None
    return found


def executed(job: Job) -> Measured:
    backend: Any = load_backend(job.backend.name)
    return backend.execute(job, lambda specs: make_feeds(specs, job.workload), lambda _: None)


def measured(job: Job) -> Measured:
    is_ready = not load_backend(job.backend.name).needs_preparation(job)
    return executed(job if is_ready else replace(job, engine=made_ready(job).record))


def series(result: Measured) -> dict[str, int]:
    return {one.metric: len(one) for one in result.samples}


def test_both_ways_are_timed_in_turn(use, tmp_path, job) -> None:
    runtime = use()
    result = measured(job("ort-cuda"))
    assert series(result) == {"latency": 15, "device_latency": 15}
    assert result.mode == Mode(kind="latency", in_flight=1, transfers=True, loop="python")
    assert min(runtime.runs["cpu"], runtime.runs["cuda"]) >= 15
    specs = tuple(
        InputSpec(name=one.name, dtype=one.dtype, shape=one.shape or (), type_text="")
        for one in result.inputs
    )
    feeds = dict(make_feeds(specs, QUICK).arrays)
    wanted = onnxruntime.InferenceSession(str(tmp_path / "net.onnx")).run(None, feeds)
    (answer,) = result.answers
    np.testing.assert_allclose(answer.data, wanted[0], rtol=1e-5)


@pytest.mark.parametrize(("transfers", "device"), [(True, "cpu"), (False, "cuda")])
def test_one_way_alone(use, job, transfers, device) -> None:
    runtime = use()
    result = measured(replace(job("ort-cuda", transfers=transfers), layer_profile=False))
    assert series(result) == {"latency": 15}
    assert result.mode.transfers is transfers
    assert set(runtime.runs) == {device}


def test_device_memory_that_cannot_be_had(use, job) -> None:
    use(without=("device memory",))
    result = measured(job("ort-cuda"))
    assert series(result) == {"latency": 15}
    assert "cannot allocate on cuda" in noticed(result, "W-NO-DEVICE-TENSORS").message
    with pytest.raises(UnsupportedError, match="cannot lie in device memory"):
        measured(job("ort-cuda", transfers=False))


@pytest.mark.parametrize(
    ("text", "option"), [("ort-cuda", "enable_cuda_graph"), ("ort-trt", "trt_cuda_graph_enable")]
)
@pytest.mark.parametrize("graph", [True, False, None])
def test_a_cuda_graph_is_the_providers_own(use, job, text, option, graph) -> None:
    runtime = use()
    asked = job(text, cuda_graph=graph)
    result = measured(asked)
    told = [own.get(option) for _, own in runtime.opened]
    assert told[-2] in {True: ("1", "True"), False: ("0", "False"), None: (None,)}[graph]
    assert told[-1] in ((None,) if graph is None else ("0", "False"))  # nothing is timed in one
    assert result.mode.cuda_graph is graph
    assert series(result) == {"latency": 15, "device_latency": 15}
    assert result.profile is not None
    if graph:
        assert series(measured(replace(asked, layer_profile=False))) == series(result)


def raising(text: str):
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(text)

    return refuse


def test_a_model_that_cannot_be_captured(use, job, monkeypatch) -> None:
    refusal = "This session cannot use the graph capture feature as requested"
    monkeypatch.setattr(use(), "InferenceSession", raising(refusal))
    with pytest.raises(UnsupportedError, match="cannot be captured") as caught:
        measured(job("ort-cuda", cuda_graph=True))
    assert caught.value.hint == "remove --graph"


def test_cuda_takes_what_tensorrt_leaves(use, job) -> None:
    runtime = use()
    for text, wanted in (("ort-trt", (TENSORRT, CUDA)), ("ort-trt?leftover=cpu", (TENSORRT,))):
        runtime.opened.clear()
        measured(job(text))
        assert {names for names, _ in runtime.opened} == {wanted}


def test_cuda_that_does_not_start_is_said(use, job) -> None:
    use(without=(CUDA,))
    assert "the CPU runs nodes" in noticed(measured(job("ort-trt")), "W-LEFTOVER-ON-CPU").message


def test_nodes_by_provider_and_operator(use, job) -> None:
    use(leaves=("Softmax",))
    result = measured(job("ort-cuda"))
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


def test_nodes_on_cuda_last_as_long_as_their_kernels(use, job, monkeypatch) -> None:
    use(leaves=("Softmax",))
    monkeypatch.setattr("enginescope.backends.onnxruntime.backend.KernelTrace", Trace)
    result = measured(job("ort-cuda", dims=(64, 4096)))
    assert result.profile.mode == "gpu"
    assert noticed(result, "I-GPU-NODE-TIMES")
    relus = [one.median_ms for one in result.profile.layers if one.provider == CUDA]
    assert len(relus) == 2
    assert all((value * 4e3) % 0.5 == pytest.approx(0.0, abs=1e-6) for value in relus)


def test_without_a_trace_nodes_on_cuda_have_the_hosts_times(use, job, monkeypatch) -> None:
    use()
    monkeypatch.setitem(sys.modules, "cupti", None)
    result = measured(job("ort-cuda"))
    assert result.profile.mode == "host"
    assert "enginescope[cupti]" in noticed(result, "W-HOST-NODE-TIMES").message


def test_why_a_node_was_left_is_read_from_the_log(use, job, capfd) -> None:
    """The runtime writes it to the descriptor, not to Python's stream."""
    runtime = use(leaves=("Softmax",))
    line = b"CUDA kernel not found in registries for Op type: Softmax node name: middle\n"
    runtime.on_open = lambda options: options.log_severity_level == 1 and os.write(2, line)
    _, left = measured(job("ort-cuda")).placement
    assert left.reasons == {"Softmax": f"{CUDA} has no kernel for it with these types"}
    assert "CUDA kernel not found" not in capfd.readouterr().err


def test_an_older_runtime_that_ran_nothing_or_something_there(use, job) -> None:
    use(leaves=("Relu", "Softmax"), keeps_assignment=False)
    with pytest.raises(UnsupportedError, match=r"took no node.*kernels ran on: CPU"):
        measured(job("ort-cuda"))
    use(keeps_assignment=False)
    assert measured(job("ort-cuda")).placement == ()


@pytest.mark.parametrize("precision", ["fp16", "bf16", "int8"])
def test_a_provider_with_a_switch_keeps_the_model(use, tmp_path, job, precision) -> None:
    runtime = use()
    result = measured(job(f"ort-trt:{precision}"))
    switch = f"trt_{precision}_enable"
    assert all(own[switch] == "True" for _, own in runtime.opened)
    assert f"{switch}=1" in noticed(result, "I-PRECISION").message
    assert not (tmp_path / "cache" / "converted").exists()


def test_a_provider_without_one_gets_a_converted_model(use, tmp_path, job) -> None:
    use()
    notice = noticed(measured(job("ort-cuda:fp16")), "I-PRECISION")
    assert "converted by onnxruntime.transformers.float16" in notice.message
    assert notice.evidence["way"] == "converter"
    assert list((tmp_path / "cache" / "converted").iterdir())
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["net.onnx"]


def test_cold_once_then_kept(use, job) -> None:
    runtime = use()
    asked = job("ort-trt:fp16")
    cold = made_ready(asked)
    assert [one.name for one in cold.cold] == ["cold_load", "cold_first_inference"]
    assert (cold.cache_files, len(runtime.engines_built)) == (1, 1)
    kept = tensorrt().prepared_for(asked)
    assert kept.from_cache
    assert replace(kept, from_cache=False) == cold
    executed(replace(asked, engine=kept.record))
    assert len(runtime.engines_built) == 1
    assert Path(runtime.opened[-1][1]["trt_engine_cache_path"]).is_dir()


@pytest.mark.parametrize("text", ["ort-trt", "ort-cuda:fp16"])
def test_a_store_and_a_model_that_were_moved(use, tmp_path, text) -> None:
    runtime = use()
    here, moved = tmp_path / "here", tmp_path / "there"
    made_ready(job_of(chain(here / "net.onnx"), text, here / "cache"))
    here.rename(moved)
    job = job_of(moved / "net.onnx", text, moved / "cache")
    found: Any = load_backend(job.backend.name).prepared_for(job)
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
def test_what_makes_another_entry(use, tmp_path, job, monkeypatch, change) -> None:
    use()
    asked, provider = job("ort-trt"), tensorrt().provider
    before = preparing.preparation_key(asked, provider)
    assert before == preparing.preparation_key(asked, provider)
    if change == "model":
        job("ort-trt", dims=(4, 8))
    elif change == "name":  # by which the provider calls its engines
        asked = job_of(chain(tmp_path / "other.onnx"), "ort-trt", tmp_path / "cache")
    elif change == "version":
        monkeypatch.setattr(preparing, "versions_of", lambda *_: {"onnxruntime-gpu": "9"})
    elif change == "gpu":
        monkeypatch.setattr(preparing, "probe_device", lambda _: Device(name="another"))
    elif change == "batch":
        asked = replace(asked, workload=replace(asked.workload, batch=4))
    else:
        text = {"option": "ort-trt?trt_sparsity_enable=1", "precision": "ort-trt:fp16"}
        asked = job(text.get(change, "ort-trt"), cuda_graph=True if change == "graph" else None)
    assert preparing.preparation_key(asked, provider) != before


def test_a_place_of_the_users_own_is_his(use, tmp_path, job) -> None:
    runtime = use()
    own = tmp_path / "own"
    own.mkdir()
    asked = job(f"ort-trt?trt_engine_cache_enable=1&trt_engine_cache_path={own}")
    assert not tensorrt().needs_preparation(asked)
    measured(asked)
    assert runtime.opened[-1][1]["trt_engine_cache_path"] == str(own)


def test_shapes_are_inferred_when_asked_for(use, job) -> None:
    runtime = use(wants_shapes=True)
    assert noticed(measured(job("ort-trt")), "I-SHAPES")
    assert len(runtime.engines_built) == 1
    with pytest.raises(BackendError, match="shape inference"):
        measured(job("ort-trt?infer_shapes=never"))


def test_an_entry_that_is_gone(use, job) -> None:
    use()
    asked = job("ort-cuda:fp16")
    ready = made_ready(asked)
    Path(ready.model).unlink()
    assert cuda().prepared_for(asked) is None
    with pytest.raises(BackendError, match="gone or not whole"):
        executed(replace(asked, engine=ready.record))


def test_a_build_that_fails_leaves_nothing(use, tmp_path, job, monkeypatch) -> None:
    monkeypatch.setattr(use(), "InferenceSession", raising("the builder gave up"))
    with pytest.raises(BackendError, match="the builder gave up"):
        made_ready(job("ort-trt"))
    assert list((tmp_path / "cache" / "ort").iterdir()) == []


def test_an_unknown_option_is_handed_on_with_a_notice(use, job) -> None:
    runtime = use()
    result = measured(job("ort-cuda?cudnn_conv_algo_serach=DEFAULT"))
    assert runtime.opened[0][1]["cudnn_conv_algo_serach"] == "DEFAULT"
    assert "did you mean cudnn_conv_algo_search?" in noticed(result, "W-UNKNOWN-OPTION").message


def test_a_long_build_gives_signs_of_life(use, job, monkeypatch) -> None:
    runtime = use()
    monkeypatch.setattr(preparing, "_INTERVAL_S", 0.01)
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
    asked = job("ort-trt")
    tensorrt().make_ready(asked, lambda specs: make_feeds(specs, asked.workload), told)
    assert (seen[0].phase, seen[0].detail) == ("build", f"{TENSORRT} builds what it needs")
