"""Build hook of hatchling: compile the loop, and call the wheel after the platform it is for.

ENGINESCOPE_NATIVE   auto (default): where there is a compiler; skip: a pure wheel; require: or fail
ENGINESCOPE_TARGET   a target of zig, such as aarch64-linux-gnu.2.17; default: this machine
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from compile import TARGETS, CompileError, compile_c

MODES = ("auto", "skip", "require")
LIBRARY = "enginescope/backends/libloop.so.1"


class LoopBuildHook(BuildHookInterface):
    """Compiles ``native/loop.c`` into a wheel, or into the tree of an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is packed.

        Raises:
            CompileError: It is required and there is none.
            ValueError: An environment variable has a value that it cannot have.
        """
        mode = os.environ.get("ENGINESCOPE_NATIVE", "auto")
        target = os.environ.get("ENGINESCOPE_TARGET") or None
        if mode not in MODES:
            raise ValueError(f"ENGINESCOPE_NATIVE={mode}: {', '.join(MODES)}")
        if target is not None and target not in TARGETS:
            raise ValueError(f"ENGINESCOPE_TARGET={target}: {', '.join(TARGETS)}")
        root = Path(self.root)
        is_editable = version == "editable"
        self._folder = tempfile.TemporaryDirectory()  # until the wheel is packed
        output = (root / "src" if is_editable else Path(self._folder.name)) / LIBRARY
        output.unlink(missing_ok=True)  # what an earlier build left is not this one's
        if mode == "skip":
            return
        try:
            compile_c(root / "native" / "loop.c", output, target)
        except CompileError as error:
            if mode == "require":
                raise
            self.app.display_warning(f"no native loop; calls are timed from Python: {error}")
            return
        if not is_editable:
            build_data["force_include"][str(output)] = LIBRARY
        build_data["pure_python"] = False
        platform = TARGETS[target] if target else sysconfig.get_platform()
        for mark in "-.":
            platform = platform.replace(mark, "_")
        build_data["tag"] = f"py3-none-{platform}"
