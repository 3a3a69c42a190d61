"""Where trtexec is, and of which TensorRT."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TypeAlias

from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.formats.log_facts import status

#: Major, minor, patch.
Version: TypeAlias = tuple[int, ...]

VARIABLE = "TRTEXEC"
#: Where NVIDIA's packages and containers put it; not on PATH by itself.
USUAL = Path("/usr/src/tensorrt/bin/trtexec")
#: What was checked against the tool's own source.
OLDEST: Version = (8, 6)

#: The first says the version and ends; the second fails, and says it before that.
_QUESTIONS = ("--help", f"--loadEngine={os.devnull}")
_TIMEOUT_S = 120


def find_binary(asked: str | None = None) -> Path:
    """Return the trtexec to use: `asked`, else $TRTEXEC, else on PATH, else the usual place."""
    for source, text in (("the option binary", asked), (f"${VARIABLE}", os.environ.get(VARIABLE))):
        if text:
            return _given(text, source)
    found = shutil.which("trtexec")
    if found:
        return Path(found)
    if _is_executable(USUAL):
        return USUAL
    raise MissingDependencyError(
        "trtexec is not on this machine",
        why=f"neither ${VARIABLE}, PATH nor {USUAL} has it, and TensorRT's wheels lack it",
        hint="NVIDIA's TensorRT container, its .deb (libnvinfer-bin) or its tar package has it; "
        "or measure without it: --on trt",
    )


def _given(text: str, source: str) -> Path:
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path's raises where there is no such user
    if os.sep not in text:
        path = Path(shutil.which(text) or text)
    if _is_executable(path):
        return path
    why = "no such file"
    if path.exists():
        why = "it is a folder" if path.is_dir() else "it cannot be executed"
    raise UsageError(f"trtexec at {text}", why=why, hint=f"{source} names the binary itself")


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def version_of(binary: Path) -> Version:
    """Return the version of TensorRT that `binary` was built with, as it says itself."""
    said = ""
    for question in _QUESTIONS:
        said = _answer(binary, question)
        found = (status(line) for line in said.splitlines())
        version = next((one[1] for one in found if one is not None and one[1]), None)
        if version is not None:
            return _supported(binary, tuple(int(part) for part in version.split(".")))
    raise UnsupportedError(
        f"{binary} is not a known version of trtexec",
        why=f"it says {_last_line(said)!r} instead of a version",
    )


def _supported(binary: Path, version: Version) -> Version:
    if version < OLDEST:
        raise UnsupportedError(
            f"{binary} is of TensorRT {dotted(version)}",
            why="older than 8.6, whose flags and figures are known here",
            hint="a newer TensorRT; files of older ones can be read: enginescope import",
        )
    return version


def dotted(version: Version) -> str:
    """Return ``8.6.1``."""
    return ".".join(str(part) for part in version)


def _answer(binary: Path, question: str) -> str:
    try:
        ended = subprocess.run(
            [str(binary), question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise _does_not_start(binary, error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise _does_not_start(binary, f"it did not respond within {_TIMEOUT_S} s") from error
    if ended.returncode < 0:
        raise _does_not_start(binary, f"it dies of signal {-ended.returncode}")
    if "error while loading shared libraries" in ended.stdout:
        raise _does_not_start(binary, _last_line(ended.stdout))
    return ended.stdout


def _does_not_start(binary: Path, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{binary} does not start",
        why=why,
        hint="LD_LIBRARY_PATH must name the folder of its libnvinfer, and the CUDA libraries",
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"
