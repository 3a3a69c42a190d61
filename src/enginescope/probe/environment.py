"""The environment of a run, put together."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from enginescope._version import __version__
from enginescope.probe.host import probe_host
from enginescope.probe.nvml import probe_devices
from enginescope.records.environment import Environment

#: Distributions whose version can change a figure.
PACKAGES = (
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "tensorrt",
    "tensorrt-cu12",
    "tensorrt-cu13",
    "tensorrt-cu12-bindings",
    "tensorrt-cu13-bindings",
    "tensorrt-lean",
    "tensorrt-lean-cu12-bindings",
    "tensorrt-lean-cu13-bindings",
    "cuda-bindings",
    "nvidia-ml-py",
)

#: Environment variables that steer threads, devices and caches.
VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "KMP_AFFINITY",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_MODULE_LOADING",
    "CUDA_LAUNCH_BLOCKING",
    "NVIDIA_TF32_OVERRIDE",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
)


def probe_environment() -> Environment:
    """Return host, GPUs, versions and steering variables, as of now."""
    return Environment(
        host=probe_host(),
        devices=probe_devices(),
        versions=versions(),
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def versions() -> dict[str, str]:
    """Return the versions of enginescope, Python and the packages that matter."""
    found = {"enginescope": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
