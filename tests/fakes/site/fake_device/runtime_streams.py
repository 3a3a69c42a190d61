"""Streams and graphs."""
# ruff: noqa: N802, N803  # CUDA's names

from typing import Any

from fake_device.calls import call, wanted
from fake_device.device import DEVICE
from fake_device.errors import Error as cudaError_t
from fake_device.handles import address_of
from fake_device.names import cudaGraph_t, cudaGraphExec_t, cudaStream_t, cudaStreamCaptureMode

_OK = cudaError_t.cudaSuccess
_INVALID = cudaError_t.cudaErrorInvalidValue
_BAD_HANDLE = cudaError_t.cudaErrorInvalidResourceHandle


@call(1)
def cudaStreamCreate() -> Any:
    return cudaStream_t(DEVICE.new_stream(blocking=True).handle)


@call(1)
def cudaStreamCreateWithFlags(flags: int) -> Any:
    if wanted(flags) not in (0, 1):
        return _INVALID
    return cudaStream_t(DEVICE.new_stream(blocking=flags == 0).handle)


@call()
def cudaStreamDestroy(stream: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    if on is None or on is DEVICE.timeline.legacy:
        return _BAD_HANDLE
    on.destroyed = True  # what is on it goes on
    del DEVICE.timeline.streams[on.handle]
    return _OK


@call()
def cudaStreamSynchronize(stream: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    if on is None:
        return _BAD_HANDLE
    if on.capture is not None:
        on.invalidated = True
        return cudaError_t.cudaErrorStreamCaptureUnsupported
    DEVICE.timeline.wait_for_gate(on)
    return DEVICE.timeline.wait_until(on.cursor_ns) or _OK


@call()
def cudaStreamWaitEvent(stream: Any, event: Any, flags: int) -> Any:
    on, mark = DEVICE.stream(address_of(stream)), DEVICE.events.get(address_of(event))
    if on is None or mark is None:
        return _BAD_HANDLE
    if on.capture is not None or mark.captured:  # joining captures is not offered here
        on.invalidated = True
        return cudaError_t.cudaErrorStreamCaptureIsolation
    DEVICE.timeline.wait_event(on, mark)
    return _OK


@call()
def cudaStreamBeginCapture(stream: Any, mode: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    cudaStreamCaptureMode(mode)
    if on is None:
        return _BAD_HANDLE
    if on is DEVICE.timeline.legacy:
        return cudaError_t.cudaErrorStreamCaptureUnsupported
    if on.capture is not None:
        return cudaError_t.cudaErrorIllegalState
    on.capture, on.invalidated = [], False
    return _OK


@call(1)
def cudaStreamEndCapture(stream: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    if on is None:
        return _BAD_HANDLE
    if on.capture is None:
        return cudaError_t.cudaErrorIllegalState
    nodes, on.capture = on.capture, None
    if on.invalidated:
        return cudaError_t.cudaErrorStreamCaptureInvalidated
    handle = DEVICE.handle()
    DEVICE.graphs[handle] = nodes
    return cudaGraph_t(handle)


@call(1)
def cudaGraphInstantiate(graph: Any, flags: int) -> Any:
    nodes = DEVICE.graphs.get(address_of(graph))
    if nodes is None or wanted(flags) < 0:
        return _INVALID
    handle = DEVICE.handle()
    DEVICE.executables[handle] = list(nodes)
    return cudaGraphExec_t(handle)


@call()
def cudaGraphLaunch(graphExec: Any, stream: Any) -> Any:
    nodes, on = DEVICE.executables.get(address_of(graphExec)), DEVICE.stream(address_of(stream))
    if nodes is None or on is None:
        return _INVALID if nodes is None else _BAD_HANDLE
    DEVICE.timeline.launch(on, nodes)
    return _OK


@call()
def cudaGraphDestroy(graph: Any) -> Any:
    return _INVALID if DEVICE.graphs.pop(address_of(graph), None) is None else _OK


@call()
def cudaGraphExecDestroy(graphExec: Any) -> Any:
    return _INVALID if DEVICE.executables.pop(address_of(graphExec), None) is None else _OK
