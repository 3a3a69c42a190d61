"""A stand-in for what is used of ``cuda.bindings.driver`` 13: waiting for a word in memory."""
# ruff: noqa: N802  # CUDA's names

import ctypes
from enum import IntEnum
from typing import Any

from fake_device.device import DEVICE
from fake_device.handles import handle_class
from fake_device.settings import faulty

CUstream = handle_class("CUstream", "CUstream")
CUdeviceptr = handle_class("CUdeviceptr", "CUdeviceptr")


class CUresult(IntEnum):
    """As the driver counts its errors."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_SUPPORTED = 801


def cuStreamWaitValue32(stream: Any, addr: Any, value: int, flags: int) -> tuple[CUresult]:
    """Let what follows on a stream begin when the word at `addr` is at least `value`."""
    if not isinstance(value, int) or not isinstance(flags, int):
        raise TypeError("an integer is required")
    on, address = DEVICE.stream(int(stream)), int(addr)
    if on is None:
        return (CUresult.CUDA_ERROR_INVALID_HANDLE,)
    if faulty("no_stream_waits"):
        return (CUresult.CUDA_ERROR_NOT_SUPPORTED,)
    if flags or not DEVICE.memory.on_host(address, 4):  # only "greater or equal" is offered here
        return (CUresult.CUDA_ERROR_INVALID_VALUE,)
    word = ctypes.c_uint32.from_address(address)
    DEVICE.timeline.wait_for_gate(on)
    on.gate = lambda: word.value >= value
    return (CUresult.CUDA_SUCCESS,)
