"""The environment of a run, with the commit of the working directory."""

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

from enginescope._version import __version__
from enginescope.core.optional import versions_of
from enginescope.core.plugins import packages_with
from enginescope.probe.host import probe_host
from enginescope.probe.nvml import probe_devices
from enginescope.records.environment import Commit, Environment

#: Distributions whose version can change a figure.
NAMED = ("enginescope", "python")
PACKAGES = (
    *("numpy", "onnx", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "openvino"),
    *("tensorrt", "tensorrt-cu12", "tensorrt-cu13"),
    *("tensorrt-cu12-bindings", "tensorrt-cu13-bindings"),
    *("tensorrt-lean", "tensorrt-lean-cu12-bindings", "tensorrt-lean-cu13-bindings"),
    *("tensorrt-rtx", "tensorrt-rtx-cu12-bindings", "tensorrt-rtx-cu13-bindings"),
    *("cuda-bindings", "nvidia-ml-py"),
)

#: Environment variables that steer threads, devices and caches.
VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "KMP_AFFINITY"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"),
    *("NVIDIA_TF32_OVERRIDE", "LD_PRELOAD", "MALLOC_ARENA_MAX"),
)


def probe_environment() -> Environment:
    """Return host, GPUs, versions and steering variables, as of now."""
    devices = probe_devices()
    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return Environment(host=probe_host(), devices=devices, versions=versions(), variables=variables)


def versions() -> dict[str, str]:
    """Return the versions of enginescope, Python, and the packages that can change a figure."""
    others = sorted(packages_with("backend").difference(PACKAGES))
    own = zip(NAMED, (__version__, platform.python_version()), strict=True)
    return dict(own) | versions_of(*PACKAGES, *others)


_TIMEOUT_S = 2.0
_HEAD = "# branch.oid "


@lru_cache(maxsize=4)
def probe_commit(folder: Path) -> Commit | None:
    """Return the commit that `folder` is at; asked once, and ``None`` where that cannot be known.

    Without Git, outside a repository, before its first commit, or where it takes too long.
    """
    command = [
        *("git", "--no-optional-locks"),  # a look must not write to the repository
        *("-C", str(folder), "status", "--porcelain=v2", "--branch"),
        *("--untracked-files=no", "--ignore-submodules=all"),
    ]
    try:
        ended = subprocess.run(
            command, capture_output=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no Git, no repository, a large one
        return None
    lines = ended.stdout.decode(errors="replace").splitlines()
    named = [line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)]
    if not named or named[0] == "(initial)":
        return None
    return Commit(id=named[0], is_changed=any(not line.startswith("#") for line in lines))
