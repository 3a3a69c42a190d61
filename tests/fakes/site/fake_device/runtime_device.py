"""The device, its limits, its versions, and errors."""
# ruff: noqa: N802  # CUDA's names

from typing import Any

from fake_device.calls import call, wanted
from fake_device.device import DEVICE
from fake_device.errors import TEXTS
from fake_device.errors import Error as cudaError_t
from fake_device.handles import ATTRIBUTES, CLOCKS, PROPERTIES, cudaDeviceProp
from fake_device.names import cudaDeviceAttr, cudaLimit
from fake_device.settings import device_count

_OK = cudaError_t.cudaSuccess
_INVALID = cudaError_t.cudaErrorInvalidValue


@call(1)
def cudaGetDeviceCount() -> Any:
    return device_count()


@call()
def cudaSetDevice(device: int) -> Any:
    if not 0 <= wanted(device) < device_count():
        return cudaError_t.cudaErrorInvalidDevice
    DEVICE.current = device
    return _OK


@call(1)
def cudaGetDevice() -> Any:
    return DEVICE.current


@call(1)
def cudaGetDeviceProperties(device: int) -> Any:
    if not 0 <= wanted(device) < device_count():
        return cudaError_t.cudaErrorInvalidDevice
    return cudaDeviceProp()


@call(1)
def cudaDeviceGetAttribute(attr: Any, device: int) -> Any:
    if not 0 <= wanted(device) < device_count():
        return cudaError_t.cudaErrorInvalidDevice
    asked = cudaDeviceAttr(attr).name
    if asked in CLOCKS:
        return CLOCKS[asked]
    name = ATTRIBUTES.get(asked)
    return PROPERTIES[name] if name is not None else _INVALID


@call(1)
def cudaDeviceGetPCIBusId(length: int, device: int) -> Any:
    if not 0 <= wanted(device) < device_count():
        return cudaError_t.cudaErrorInvalidDevice
    return f"0000:{device + 1:02X}:00.0".encode()[: length - 1]


@call()
def cudaDeviceSetLimit(limit: Any, value: int) -> Any:
    DEVICE.limits[int(cudaLimit(limit))] = wanted(value)
    return _OK


@call(1)
def cudaDeviceGetLimit(limit: Any) -> Any:
    return DEVICE.limits.get(int(cudaLimit(limit)), 0)


@call(waits=True)
def cudaDeviceSynchronize() -> Any:
    return DEVICE.timeline.synchronize() or _OK


@call(1, needs_device=False)
def cudaRuntimeGetVersion() -> Any:
    return 13040


@call(1, needs_device=False)
def cudaDriverGetVersion() -> Any:
    return 0 if DEVICE.absent() else 13040


@call()
def cudaProfilerStart() -> Any:
    DEVICE.profiling = True
    return _OK


@call()
def cudaProfilerStop() -> Any:
    DEVICE.profiling = False
    return _OK


def cudaGetLastError() -> tuple[Any]:
    error = DEVICE.timeline.failed or DEVICE.absent() or DEVICE.last_error
    DEVICE.last_error = _OK
    return (error,)


def cudaPeekAtLastError() -> tuple[Any]:
    return (DEVICE.timeline.failed or DEVICE.absent() or DEVICE.last_error,)


def cudaGetErrorName(error: Any) -> tuple[Any, bytes]:
    known = {int(one): name for name, one in vars(cudaError_t).items() if isinstance(one, int)}
    return _OK, known.get(wanted(error), "unrecognized error code").encode()


def cudaGetErrorString(error: Any) -> tuple[Any, bytes]:
    name = cudaGetErrorName(error)[1].decode()
    return _OK, TEXTS.get(name, "unrecognized error code").encode()
