"""NVIDIA's Multi-Process Service: whether its daemon runs."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

#: Name of the process that computes for all clients of a GPU.
SERVER_NAME = "nvidia-cuda-mps-server"
_USUAL_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA looks
_PID = "nvidia-cuda-mps-control.pid"


def mps_daemon_runs() -> bool:
    """Whether the daemon runs that processes of this one's environment would connect to."""
    folder = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", _USUAL_FOLDER))
    try:
        pid = int((folder / _PID).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return bool(psutil.pid_exists(pid))
