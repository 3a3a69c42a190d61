"""Copies and fills: bytes that move when their time has come."""

import ctypes
from typing import Any

from fake_device.device import DEVICE
from fake_device.errors import Error, fast_enum
from fake_device.timeline import Node, Stream

_KINDS = fast_enum("cudaMemcpyKind")
_LATENCY_NS = 2_000
_BYTES_PER_NS = 25  # PCIe, roughly
#: What each kind asks of (destination, source): True for the device's memory.
_SIDES = {
    "cudaMemcpyHostToHost": (False, False),
    "cudaMemcpyHostToDevice": (True, False),
    "cudaMemcpyDeviceToHost": (False, True),
    "cudaMemcpyDeviceToDevice": (True, True),
}


def _allowed(address: int, nbytes: int, device: bool) -> bool:
    memory = DEVICE.memory
    return memory.on_device(address, nbytes) if device else memory.on_host(address, nbytes)


def _either(address: int, nbytes: int) -> bool:
    return any(_allowed(address, nbytes, side) for side in (True, False))


def copy(to: int, source: int, nbytes: int, kind: Any, stream: Stream) -> Error | None:
    """Enqueue a copy; return what is wrong with it."""
    name = _KINDS(kind).name
    if name == "cudaMemcpyDefault":
        sound = _either(to, nbytes) and _either(source, nbytes)
    else:
        sides = _SIDES[name]
        sound = _allowed(to, nbytes, sides[0]) and _allowed(source, nbytes, sides[1])
    if not sound:
        return Error.cudaErrorInvalidValue

    def move() -> Error | None:
        if not (_either(to, nbytes) and _either(source, nbytes)):  # freed since
            return Error.cudaErrorIllegalAddress
        ctypes.memmove(to, source, nbytes)
        return None

    DEVICE.timeline.enqueue(stream, Node(_LATENCY_NS + nbytes // _BYTES_PER_NS, move))
    return None


def fill(address: int, value: int, nbytes: int, stream: Stream) -> Error | None:
    """Enqueue a fill of the device's memory; return what is wrong with it."""
    if not _allowed(address, nbytes, device=True):
        return Error.cudaErrorInvalidValue

    def write() -> Error | None:
        if not _allowed(address, nbytes, device=True):
            return Error.cudaErrorIllegalAddress
        ctypes.memset(address, value & 0xFF, nbytes)
        return None

    DEVICE.timeline.enqueue(stream, Node(_LATENCY_NS + nbytes // 1000, write))
    return None


def float32(value: float) -> float:
    """Round as CUDA does, which tells times in single precision."""
    return ctypes.c_float(value).value
