"""Flushing the L2 cache, so that a query finds none of its weights or inputs there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from enginescope.backends.tensorrt.cuda import Cuda


def flusher(cuda: Cuda, stream: int) -> Callable[[], Any]:
    """Return a call that enqueues a write of twice the L2 cache's size on `stream`."""
    nbytes = 2 * cuda.facts(cuda.device).l2_bytes
    address = cuda.device_buffer(nbytes)
    return partial(cuda.runtime.cudaMemsetAsync, address, 0, nbytes, stream)
