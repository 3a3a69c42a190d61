"""Compile C without headers of others: with zig for any platform, with `cc` for this one.

python native/compile.py SOURCE.c OUTPUT.so [TARGET]   a target of zig, such as aarch64-linux-musl
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden"]
#: Target of zig -> platform of a wheel. The oldest systems that ONNX Runtime's own wheels run on.
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
}


class CompileError(RuntimeError):
    """There is no compiler, or it failed."""


def compiler(target: str | None) -> list[str]:
    """Return the command of a compiler: zig's where a target is named, else `cc` first.

    Raises:
        CompileError: There is none.
    """
    if target is None and sys.platform not in ("linux", "darwin"):
        raise CompileError(f"the loop is not for {sys.platform}")
    named = os.environ.get("CC")
    if target is None and named:
        return shlex.split(named)
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if target is None and found:
        return [found]
    if importlib.util.find_spec("ziglang") is not None:
        zig = [sys.executable, "-m", "ziglang", "cc"]
        return [*zig, *(["-target", target] if target else ["-mcpu=baseline"])]
    raise CompileError(f"no C compiler{f' for {target}' if target else ''}: pip install ziglang")


def compile_c(source: Path, output: Path, target: str | None = None) -> None:
    """Compile a source file to a shared library.

    Raises:
        CompileError: There is no compiler, or it failed.
    """
    libraries = [] if target and "macos" in target else ["-ldl"]
    strip = ["-Wl,-s"] if target and "linux" in target else []
    command = [*compiler(target), *FLAGS, *strip, "-o", str(output), str(source), *libraries]
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompileError(f"{shlex.join(command)}: {error.strerror}") from error
    if done.returncode:
        raise CompileError(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")


if __name__ == "__main__":
    compile_c(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4])
