"""New weights for a loaded engine, from an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.logger import Log
from enginescope.core.errors import BackendError, UnsupportedError, UsageError


def refit_from_onnx(libraries: Libraries, logger: Any, engine: Any, path: str, log: Log) -> None:
    """Give `engine` the weights of the model at `path`.

    Raises:
        UsageError: There is no such file.
        UnsupportedError: This TensorRT has no such refitter (it came with 10), or the engine cannot
            be refitted.
        BackendError: The model does not fit the engine.
    """
    if not Path(path).is_file():
        raise UsageError(f"refit_from={path}", why="there is no such file")
    trt = libraries.trt
    make = getattr(trt, "OnnxParserRefitter", None)
    if make is None:
        raise UnsupportedError("refit_from", why=f"TensorRT {trt.__version__} cannot do it")
    if not engine.refittable:
        raise UnsupportedError("refit_from", why="the engine is not refittable", hint="refit=1")
    refitter = trt.Refitter(engine, logger)
    if not make(refitter, logger).refit_from_file(path) or not refitter.refit_cuda_engine():
        raise BackendError(f"refitting from {path}", why=log.why("TensorRT gave no reason"))
