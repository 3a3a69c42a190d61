"""A worker does not outlive the process that waits for it, however that one dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def exit_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, ends (Linux).

    A worker has a session of its own, so neither a closed terminal nor a kill of its parent
    reaches it, and nobody is left to bound it: it would run on beside every later measurement.

    Args:
        parent: Process id, to see whether it is gone already.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)
