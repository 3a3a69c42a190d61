"""Which GPU CUDA means by a number, asked of the driver itself."""

from __future__ import annotations

import ctypes
import uuid
from typing import Any

_LIBRARY = "libcuda.so.1"


def cuda_uuid(index: int, driver: Any = None) -> str | None:
    """Return the UUID of the GPU, or MIG instance, that CUDA calls `index` in this process.

    CUDA numbers GPUs by speed and ``CUDA_VISIBLE_DEVICES``, NVML by their slots: only the UUID is
    the same in both. NVML writes ``GPU-`` or ``MIG-`` before it.

    Args:
        driver: In the place of ``libcuda``.

    Returns:
        ``None`` where there is no driver or no such GPU. It takes no memory of the GPU.
    """
    try:
        cuda = driver or ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    device = ctypes.c_int()
    raw = (ctypes.c_ubyte * 16)()
    # the first version names the whole GPU, where an instance of it is meant
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or getattr(cuda, "cuDeviceGetUuid", None)
    if ask is None or cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), index):
        return None
    return None if ask(ctypes.byref(raw), device) else str(uuid.UUID(bytes=bytes(raw)))
