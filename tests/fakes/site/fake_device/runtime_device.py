"""The device, its limits, its versions, and errors."""
# ruff: noqa: N802  # CUDA's names

from typing import Any

from fake_device.calls import call, wanted
from fake_device.device import DEVICE
from fake_device.errors import TEXTS
from fake_device.errors import Error as cudaError_t
from fake_device.handles import ATTRIBUTES, CLOCKS, PROPERTIES, cudaDeviceProp
from fake_device.names import cudaDeviceAttr
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
    return _OK, TEXTS.get(name, "unrecognized error code").encode()
