"""Events."""
# ruff: noqa: N802  # CUDA's names

from typing import Any

from fake_device import copies
from fake_device.calls import call, wanted
from fake_device.device import DEVICE
from fake_device.errors import Error as cudaError_t
from fake_device.handles import address_of
from fake_device.names import CONSTANTS, cudaEvent_t
from fake_device.timeline import Node

_OK = cudaError_t.cudaSuccess
_INVALID = cudaError_t.cudaErrorInvalidValue
_BAD_HANDLE = cudaError_t.cudaErrorInvalidResourceHandle
_NOT_READY = cudaError_t.cudaErrorNotReady


@call(1)
def cudaEventCreate() -> Any:
    return cudaEvent_t(DEVICE.new_event(timing=True).handle)


@call(1)
def cudaEventCreateWithFlags(flags: int) -> Any:
    if wanted(flags) & ~7:
        return _INVALID
    timing = not flags & CONSTANTS["cudaEventDisableTiming"]
    return cudaEvent_t(DEVICE.new_event(timing=timing).handle)


@call()
def cudaEventRecord(event: Any, stream: Any) -> Any:
    mark, on = DEVICE.events.get(address_of(event)), DEVICE.stream(address_of(stream))
    if mark is None or on is None:
        return _BAD_HANDLE
    mark.captured = on.capture is not None
    DEVICE.timeline.enqueue(on, Node(0, event=mark))
    return _OK


@call()
def cudaEventSynchronize(event: Any) -> Any:
    mark = DEVICE.events.get(address_of(event))
    if mark is None:
        return _BAD_HANDLE
    if mark.captured:
        return cudaError_t.cudaErrorCapturedEvent
    return DEVICE.timeline.wait_until(mark.at_ns or 0) or _OK


@call(1)
def cudaEventElapsedTime(start: Any, end: Any) -> Any:
    marks = [DEVICE.events.get(address_of(one)) for one in (start, end)]
    if any(one is None or not one.timing or one.at_ns is None for one in marks):
        return _BAD_HANDLE
    if any(one.captured for one in marks):
        return cudaError_t.cudaErrorCapturedEvent
    if any(one.at_ns > DEVICE.timeline.now() for one in marks):
        return _NOT_READY
    return copies.float32((marks[1].at_ns - marks[0].at_ns) / 1e6)


@call()
def cudaEventDestroy(event: Any) -> Any:
    return _BAD_HANDLE if DEVICE.events.pop(address_of(event), None) is None else _OK
