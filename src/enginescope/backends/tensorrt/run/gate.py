"""A gate on a stream: the GPU waits until the host has enqueued everything.

Without it the host enqueues short layers more slowly than the GPU runs them, and the GPU's waiting
is counted as time of the layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import numpy as np

from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.core.errors import UnsupportedError

#: Seconds after which the gate opens by itself: an enqueue that waits for the GPU would never end.
LIMIT_S = 1.0
_GREATER_OR_EQUAL = 0  # CU_STREAM_WAIT_VALUE_GEQ


class Gate:
    """A word in page-locked memory that the GPU waits for.

    Args:
        driver: ``cuda.bindings.driver``.

    Attributes:
        was_late: The gate opened by itself: the host had not enqueued everything after `LIMIT_S`.
    """

    def __init__(self, driver: Any, cuda: Cuda, stream: Any) -> None:
        self._driver = driver
        self._stream = driver.CUstream(int(stream))
        self._word = cuda.host_buffer(4).view(np.uint32)
        self._word[0] = 0
        self._generation = 0
        self.was_late = False

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold back what is enqueued in this block, until it is left.

        Raises:
            UnsupportedError: The driver offers no such wait.
        """
        self._generation += 1
        watchdog = Timer(LIMIT_S, self._open_late)
        watchdog.start()
        try:
            self._wait_on_gpu()
            yield
        finally:
            self._word[0] = self._generation
            watchdog.cancel()

    def check(self) -> None:
        """Raise if the gate once opened by itself.

        Raises:
            UnsupportedError: The host had not enqueued everything after `LIMIT_S`.
        """
        if self.was_late:
            raise UnsupportedError(
                "holding back the GPU",
                why=f"an inference was not enqueued within {LIMIT_S:g} s: the engine waits for the "
                "GPU in between, or has more launches than the driver's queue holds",
            )

    def _wait_on_gpu(self) -> None:
        driver = self._driver
        address = driver.CUdeviceptr(self._word.ctypes.data)
        (error,) = driver.cuStreamWaitValue32(
            self._stream, address, self._generation, _GREATER_OR_EQUAL
        )
        if error:
            raise UnsupportedError("holding back a CUDA stream", why=error.name)

    def _open_late(self) -> None:
        self.was_late = True
        self._word[0] = self._generation
