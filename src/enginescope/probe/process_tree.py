"""Which processes this one was started by."""

from __future__ import annotations

import psutil


def ancestors() -> frozenset[int]:
    """Return the process ids of this process's parent and of all above it."""
    try:
        return frozenset(parent.pid for parent in psutil.Process().parents())
    except psutil.Error:  # one of them ended meanwhile
        return frozenset()
