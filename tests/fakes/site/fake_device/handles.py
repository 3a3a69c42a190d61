"""Errors, enumerations, handles and constants of the CUDA runtime, with their recorded values."""
# ruff: noqa: N801, N816  # CUDA's names

from __future__ import annotations

import ctypes
from typing import Any

import recorded_symbols
from fake_device.settings import total_bytes

_RECORDED = recorded_symbols.read(recorded_symbols.CUDA)
CONSTANTS: dict[str, int] = _RECORDED["constants"]
TEXTS: dict[str, str] = _RECORDED["error_strings"]


class FastEnum(int):
    """An enumeration as cuda-bindings has it: an int with a name, not subscriptable."""

    name: str

    def __new__(cls, value: int) -> FastEnum:
        for member in cls.__dict__.values():
            if type(member) is cls and int(member) == int(value):
                return member
        raise ValueError(f"{value} is not a valid {cls.__name__}")

    value = property(int)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {int(self)}>"

    __str__ = int.__repr__


def fast_enum(name: str) -> type[FastEnum]:
    cls = type(name, (FastEnum,), {})
    for member, value in recorded_symbols.cuda_surface().enums[name].items():
        made = int.__new__(cls, value)
        made.name = member
        setattr(cls, member, made)
    return cls


class Handle:
    """An opaque handle: ``int()`` gives its value; it equals handles of its own kind only."""

    _shown = "void"

    def __init__(self, init_value: Any = 0) -> None:
        self._value = ctypes.c_void_p(int(init_value))

    def __int__(self) -> int:
        return self._value.value or 0

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and int(other) == int(self)

    def __hash__(self) -> int:
        return hash(int(self))

    def __repr__(self) -> str:
        return f"<{self._shown} {int(self):#x}>"


def handle_class(name: str, shown: str) -> type[Handle]:
    return type(name, (Handle,), {"_shown": shown})


cudaError_t = fast_enum("cudaError_t")
cudaMemcpyKind = fast_enum("cudaMemcpyKind")
cudaStreamCaptureMode = fast_enum("cudaStreamCaptureMode")
cudaDeviceAttr = fast_enum("cudaDeviceAttr")
cudaStream_t = handle_class("cudaStream_t", "CUstream")
cudaEvent_t = handle_class("cudaEvent_t", "CUevent")
cudaGraph_t = handle_class("cudaGraph_t", "CUgraph")
cudaGraphExec_t = handle_class("cudaGraphExec_t", "CUgraphExec")


def address_of(value: Any) -> int:
    """Return the number of an address, a handle, a buffer, or ``None``."""
    if value is None:
        return 0
    if isinstance(value, (int, Handle)):
        return int(value)
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return int(interface["data"][0])
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError("an integer is required") from None
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


#: The H200 on which the recorded runs were made, but for its memory.
PROPERTIES: dict[str, Any] = {
    "name": b"Fake H200",
    "major": 9,
    "minor": 0,
    "l2CacheSize": 60 << 20,
    "multiProcessorCount": 132,
    "memoryBusWidth": 6016,
    "ECCEnabled": 1,
    "sharedMemPerMultiprocessor": 228 << 10,
}
#: cudaDeviceAttr -> value: bytes, kHz.
ATTRIBUTES = {
    "cudaDevAttrMaxPersistingL2CacheSize": 32 << 20,
    "cudaDevAttrClockRate": 1_980_000,
    "cudaDevAttrMemoryClockRate": 3_201_000,
}


class cudaDeviceProp:
    def __init__(self) -> None:
        self.totalGlobalMem = total_bytes()
        for name, value in PROPERTIES.items():
            setattr(self, name, value)
