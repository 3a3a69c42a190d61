"""Processes by their numbers: names, and which are ours."""

from __future__ import annotations

import os

import psutil


def process_name(pid: int) -> str | None:
    """Return the name of a process; ``None`` where it is not to be seen from here."""
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return None


def own_pids() -> frozenset[int]:
    """Return this process and all that it has started."""
    try:
        children = psutil.Process().children(recursive=True)
    except psutil.Error:  # one of them ended meanwhile
        children = []
    return frozenset((os.getpid(), *(one.pid for one in children)))
