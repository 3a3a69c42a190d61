"""Handles and structures of the CUDA runtime as cuda-bindings shows them."""

import ctypes
from typing import Any

from fake_device.settings import total_bytes


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
    "persistingL2CacheMaxSize": 32 << 20,
    "integrated": 0,
    "memoryBusWidth": 6016,
    "ECCEnabled": 1,
    "sharedMemPerMultiprocessor": 228 << 10,
    "warpSize": 32,
    "pciBusID": 1,
    "pciDeviceID": 0,
    "pciDomainID": 0,
    "asyncEngineCount": 3,
    "managedMemory": 1,
    "concurrentManagedAccess": 1,
    "unifiedAddressing": 1,
}
#: cudaDeviceAttr -> value, of what is no property; kHz
CLOCKS = {"cudaDevAttrClockRate": 1_980_000, "cudaDevAttrMemoryClockRate": 3_201_000}
#: cudaDeviceAttr -> property
ATTRIBUTES = {
    "cudaDevAttrL2CacheSize": "l2CacheSize",
    "cudaDevAttrMultiProcessorCount": "multiProcessorCount",
    "cudaDevAttrMaxPersistingL2CacheSize": "persistingL2CacheMaxSize",
    "cudaDevAttrComputeCapabilityMajor": "major",
    "cudaDevAttrComputeCapabilityMinor": "minor",
    "cudaDevAttrIntegrated": "integrated",
    "cudaDevAttrGlobalMemoryBusWidth": "memoryBusWidth",
    "cudaDevAttrMaxSharedMemoryPerMultiprocessor": "sharedMemPerMultiprocessor",
    "cudaDevAttrEccEnabled": "ECCEnabled",
    "cudaDevAttrWarpSize": "warpSize",
    "cudaDevAttrAsyncEngineCount": "asyncEngineCount",
    "cudaDevAttrManagedMemory": "managedMemory",
    "cudaDevAttrConcurrentManagedAccess": "concurrentManagedAccess",
    "cudaDevAttrUnifiedAddressing": "unifiedAddressing",
}


class cudaDeviceProp:  # noqa: N801  # cuda-bindings' name
    def __init__(self) -> None:
        self.totalGlobalMem = total_bytes()
        for name, value in PROPERTIES.items():
            setattr(self, name, value)
