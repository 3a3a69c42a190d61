"""How requests are issued: graphs, copies, streams, sets of inputs, pauses, a cold cache."""

import importlib.util
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from enginescope.backends.tensorrt.run import inference_stream as lane
from enginescope.backends.tensorrt.run.inference_stream import Captured
from enginescope.backends.tensorrt.run.session import resolved
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.probe import nvml
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import Mode, TelemetryRule
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.tensorrt.conftest import L2_BYTES, Use
from tests.backends.tensorrt.driving import (
    COUNT,
    LATENCY,
    THROUGHPUT,
    codes,
    expected,
    job,
    listening,
    measure,
    metrics,
    opened,
    series,
    with_engine,
    workload,
)
from tests.fakes import fake_gpus


@pytest.mark.parametrize("mode", [LATENCY, THROUGHPUT], ids=["latency", "throughput"])
def test_a_graph_is_used_unless_declined(use, perceptron, engines, mode) -> None:
    fake = use()
    for asked in (True, False, None):
        one = job(perceptron, workload=workload(mode=replace(mode, cuda_graph=asked)))
        found = measure(with_engine(one, engines))
        assert found.mode.cuda_graph is (asked is not False)
        assert not {code for code in codes(found) if code.endswith("GRAPH")}
        assert fake.device.executables == {}


@pytest.mark.parametrize(("asked", "code"), [(True, "W-NO-CUDA-GRAPH"), (None, "I-NO-CUDA-GRAPH")])
def test_a_refused_graph_is_noticed(use, perceptron, engines, asked, code) -> None:
    fake = use("10.16.1", "graph_refused")
    one = job(perceptron, workload=workload(mode=replace(THROUGHPUT, cuda_graph=asked)))
    found = measure(with_engine(one, engines))
    assert found.mode.cuda_graph is False
    (notice,) = (one for one in found.notices if one.code == code)
    assert "cudaErrorStreamCaptureInvalidated" in notice.message
    assert notice.level == ("warning" if asked else "info")
    assert len(found.samples[0]) == COUNT
    assert fake.device.graphs == {}


def test_if_one_stream_cannot_be_captured_none_is(use, perceptron, engines, monkeypatch) -> None:
    use()
    mode = replace(THROUGHPUT, streams=3)
    one = with_engine(job(perceptron, workload=workload(mode=mode)), engines)
    real, calls = lane.capture, []

    def second_fails(*arguments):
        calls.append(arguments)
        return real(*arguments) if len(calls) != 2 else Captured(why_not="for this test")

    monkeypatch.setattr(lane, "capture", second_fails)
    assert measure(one).mode.cuda_graph is False
    with opened(one) as session:
        calls.clear()
        session.bind(make_feeds(session.input_specs, one.workload))
        session.step()
        session.settle()
        launches = [launch for one in session.lanes for launch, _ in one.launches]
        assert launches == [one.execute_async_v3 for one in session.contexts]


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("kind", ["latency", "throughput"])
def test_copies_are_timed_where_they_are_made(use, perceptron, engines, kind, copies) -> None:
    use()
    mode = Mode(kind=kind, in_flight=2 if kind == "throughput" else 1, transfers=copies)
    found = measure(with_engine(job(perceptron, workload=workload(mode=mode)), engines))
    assert ({"h2d", "d2h"} <= metrics(found)) == copies
    if copies:
        assert (series(found, "h2d") >= 0.002).all()  # the stand-in's least copy
    if kind == "throughput":
        names = ("h2d", "gpu_compute", "d2h") if copies else ("gpu_compute",)
        parts = [series(found, name) for name in names]
        np.testing.assert_allclose(series(found, "trtexec_latency"), sum(parts))


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"streams": 3},
        {"streams": 2, "transfers": True},
        {"rotate": 3},
        {"rotate": 3, "cuda_graph": False, "transfers": True},
        {"in_flight": 1},
        {"cold": True},
        {"idle_ms": 1.0},
        {"spin_wait": False},
        {"streams": 2, "rotate": 3, "cold": True, "idle_ms": 0.5, "transfers": True},
        {"kind": "latency", "rotate": 3},
        {"kind": "latency", "cold": True},
        {"kind": "latency", "idle_ms": 1.0},
    ],
    ids=str,
)
def test_exactly_so_many_as_asked_for_are_kept(use, perceptron, engines, extra) -> None:
    use(FAKE_TENSORRT_COMPUTE_US="50")
    mode = replace(LATENCY if "kind" in extra else THROUGHPUT, **extra)
    one = with_engine(job(perceptron, workload=workload(mode=mode), stamps="1"), engines)
    (wanted,) = expected(perceptron, one)
    for count in (1, 2, 5, 12):
        found = measure(replace(one, workload=workload(count, mode=mode)))
        assert {len(one) for one in found.samples} == {count}
        np.testing.assert_allclose(found.answers[0].data, wanted, rtol=1e-6)
        if "kind" not in extra:
            assert len(found.trace.stream) == count
            assert set(found.trace.stream.tolist()) <= set(range(extra.get("streams", 1)))


def test_stamps_tell_one_story(each, perceptron, engines) -> None:
    mode = replace(THROUGHPUT, transfers=True, streams=2)
    one = job(perceptron, workload=workload(60, mode=mode), stamps="1")
    found = measure(with_engine(one, engines))
    trace = found.trace
    columns = [getattr(trace, name) for name in trace.__struct_fields__]
    assert {column.size for column in columns} == {60}
    step = 1e-3  # a little more than what single precision leaves of milliseconds
    for before, after in (
        ("enqueue_start", "enqueue_end"),
        ("h2d_start", "h2d_end"),
        ("h2d_end", "compute_start"),
        ("compute_start", "compute_end"),
        ("compute_end", "d2h_start"),
        ("d2h_start", "d2h_end"),
    ):
        assert (getattr(trace, after) >= getattr(trace, before) - step).all(), (before, after)
    np.testing.assert_allclose(
        trace.compute_end - trace.compute_start, series(found, "gpu_compute"), atol=step
    )
    assert found.wall_ms == pytest.approx(trace.d2h_end.max() - trace.h2d_start.min(), rel=0.25)


def test_a_pause_lies_between_queries_and_stamps_are_not_kept(use, perceptron, engines) -> None:
    use()
    found = measure(with_engine(job(perceptron, workload=workload(mode=THROUGHPUT)), engines))
    assert found.trace is None
    mode = replace(THROUGHPUT, idle_ms=2.0, in_flight=1)
    found = measure(with_engine(job(perceptron, workload=workload(10, mode=mode)), engines))
    assert found.wall_ms is not None
    assert found.wall_ms > 7 * 2.0  # three stretches, and none after the last query of each
    assert np.median(series(found, "gpu_compute")) < 1.0


def test_a_cold_query_is_timed_without_its_flush(use, perceptron, engines) -> None:
    flushes = listening(use(), "cudaMemsetAsync")
    mode = replace(THROUGHPUT, cold=True, cuda_graph=False)
    found = measure(with_engine(job(perceptron, workload=workload(mode=mode)), engines))
    assert len(flushes) >= COUNT
    assert {nbytes for _, _, nbytes, _ in flushes} == {2 * L2_BYTES}
    assert np.median(series(found, "gpu_compute")) == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize("managed", ["0", "1"])
def test_managed_memory_needs_no_copies(use, perceptron, engines, managed) -> None:
    copies = listening(use(), "cudaMemcpyAsync")
    one = with_engine(job(perceptron, managed_memory=managed), engines)
    found = measure(one)
    assert (not copies) == (managed == "1")
    (wanted,) = expected(perceptron, one)
    np.testing.assert_allclose(found.answers[0].data, wanted, rtol=1e-6)


def test_defaults_are_filled_in_and_modes_refused() -> None:
    with pytest.raises(UsageError, match="one request in flight"):
        resolved(Mode(kind="latency", streams=2))
    found = resolved(Mode(kind="throughput", in_flight=None))
    assert (found.in_flight, found.transfers, found.spin_wait) == (2, True, True)
    assert (found.streams, found.rotate, found.cold) == (1, 1, False)
    assert resolved(Mode()).kind == "latency"
    with pytest.raises(UsageError, match="call client"):
        resolved(Mode(call="client"))


@pytest.mark.parametrize("mode", [LATENCY, THROUGHPUT], ids=["latency", "throughput"])
def test_arrays_are_copied_from_pageable_memory(each, perceptron, engines, mode) -> None:
    locked = listening(each, "cudaHostAlloc")
    asked = replace(mode, transfers=True, call="arrays")
    one = with_engine(job(perceptron, workload=workload(mode=asked)), engines)
    found = measure(one)
    assert locked == []
    assert found.mode.call == "arrays"
    (outputs,) = expected(perceptron, one)
    np.testing.assert_allclose(found.answers[0].data, outputs, rtol=1e-5)


# telemetry

RULE = TelemetryRule(depth="full", interval_ms=20, duration_ms=300, idle_ms=150, settle_ms=50)


@pytest.fixture
def h200(use: Use) -> Iterator[None]:
    """NVML's stand-in too, here and in the sampling process; gone before TensorRT's is."""
    use()
    spec = importlib.util.spec_from_file_location("pynvml", fake_gpus.NVML / "pynvml.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        fake_gpus.use(patch, "h200")
        patch.setitem(sys.modules, "pynvml", module)
        spec.loader.exec_module(module)
        patch.setattr(nvml, "probe_devices", probe_devices)
        yield


@pytest.mark.parametrize("mode", [LATENCY, THROUGHPUT], ids=["latency", "throughput"])
def test_either_loop_is_repeated_for_telemetry(h200, perceptron, engines, mode) -> None:
    one = with_engine(job(perceptron, workload=workload(mode=mode)), engines)
    found = measure(replace(one, telemetry=RULE))
    assert found.gpu.requests is not None
    assert found.gpu.requests > 0
    assert found.gpu.series is not None
    assert found.gpu.timed is not None
    assert found.phases[-1].name == "telemetry"
    assert {len(series) for series in found.samples} == {COUNT}
