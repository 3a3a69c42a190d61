"""The stand-in of the CUDA runtime keeps CUDA's promises, and no more than those."""

from importlib import import_module

import numpy as np
import pytest

from tests.fakes.driving import Gpu
from tests.fakes.loading import loaded

DATA = np.arange(16, dtype=np.float32)


@pytest.fixture
def fake():
    with loaded() as found:
        yield found


@pytest.fixture
def gpu(fake):
    return Gpu(fake)


def test_memory_of_the_device_is_accounted_for(fake, gpu, monkeypatch) -> None:
    free, total = gpu.ok(gpu.rt.cudaMemGetInfo())
    address = gpu.ok(gpu.rt.cudaMalloc(1 << 20))
    assert address % 256 == 0
    assert gpu.ok(gpu.rt.cudaMemGetInfo()) == [free - (1 << 20), total]
    assert [one.address for one in fake.device.memory.live()] == [address]
    gpu.ok(gpu.rt.cudaFree(address))
    assert fake.device.memory.live() == ()
    assert gpu.ok(gpu.rt.cudaMemGetInfo()) == [free, total]
    address = gpu.ok(gpu.rt.cudaHostAlloc(1 << 20, gpu.rt.cudaHostAllocDefault))
    assert gpu.ok(gpu.rt.cudaMemGetInfo()) == [free, total]
    assert gpu.failed(gpu.rt.cudaFree(address)) == "cudaErrorInvalidValue"
    gpu.ok(gpu.rt.cudaFreeHost(address))
    monkeypatch.setenv("FAKE_CUDA_MEMORY_BYTES", str(1 << 30))
    assert gpu.failed(gpu.rt.cudaMalloc(1 << 30)) == "cudaErrorMemoryAllocation"
    assert gpu.rt.cudaGetLastError() == (gpu.rt.cudaError_t.cudaErrorMemoryAllocation,)
    assert gpu.rt.cudaGetLastError() == (gpu.rt.cudaError_t.cudaSuccess,)


def test_copies_of_other_memory_are_refused(gpu) -> None:
    address = gpu.to_device(DATA)
    gpu.ok(gpu.rt.cudaFree(address))
    kind = gpu.rt.cudaMemcpyKind.cudaMemcpyHostToDevice
    assert gpu.failed(gpu.rt.cudaMemcpy(address, DATA, 4, kind)) == "cudaErrorInvalidValue"
    assert gpu.failed(gpu.rt.cudaFree(address)) == "cudaErrorInvalidValue"
    address = gpu.ok(gpu.rt.cudaMalloc(DATA.nbytes))
    beyond = gpu.rt.cudaMemcpy(address + 4, DATA, DATA.nbytes, kind)
    assert gpu.failed(beyond) == "cudaErrorInvalidValue"
    kind = gpu.rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
    assert gpu.failed(gpu.rt.cudaMemcpy(address, DATA, 4, kind)) == "cudaErrorInvalidValue"


def test_bytes_move_when_they_are_waited_for_and_not_before(gpu) -> None:
    address, stream = gpu.to_device(DATA), gpu.ok(gpu.rt.cudaStreamCreate())
    found = np.zeros(1 << 20, np.uint8)
    big = gpu.ok(gpu.rt.cudaMalloc(found.nbytes))
    kinds = gpu.rt.cudaMemcpyKind
    gpu.ok(gpu.rt.cudaMemsetAsync(big, 7, found.nbytes, stream))
    down = (found, big, found.nbytes, kinds.cudaMemcpyDeviceToHost, stream)
    gpu.ok(gpu.rt.cudaMemcpyAsync(*down))
    assert not found.any()
    gpu.ok(gpu.rt.cudaStreamSynchronize(stream))
    assert (found == 7).all()
    assert gpu.to_host(address, DATA).tolist() == DATA.tolist()


def occupy(fake, stream) -> None:
    """Put an hour of work on a stream, which nobody waits for."""
    node = import_module("fake_device.timeline").Node(3600 * 10**9)
    fake.device.timeline.enqueue(fake.device.stream(int(stream)), node)


def reached_at(fake, event) -> int:
    return fake.device.events[int(event)].at_ns


def test_streams_go_their_own_ways_unless_they_wait(fake, gpu) -> None:
    rt = gpu.rt
    first, second = gpu.ok(rt.cudaStreamCreate()), gpu.ok(rt.cudaStreamCreate())
    begin, end = gpu.ok(rt.cudaEventCreateWithFlags(0)), gpu.ok(rt.cudaEventCreateWithFlags(0))
    occupy(fake, first)
    gpu.ok(rt.cudaEventRecord(begin, first))
    gpu.ok(rt.cudaEventRecord(end, second))
    assert reached_at(fake, end) < reached_at(fake, begin)  # the second was idle
    # an event is not ready before its work is done, which is no error that stays
    assert gpu.failed(rt.cudaEventElapsedTime(end, begin)) == "cudaErrorNotReady"
    assert rt.cudaGetLastError()[0].name == "cudaSuccess"
    gpu.ok(rt.cudaStreamWaitEvent(second, begin, 0))
    gpu.ok(rt.cudaEventRecord(end, second))
    assert reached_at(fake, end) >= reached_at(fake, begin)
    # the default stream waits for both
    gpu.ok(rt.cudaEventRecord(end, 0))
    assert reached_at(fake, end) >= reached_at(fake, begin)


def test_handles_and_events(gpu) -> None:
    rt = gpu.rt
    stream, event = gpu.ok(rt.cudaStreamCreate()), gpu.ok(rt.cudaEventCreateWithFlags(0))
    other = gpu.ok(rt.cudaEventCreateWithFlags(0))
    gpu.ok(rt.cudaEventDestroy(event))
    assert gpu.failed(rt.cudaEventElapsedTime(event, other)) == "cudaErrorInvalidResourceHandle"
    assert gpu.failed(rt.cudaEventRecord(event, stream)) == "cudaErrorInvalidResourceHandle"
    gpu.ok(rt.cudaStreamDestroy(stream))
    assert gpu.failed(rt.cudaStreamSynchronize(stream)) == "cudaErrorInvalidResourceHandle"
    events = [gpu.ok(rt.cudaEventCreateWithFlags(rt.cudaEventDisableTiming)) for _ in range(2)]
    for one in events:
        gpu.ok(rt.cudaEventRecord(one, 0))
    assert gpu.failed(rt.cudaEventElapsedTime(*events)) == "cudaErrorInvalidResourceHandle"
    stream = gpu.ok(rt.cudaStreamCreate())
    assert stream == rt.cudaStream_t(int(stream))
    assert stream != int(stream)
    assert repr(rt.cudaEvent_t(5)) == "<CUevent 0x5>"
    assert bool(rt.cudaEvent_t(0))


def test_waiting_spoils_a_capture(gpu) -> None:
    rt = gpu.rt
    stream = gpu.ok(rt.cudaStreamCreate())
    mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    gpu.ok(rt.cudaStreamBeginCapture(stream, mode))
    assert gpu.failed(rt.cudaMalloc(1)) == "cudaErrorStreamCaptureUnsupported"
    assert gpu.failed(rt.cudaStreamEndCapture(stream)) == "cudaErrorStreamCaptureInvalidated"
    gpu.ok(rt.cudaStreamBeginCapture(stream, mode))
    assert gpu.failed(rt.cudaStreamSynchronize(stream)) == "cudaErrorStreamCaptureUnsupported"
    assert gpu.failed(rt.cudaStreamEndCapture(stream)) == "cudaErrorStreamCaptureInvalidated"
    assert gpu.failed(rt.cudaStreamEndCapture(stream)) == "cudaErrorIllegalState"


def test_a_graph_does_nothing_until_it_is_launched(gpu) -> None:
    rt = gpu.rt
    address, stream = gpu.to_device(DATA), gpu.ok(rt.cudaStreamCreate())
    mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
    gpu.ok(rt.cudaStreamBeginCapture(stream, mode))
    gpu.ok(rt.cudaMemsetAsync(address, 0, DATA.nbytes, stream))
    graph = gpu.ok(rt.cudaStreamEndCapture(stream))
    made = gpu.ok(rt.cudaGraphInstantiate(graph, 0))
    gpu.ok(rt.cudaGraphDestroy(graph))
    gpu.ok(rt.cudaDeviceSynchronize())
    assert gpu.to_host(address, DATA).any()
    gpu.ok(rt.cudaGraphLaunch(made, stream))
    gpu.ok(rt.cudaStreamSynchronize(stream))
    assert not gpu.to_host(address, DATA).any()
    gpu.ok(rt.cudaGraphExecDestroy(made))
    assert gpu.failed(rt.cudaGraphLaunch(made, stream)) == "cudaErrorInvalidValue"


def test_arguments_are_typed_as_the_bindings_type_them(gpu) -> None:
    rt = gpu.rt
    for call, argument in ((rt.cudaMalloc, "1"), (rt.cudaFree, "x"), (rt.cudaSetDevice, None)):
        with pytest.raises(TypeError, match="an integer is required"):
            call(argument)
    with pytest.raises(ValueError, match="99 is not a valid cudaMemcpyKind"):
        rt.cudaMemcpyKind(99)
    assert gpu.failed(rt.cudaSetDevice(1)) == "cudaErrorInvalidDevice"
    properties = gpu.ok(rt.cudaGetDeviceProperties(0))
    assert (properties.name, properties.major, properties.minor) == (b"Fake H200", 9, 0)
    attribute = rt.cudaDeviceAttr.cudaDevAttrClockRate
    assert gpu.ok(rt.cudaDeviceGetAttribute(attribute, 0)) == 1_980_000  # kHz


def test_a_fault_that_is_none_is_refused() -> None:
    with loaded(fault="oom_bufer") as fake, pytest.raises(ValueError, match="oom_bufer"):
        fake.cuda.cudaMalloc(1)
