"""Plugin libraries, loaded before anything is parsed or deserialised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.core.errors import BackendError, UsageError


def load_plugins(libraries: Libraries, logger: Any, paths: tuple[str, ...]) -> None:
    """Register TensorRT's own plugins, where this runtime has them, and those in `paths`.

    Raises:
        UsageError: A library does not exist.
        BackendError: A library cannot be loaded.
    """
    trt = libraries.trt
    register = getattr(trt, "init_libnvinfer_plugins", None)  # not in the lean runtime
    if register is not None:
        register(logger, "")
    for path in paths:
        if not Path(path).is_file():
            raise UsageError(f"plugin library {path}", why="there is no such file")
        if trt.get_plugin_registry().load_library(str(Path(path).resolve())) is None:
            raise BackendError(f"plugin library {path}", why="TensorRT could not load it")
