"""The CUDA runtime with its errors in our words, and its handles closed when they should be."""

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.judge.samples import Array
from enginescope.probe.nvml import probe_device
from enginescope.records.environment import Device

_NO_DEVICE = (
    "cudaErrorNoDevice",
    "cudaErrorInsufficientDriver",
    "cudaErrorStubLibrary",
    "cudaErrorSystemDriverMismatch",
    "cudaErrorSystemNotReady",
    "cudaErrorCompatNotSupportedOnDevice",
)


class Driver:
    """The CUDA runtime, asked without taking a device: that alone would fill some of its memory."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime

    def device_count(self) -> int:
        """Return how many GPUs there are, at least one."""
        try:
            asked = self.runtime.cudaGetDeviceCount()
        except RuntimeError as error:  # cuda-bindings before 13, where there is no libcuda
            what = "looking for a GPU"
            raise UnsupportedError(what, why=str(error), hint="enginescope doctor") from error
        count = int(self.check(asked, "looking for a GPU"))
        if count == 0:
            raise UnsupportedError("looking for a GPU", why="there is none")
        return count

    def _properties(self, device: int) -> Any:
        asked = self.runtime.cudaGetDeviceProperties(device)
        return self.check(asked, f"asking GPU {device} for its properties")

    def l2_bytes(self, device: int) -> int:
        """Return the size of the L2 cache."""
        return int(self._properties(device).l2CacheSize)

    def facts(self, device: int = 0) -> Device:
        """Return what CUDA's properties say of a GPU, without its clocks and its driver."""
        properties = self._properties(device)
        name = properties.name
        return Device(
            name=name.decode().rstrip("\0") if isinstance(name, bytes) else str(name),
            compute_capability=f"{properties.major}.{properties.minor}",
            memory_bytes=int(properties.totalGlobalMem),
            sm_count=int(properties.multiProcessorCount),
            shared_per_sm_bytes=int(properties.sharedMemPerMultiprocessor),
            memory_bus_bits=int(properties.memoryBusWidth),
            has_ecc=bool(properties.ECCEnabled),
        )

    def described(self, device: int = 0) -> Device:
        """Return what identifies a GPU and its driver.

        NVML alone tells the driver. It numbers GPUs by their slot and CUDA by their speed, so what
        it says of another model than CUDA's is of another GPU.
        """
        facts, known = self.facts(device), probe_device(device)
        core, memory = (self._clock_mhz(name, device) for name in ("ClockRate", "MemoryClockRate"))
        clocked = replace(facts, clock_mhz=core, memory_clock_mhz=memory)
        if known is None:
            return clocked
        uuid = known.uuid if known.name == facts.name else None
        return replace(clocked, driver=known.driver, uuid=uuid)

    def _clock_mhz(self, name: str, device: int) -> float:
        kind = getattr(self.runtime.cudaDeviceAttr, f"cudaDevAttr{name}")
        asked = self.runtime.cudaDeviceGetAttribute(kind, device)
        return float(self.check(asked, f"asking GPU {device} for its clocks")) / 1e3

    def check(self, result: tuple[Any, ...], doing: str) -> Any:
        """Return what a call gave beside its error code.

        Raises:
            MemoryError: The device's memory, or page-locked memory, is exhausted.
            UnsupportedError: There is no GPU, or no driver for it.
            BackendError: Any other error.
        """
        error, *values = result
        if error:
            raise self._failure(error, doing)
        return values[0] if len(values) == 1 else tuple(values)

    def error_name(self, error: Any) -> str:
        """Return CUDA's name of an error."""
        return self._text(self.runtime.cudaGetErrorName(error), str(error))

    def _failure(self, error: Any, doing: str) -> BaseException:
        name = self.error_name(error)
        why = f"{name}: {self._text(self.runtime.cudaGetErrorString(error), 'no description')}"
        if name == "cudaErrorMemoryAllocation":
            return MemoryError(f"{doing}: {why}")
        if name in _NO_DEVICE:
            return UnsupportedError(doing, why=why, hint="enginescope doctor")
        return BackendError(doing, why=why)

    @staticmethod
    def _text(answer: tuple[Any, ...], otherwise: str) -> str:
        text = answer[1] if len(answer) > 1 else None
        return text.decode() if isinstance(text, bytes) else str(text or otherwise)


class Cuda(Driver):
    """One device, and everything allocated on it."""

    def __init__(self, runtime: Any, device: int = 0) -> None:
        super().__init__(runtime)
        self._owned = ExitStack()
        count = self.device_count()
        if not 0 <= device < count:
            raise UnsupportedError(f"GPU {device}", why=f"this machine shows {count}")
        self.check(runtime.cudaSetDevice(device), f"taking GPU {device}")
        self.device = device

    def free_bytes(self) -> int:
        """Return the device memory that is free now."""
        free, _ = self.check(self.runtime.cudaMemGetInfo(), "asking for free device memory")
        return int(free)

    def stream(self) -> Any:
        """Return a new ``cudaStream_t``: a plain number would be wrapped anew at each call."""
        made = self.check(self.runtime.cudaStreamCreate(), "creating a stream")
        self.own(self.runtime.cudaStreamDestroy, made)
        return made

    def event(self, *, spin: bool) -> Any:
        """Return a new timing event; waiting for it spins, or sleeps until it is reached."""
        rt = self.runtime
        flags = rt.cudaEventDefault if spin else rt.cudaEventBlockingSync
        made = self.check(rt.cudaEventCreateWithFlags(flags), "creating an event")
        self.own(rt.cudaEventDestroy, made)
        return made

    def device_buffer(self, nbytes: int, *, managed: bool = False) -> int:
        """Return the address of new device memory, at least one byte."""
        rt, size = self.runtime, max(nbytes, 1)
        made = (
            rt.cudaMallocManaged(size, rt.cudaMemAttachGlobal) if managed else rt.cudaMalloc(size)
        )
        address = self.check(made, f"allocating {size:,} bytes on GPU {self.device}")
        self.own(rt.cudaFree, address)
        return int(address)

    def host_buffer(self, nbytes: int) -> Array:
        """Return new page-locked host memory as bytes, shape (nbytes,)."""
        rt, size = self.runtime, max(nbytes, 1)
        made = rt.cudaHostAlloc(size, rt.cudaHostAllocDefault)
        address = self.check(made, f"allocating {size:,} bytes of page-locked memory")
        self.own(rt.cudaFreeHost, address)
        return host_view(int(address), nbytes)

    def wait(self, stream: Any, doing: str) -> None:
        """Wait until `stream` has done its work."""
        self.check(self.runtime.cudaStreamSynchronize(stream), doing)

    def own(self, release: Callable[[Any], Any], handle: Any) -> None:
        """Release `handle` when all is closed."""
        self._owned.callback(release, handle)

    def close(self) -> None:
        """Release everything, the last first, once the device has done its work."""
        self.runtime.cudaDeviceSynchronize()
        self._owned.close()


def host_view(address: int, nbytes: int) -> Array:
    """Return host memory at an address as bytes, shape (nbytes,); it is not owned."""
    if nbytes == 0:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
