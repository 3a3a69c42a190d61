"""Memory and copies."""
# ruff: noqa: N802, N803  # CUDA's names

from typing import Any

from fake_device import copies
from fake_device.calls import call, wanted
from fake_device.device import DEVICE
from fake_device.errors import Error as cudaError_t
from fake_device.handles import address_of
from fake_device.names import CONSTANTS
from fake_device.settings import total_bytes

_OK = cudaError_t.cudaSuccess
_INVALID = cudaError_t.cudaErrorInvalidValue
_BAD_HANDLE = cudaError_t.cudaErrorInvalidResourceHandle


@call(2)
def cudaMemGetInfo() -> Any:
    return DEVICE.memory.free, total_bytes()


def _allocate(size: int, kind: str) -> Any:
    if wanted(size) < 0:
        raise OverflowError("can't convert negative value to size_t")
    block = DEVICE.memory.allocate(size, kind)
    return cudaError_t.cudaErrorMemoryAllocation if block is None else block.address


@call(1, unsafe_in_capture=True)
def cudaMalloc(size: int) -> Any:
    return _allocate(size, "device")


@call(1, unsafe_in_capture=True)
def cudaMallocManaged(size: int, flags: int) -> Any:
    known = (CONSTANTS["cudaMemAttachGlobal"], CONSTANTS["cudaMemAttachHost"])
    return _allocate(size, "managed") if wanted(flags) in known else _INVALID


@call(1, unsafe_in_capture=True)
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
    done = copies.copy(address_of(dst), address_of(src), wanted(count), kind, timeline.legacy)
    return done or timeline.wait_until(timeline.legacy.cursor_ns) or _OK


@call()
def cudaMemcpyAsync(dst: Any, src: Any, count: int, kind: Any, stream: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    if on is None:
        return _BAD_HANDLE
    return copies.copy(address_of(dst), address_of(src), wanted(count), kind, on) or _OK


@call()
def cudaMemsetAsync(devPtr: Any, value: int, count: int, stream: Any) -> Any:
    on = DEVICE.stream(address_of(stream))
    if on is None:
        return _BAD_HANDLE
    return copies.fill(address_of(devPtr), wanted(value), wanted(count), on) or _OK
