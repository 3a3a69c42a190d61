"""The functions of the CUDA runtime."""
# ruff: noqa: N802, N803  # CUDA's names

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from fake_device import handles
from fake_device.device import DEVICE
from fake_device.handles import CONSTANTS, address_of, cudaError_t
from fake_device.settings import device_count, total_bytes
from fake_device.timeline import Event, Node, Stream

_OK = cudaError_t.cudaSuccess
_INVALID = cudaError_t.cudaErrorInvalidValue
_BAD_HANDLE = cudaError_t.cudaErrorInvalidResourceHandle
_NOT_READY = cudaError_t.cudaErrorNotReady
_LATENCY_NS = 2_000
_BYTES_PER_NS = 25  # PCIe, roughly
#: What each kind asks of (destination, source): True for the device's memory.
_SIDES = {
    "cudaMemcpyHostToHost": (False, False),
    "cudaMemcpyHostToDevice": (True, False),
    "cudaMemcpyDeviceToHost": (False, True),
    "cudaMemcpyDeviceToDevice": (True, True),
}


def wanted(value: Any) -> int:
    """Return a number; as cuda-bindings, refuse what is none."""
    if not isinstance(value, int):
        raise TypeError("an integer is required")
    return int(value)


def call(
    values: int = 0, *, waits: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., tuple[Any, ...]]]:
    """Make a function that returns an error or values one that returns CUDA's tuple.

    Args:
        values: How many follow the error; they are ``None`` if the call failed.
        waits: It may wait for the device: a capture that goes on is invalid afterwards.
    """

    def made(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        @functools.wraps(function)
        def called(*arguments: Any) -> tuple[Any, ...]:
            found = DEVICE.absent() or _capture_error(waits)
            if found is None:
                DEVICE.timeline.settle()
                try:
                    found = DEVICE.timeline.failed or function(*arguments)
                except _Refused as refused:
                    found = refused.error
            if not isinstance(found, cudaError_t):
                return (cudaError_t.cudaSuccess, *(found if values > 1 else (found,)))
            if found and found is not cudaError_t.cudaErrorNotReady:
                DEVICE.last_error = found
            return (found, *([None] * values))

        return called

    return made


class _Refused(Exception):  # noqa: N818
    def __init__(self, error: cudaError_t) -> None:
        self.error = error


def _stream(handle: Any) -> Stream:
    found = DEVICE.stream(address_of(handle))
    if found is None:
        raise _Refused(_BAD_HANDLE)
    return found


def _event(handle: Any) -> Event:
    found = DEVICE.events.get(address_of(handle))
    if found is None:
        raise _Refused(_BAD_HANDLE)
    return found


def _device(number: int) -> int:
    if not 0 <= wanted(number) < device_count():
        raise _Refused(cudaError_t.cudaErrorInvalidDevice)
    return number


def _capture_error(waits: bool) -> cudaError_t | None:
    streams = DEVICE.timeline.streams.values() if waits else ()
    capturing = [one for one in streams if one.capture is not None]
    for one in capturing:
        one.invalidated = True
    return cudaError_t.cudaErrorStreamCaptureUnsupported if capturing else None


def _allowed(address: int, nbytes: int, device: bool) -> bool:
    memory = DEVICE.memory
    return memory.on_device(address, nbytes) if device else memory.on_host(address, nbytes)


def _either(address: int, nbytes: int) -> bool:
    return any(_allowed(address, nbytes, side) for side in (True, False))


def _copy(to: int, source: int, nbytes: int, kind: Any, stream: Stream) -> cudaError_t | None:
    """Enqueue a copy; return what is wrong with it."""
    sides = _SIDES[handles.cudaMemcpyKind(kind).name]
    if not (_allowed(to, nbytes, sides[0]) and _allowed(source, nbytes, sides[1])):
        return _INVALID

    def move() -> cudaError_t | None:
        if not (_either(to, nbytes) and _either(source, nbytes)):  # freed since
            return cudaError_t.cudaErrorIllegalAddress
        ctypes.memmove(to, source, nbytes)
        return None

    DEVICE.timeline.enqueue(stream, Node(_LATENCY_NS + nbytes // _BYTES_PER_NS, move))
    return None


# device


@call(1)
def cudaGetDeviceCount() -> Any:
    return device_count()


@call()
def cudaSetDevice(device: int) -> Any:
    DEVICE.current = _device(device)
    return _OK


@call(1)
def cudaGetDeviceProperties(device: int) -> Any:
    _device(device)
    return handles.cudaDeviceProp()


@call(1)
def cudaDeviceGetAttribute(attr: Any, device: int) -> Any:
    _device(device)
    return handles.ATTRIBUTES.get(handles.cudaDeviceAttr(attr).name, _INVALID)


@call(waits=True)
def cudaDeviceSynchronize() -> Any:
    return DEVICE.timeline.synchronize() or _OK


def cudaGetLastError() -> tuple[Any]:
    error = DEVICE.timeline.failed or DEVICE.absent() or DEVICE.last_error
    DEVICE.last_error = _OK
    return (error,)


def cudaGetErrorName(error: Any) -> tuple[Any, bytes]:
    known = {int(one): name for name, one in vars(cudaError_t).items() if isinstance(one, int)}
    return _OK, known.get(wanted(error), "unrecognized error code").encode()


def cudaGetErrorString(error: Any) -> tuple[Any, bytes]:
    name = cudaGetErrorName(error)[1].decode()
    return _OK, handles.TEXTS.get(name, "unrecognized error code").encode()


# memory


@call(2)
def cudaMemGetInfo() -> Any:
    return DEVICE.memory.free, total_bytes()


def _allocate(size: int, kind: str) -> Any:
    if wanted(size) < 0:
        raise OverflowError("can't convert negative value to size_t")
    block = DEVICE.memory.allocate(size, kind)
    return cudaError_t.cudaErrorMemoryAllocation if block is None else block.address


@call(1, waits=True)
def cudaMalloc(size: int) -> Any:
    return _allocate(size, "device")


@call(1, waits=True)
def cudaMallocManaged(size: int, flags: int) -> Any:
    known = (CONSTANTS["cudaMemAttachGlobal"], CONSTANTS["cudaMemAttachHost"])
    return _allocate(size, "managed") if wanted(flags) in known else _INVALID


@call(1, waits=True)
def cudaHostAlloc(size: int, flags: int) -> Any:
    return _INVALID if wanted(flags) & ~0xF else _allocate(size, "pinned")


def _free(pointer: Any, kinds: tuple[str, ...]) -> Any:
    address = address_of(pointer)
    failed = DEVICE.timeline.synchronize()  # as the real ones do
    if failed or address == 0:
        return failed or _OK
    return _OK if DEVICE.memory.release(address, kinds) else _INVALID


@call(waits=True)
def cudaFree(devPtr: Any) -> Any:
    return _free(devPtr, ("device", "managed"))


@call(waits=True)
def cudaFreeHost(ptr: Any) -> Any:
    return _free(ptr, ("pinned",))


@call(waits=True)
def cudaMemcpy(dst: Any, src: Any, count: int, kind: Any) -> Any:
    timeline = DEVICE.timeline
    done = _copy(address_of(dst), address_of(src), wanted(count), kind, timeline.legacy)
    return done or timeline.wait_until(timeline.legacy.cursor_ns) or _OK


@call()
def cudaMemcpyAsync(dst: Any, src: Any, count: int, kind: Any, stream: Any) -> Any:
    return _copy(address_of(dst), address_of(src), wanted(count), kind, _stream(stream)) or _OK


@call()
def cudaMemsetAsync(devPtr: Any, value: int, count: int, stream: Any) -> Any:
    address, byte, nbytes = address_of(devPtr), wanted(value) & 0xFF, wanted(count)
    on = _stream(stream)
    if not _allowed(address, nbytes, device=True):
        return _INVALID

    def write() -> cudaError_t | None:
        if not _allowed(address, nbytes, device=True):  # freed since
            return cudaError_t.cudaErrorIllegalAddress
        ctypes.memset(address, byte, nbytes)
        return None

    DEVICE.timeline.enqueue(on, Node(_LATENCY_NS + nbytes // 1000, write))
    return _OK


# events


@call(1)
def cudaEventCreateWithFlags(flags: int) -> Any:
    if wanted(flags) & ~7:
        return _INVALID
    mark = Event(DEVICE.handle(), timing=not flags & CONSTANTS["cudaEventDisableTiming"])
    DEVICE.events[mark.handle] = mark
    return handles.cudaEvent_t(mark.handle)


@call()
def cudaEventRecord(event: Any, stream: Any) -> Any:
    mark, on = _event(event), _stream(stream)
    mark.captured = on.capture is not None
    DEVICE.timeline.enqueue(on, Node(0, event=mark))
    return _OK


@call()
def cudaEventSynchronize(event: Any) -> Any:
    if _event(event).captured:
        return cudaError_t.cudaErrorCapturedEvent
    return DEVICE.timeline.wait_until(_event(event).at_ns or 0) or _OK


@call(1)
def cudaEventElapsedTime(start: Any, end: Any) -> Any:
    marks = [_event(start), _event(end)]
    if any(not one.timing or one.at_ns is None for one in marks):
        return _BAD_HANDLE
    if any(one.captured for one in marks):
        return cudaError_t.cudaErrorCapturedEvent
    if any(one.at_ns > DEVICE.timeline.now() for one in marks):
        return _NOT_READY
    return ctypes.c_float((marks[1].at_ns - marks[0].at_ns) / 1e6).value  # as CUDA rounds


@call()
def cudaEventDestroy(event: Any) -> Any:
    return _BAD_HANDLE if DEVICE.events.pop(address_of(event), None) is None else _OK


# streams


@call(1)
def cudaStreamCreate() -> Any:
    on = Stream(DEVICE.handle())
    DEVICE.timeline.streams[on.handle] = on
    return handles.cudaStream_t(on.handle)


@call()
def cudaStreamDestroy(stream: Any) -> Any:
    on = _stream(stream)
    if on is DEVICE.timeline.legacy:
        return _BAD_HANDLE
    on.destroyed = True  # what is on it goes on
    del DEVICE.timeline.streams[on.handle]
    return _OK


@call()
def cudaStreamSynchronize(stream: Any) -> Any:
    on = _stream(stream)
    if on.capture is not None:
        on.invalidated = True
        return cudaError_t.cudaErrorStreamCaptureUnsupported
    DEVICE.timeline.wait_for_gate(on)
    return DEVICE.timeline.wait_until(on.cursor_ns) or _OK


@call()
def cudaStreamWaitEvent(stream: Any, event: Any, flags: int) -> Any:
    on, mark = _stream(stream), _event(event)
    if on.capture is not None or mark.captured:  # joining captures is not offered here
        on.invalidated = True
        return cudaError_t.cudaErrorStreamCaptureIsolation
    DEVICE.timeline.wait_event(on, mark)
    return _OK


@call()
def cudaStreamBeginCapture(stream: Any, mode: Any) -> Any:
    handles.cudaStreamCaptureMode(mode)
    on = _stream(stream)
    if on is DEVICE.timeline.legacy:
        return cudaError_t.cudaErrorStreamCaptureUnsupported
    if on.capture is not None:
        return cudaError_t.cudaErrorIllegalState
    on.capture, on.invalidated = [], False
    return _OK


@call(1)
def cudaStreamEndCapture(stream: Any) -> Any:
    on = _stream(stream)
    if on.capture is None:
        return cudaError_t.cudaErrorIllegalState
    nodes, on.capture = on.capture, None
    if on.invalidated:
        return cudaError_t.cudaErrorStreamCaptureInvalidated
    handle = DEVICE.handle()
    DEVICE.graphs[handle] = nodes
    return handles.cudaGraph_t(handle)


@call(1)
def cudaGraphInstantiate(graph: Any, flags: int) -> Any:
    nodes = DEVICE.graphs.get(address_of(graph))
    if nodes is None or wanted(flags) < 0:
        return _INVALID
    handle = DEVICE.handle()
    DEVICE.executables[handle] = list(nodes)
    return handles.cudaGraphExec_t(handle)


@call()
def cudaGraphLaunch(graphExec: Any, stream: Any) -> Any:
    nodes = DEVICE.executables.get(address_of(graphExec))
    if nodes is None:
        return _INVALID
    DEVICE.timeline.launch(_stream(stream), nodes)
    return _OK


@call()
def cudaGraphDestroy(graph: Any) -> Any:
    return _INVALID if DEVICE.graphs.pop(address_of(graph), None) is None else _OK


@call()
def cudaGraphExecDestroy(graphExec: Any) -> Any:
    return _INVALID if DEVICE.executables.pop(address_of(graphExec), None) is None else _OK
