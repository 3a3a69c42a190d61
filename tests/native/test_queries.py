"""The loops in C and in Python: the same calls in the same order, and the same figures."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enginescope.backends.native_loop import cuda_context
from enginescope.backends.tensorrt.run.native import NativeLatency, NativeThroughput
from enginescope.backends.tensorrt.run.request_loops import LatencyRecorder, ThroughputRecorder
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.records.run.job import Mode
from tests.native.conftest import FakeDriver


def cuda_of(driver: FakeDriver) -> Any:
    def check(result: tuple[Any, ...], doing: str) -> Any:
        error, *values = result
        if error:
            raise BackendError(doing, why=str(error))
        return values[0] if values else None

    return SimpleNamespace(
        runtime=driver.runtime(),
        event=lambda spin: driver.handle(),
        check=check,
        device=0,
        error_name=lambda number: f"cudaError{number}",
        wait=lambda stream, doing: check(driver.runtime().cudaStreamSynchronize(stream), doing),
        device_buffer=lambda nbytes: 1 << 20,
        l2_bytes=lambda device: 1 << 20,
    )


def lane_of(driver: FakeDriver, cuda: Any, graphs: int = 1) -> Any:
    fed, computing, answering = (driver.handle() for _ in range(3))
    copy, launch = cuda.runtime.cudaMemcpyAsync, cuda.runtime.cudaGraphLaunch

    def request() -> None:
        launch(lane.launches[0][1][0], computing)
        cuda.runtime.cudaStreamSynchronize(computing)

    lane = SimpleNamespace(
        input_stream=fed,
        compute_stream=computing,
        output_stream=answering,
        launches=[(launch, (driver.handle(), computing)) for _ in range(graphs)],
        h2d=lambda index=0: [partial(copy, 1, 2, 4, "in", fed)],
        d2h=lambda: [partial(copy, 3, 4, 4, "out", answering)],
        request=request,
        failure=lambda: BackendError("enqueueing an inference"),
    )
    return lane


def throughput(driver: FakeDriver, kind: type, lanes: int = 1, **fields: Any) -> Any:
    cuda = cuda_of(driver)
    given = {"kind": "throughput", "in_flight": 2, "transfers": True, "spin_wait": True}
    mode = Mode(**{**given, **fields})
    opened = [lane_of(driver, cuda) for _ in range(lanes)]
    origin = SimpleNamespace(event=driver.handle(), ns=0)
    cuda.runtime.cudaEventRecord(origin.event, opened[0].compute_stream)
    more = {"context": cuda_context(driver.path)} if kind is NativeThroughput else {}
    return kind(cuda, opened, mode, origin, stamps=True, **more)


@pytest.mark.parametrize("fields", [{}, {"transfers": False}, {"lanes": 3}, {"in_flight": 1}])
def test_both_loops_make_the_same_calls(driver, fields) -> None:
    def calls(kind: type) -> str:
        driver.reset()
        recorder = throughput(driver, kind, **fields)
        before = len(driver.calls())
        recorder.run(7)
        assert len(recorder) == 7
        return driver.calls()[before:].rstrip("e")  # stamps and spans are read in another order

    assert calls(NativeThroughput).replace("e", "") == calls(ThroughputRecorder).replace("e", "")


@pytest.mark.parametrize("in_flight", [1, 2])
def test_a_query_is_enqueued_before_the_one_ahead_has_ended(driver, in_flight) -> None:
    driver.reset(graph_us=2_000, copy_us=1_500)
    recorder = throughput(driver, NativeThroughput, in_flight=in_flight)
    recorder.run(10)
    trace = recorder.trace()
    assert (trace.h2d_start[1:] < trace.d2h_end[:-1] - 1e-3).any() == (in_flight == 2)


def test_both_loops_find_the_same_figures(driver) -> None:
    found = {}
    for kind in (ThroughputRecorder, NativeThroughput):
        driver.reset(graph_us=1_000, copy_us=150)
        recorder = throughput(driver, kind)
        recorder.run(30)
        found[kind] = {one.metric: float(np.median(one.values_ms)) for one in recorder.samples()}
    native, python = found[NativeThroughput], found[ThroughputRecorder]
    assert set(native) == set(python)
    for metric in ("trtexec_latency", "gpu_compute", "h2d", "d2h"):
        assert native[metric] == pytest.approx(python[metric], abs=0.05), metric
    assert native["enqueue"] < python["enqueue"]


def test_stamps_follow_each_other(driver) -> None:
    recorder = throughput(driver, NativeThroughput, lanes=2)
    for _ in range(2):
        recorder.run(9)
    trace = recorder.trace()
    assert trace.stream.tolist() == 2 * [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert (trace.enqueue_end >= trace.enqueue_start).all()
    for before, after in (("h2d_end", "compute_start"), ("compute_end", "d2h_start")):
        assert (getattr(trace, after) >= getattr(trace, before) - 1e-4).all()


def round_trips(driver: FakeDriver, kind: type, **fields: Any) -> tuple[str, dict[str, Any]]:
    driver.reset(graph_us=1_000, copy_us=100)
    cuda = cuda_of(driver)
    cuda.runtime.cudaMemsetAsync = lambda *numbers: driver._call("cuMemsetD8Async", *numbers)
    lane = lane_of(driver, cuda, graphs=2)
    lane.input_stream = lane.output_stream = lane.compute_stream
    copy, stream = cuda.runtime.cudaMemcpyAsync, lane.compute_stream
    lane.h2d = lambda index=0: [partial(copy, 1, 2, 4, "in", stream)]
    lane.d2h = lambda: [partial(copy, 3, 4, 4, "out", stream)]
    mode = Mode(**{"kind": "latency", "transfers": True, "spin_wait": True, **fields})
    more = {"context": cuda_context(driver.path)} if kind is NativeLatency else {}
    recorder = kind(cuda, lane, mode, **more)
    recorder.run(12)
    return driver.calls(), {one.metric: one.values_ms for one in recorder.samples()}


@pytest.mark.parametrize("fields", [{}, {"transfers": False}, {"cold": True}])
def test_a_round_trip_has_the_same_calls_and_parts(driver, fields) -> None:
    native_calls, native = round_trips(driver, NativeLatency, **fields)
    python_calls, python = round_trips(driver, LatencyRecorder, **fields)
    assert native_calls == python_calls
    assert set(native) == set(python)
    for metric in set(native) - {"enqueue", "latency"}:  # Python's calls are inside the parts
        medians = np.median(native[metric]), np.median(python[metric])
        assert medians[0] == pytest.approx(medians[1], abs=0.05)
    assert np.median(native["latency"]) >= np.median(native["gpu_compute"])


def test_a_call_that_fails_another_context_and_a_missing_driver_are_named(driver) -> None:
    recorder = throughput(driver, NativeThroughput)
    driver.reset(fail_at=40)
    with pytest.raises(BackendError, match=r"cudaError700 \("):
        recorder.run(20)
    recorder._program._chunk.context = 12_345
    with pytest.raises(BackendError):
        recorder.run(1)
    with pytest.raises(UnsupportedError, match="libnone"):
        cuda_context("libnone.so.1")
