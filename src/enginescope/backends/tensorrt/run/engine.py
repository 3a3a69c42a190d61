"""A plan file as an engine with its execution contexts.

New weights for a loaded engine, from an ONNX model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries, member
from enginescope.backends.tensorrt.logger import Log, is_out_of_memory
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.units import parse_bytes
from enginescope.formats.plan.engine_file import ENGINE_TAGS, header_of

#: What TensorRT says when a plan is not for this version or GPU.
_FOREIGN = ("version", "stdVersionRead", "serializ", "magic tag", "platform", "compute capability")
_TEMPORARY = {"in_memory": "ALLOW_IN_MEMORY_FILES", "temporary": "ALLOW_TEMPORARY_FILES"}


def load_engine(
    libraries: Libraries, logger: Any, log: Log, path: str, options: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return a runtime and the engine in the file.

    Args:
        options: Of the backend, read: where temporary files may lie, and the DLA core.

    Returns:
        runtime: To be kept alive as long as the engine.

    Raises:
        UsageError: The file cannot be read.
        UnsupportedError: It is a plan of another TensorRT or GPU, or no plan.
        MemoryError: The device's memory does not hold it.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"engine {path}", why=error.strerror or str(error)) from error
    runtime = libraries.trt.Runtime(logger)
    _configure(libraries, runtime, options)
    # a version-compatible plan carries its own runtime as code of the host; running an engine is
    # running its code anyhow
    runtime.engine_host_code_allowed = True
    engine = runtime.deserialize_cuda_engine(data)
    if engine is not None:
        if getattr(engine, "has_implicit_batch_dimension", False):  # until TensorRT 10
            raise UnsupportedError(
                f"running {path}",
                why="it has an implicit batch dimension, which is not run by tensor names",
                hint="build it again from the ONNX model, which has an explicit batch",
            )
        return runtime, engine
    why = log.why("TensorRT gave no reason")
    what = f"loading {path}"
    if is_out_of_memory(why):
        raise MemoryError(f"{what}: {why}")
    raise UnsupportedError(
        f"{libraries.title} cannot load {path}", why=why, hint=_hint(libraries, Path(path), why)
    )


def _hint(libraries: Libraries, path: Path, why: str) -> str:
    """Return what to do about an engine that cannot be loaded."""
    header = header_of(path)
    if header is not None and header.is_rtx != libraries.is_rtx:
        return f"it was {header.text}: --on {'trt-rtx' if header.is_rtx else 'trt'}"
    if header is not None and header.is_rtx:
        return f"it was {header.text}: build again with compute_capabilities"
    if path.read_bytes().startswith(ENGINE_TAGS) and any(word in why for word in _FOREIGN):
        return (
            "a plan runs on the TensorRT version and kind of GPU it was built for: build again, "
            "or with version_compatible=1 and hardware_compatibility=ampere_plus"
        )
    return "is it a TensorRT plan, and whole?"


def _configure(libraries: Libraries, runtime: Any, options: Mapping[str, Any]) -> None:
    if "tempdir" in options:
        runtime.temporary_directory = options["tempdir"]
    if "tempfile_controls" in options:
        flags, mask = getattr(libraries.trt, "TempfileControlFlag", None), 0
        if flags is None:
            raise UnsupportedError(
                "trt: tempfile_controls", why=f"the {libraries.runtime} runtime has none"
            )
        for name, word in options["tempfile_controls"]:
            if name not in _TEMPORARY or word not in ("allow", "deny"):
                raise UsageError(
                    f"trt: tempfile_controls={name}:{word}",
                    hint="in_memory:allow,temporary:deny and the like",
                )
            if word == "allow":
                mask |= 1 << int(member(flags, _TEMPORARY[name], "tempfile_controls"))
        runtime.tempfile_control_flags = mask
    if "dla_core" in options:
        runtime.DLA_core = options["dla_core"]


def make_context(libraries: Libraries, engine: Any, log: Log, allocation: str | None) -> Any:
    """Return a new execution context.

    Args:
        allocation: When its memory is taken.

    Raises:
        MemoryError: The device's memory does not hold its activations.
        UnsupportedError: This TensorRT has only one way of allocating.
    """
    if allocation is None:
        context = engine.create_execution_context()
    else:
        words = {"static": "STATIC", "profile": "ON_PROFILE_CHANGE", "runtime": "USER_MANAGED"}
        kinds = getattr(libraries.trt, "ExecutionContextAllocationStrategy", None)
        if kinds is None or allocation == "runtime":
            raise UnsupportedError(
                f"allocation={allocation}",
                why="memory that the user manages is not offered here"
                if kinds is not None
                else f"TensorRT {libraries.trt.__version__} allocates statically",
            )
        context = engine.create_execution_context(member(kinds, words[allocation], allocation))
    if context is not None:
        return context
    why = log.why("TensorRT gave no reason")
    if is_out_of_memory(why) or not log.errors:
        raise MemoryError(f"creating an execution context: {why}")
    raise BackendError("creating an execution context", why=why)


def choose_profile(engine: Any, context: Any, index: int, stream: int) -> None:
    """Switch a context to an optimization profile.

    Raises:
        UsageError: The engine has fewer.
    """
    count = engine.num_optimization_profiles
    if not 0 <= index < count:
        raise UsageError(
            f"profile_index={index}", why=f"the engine has {count} optimization profiles, from 0"
        )
    if index and not context.set_optimization_profile_async(index, stream):
        raise BackendError(f"optimization profile {index}", why="TensorRT refused it")


def set_weight_budget(engine: Any, budget: str) -> None:
    """Say how much of the weights may stay on the device (weight streaming).

    Args:
        budget: ``auto``, ``off``, a share such as ``50%`` of the streamable weights, or bytes.

    Raises:
        UnsupportedError: This TensorRT, or this engine, does not stream weights.
    """
    total = getattr(engine, "streamable_weights_size", None)
    if not total:
        raise UnsupportedError(
            f"weight_streaming_budget={budget}",
            why="the engine has no streamable weights" if total == 0 else "this TensorRT is older",
            hint="build with weight_streaming=1 and strongly_typed=1, on TensorRT 10 or later",
        )
    if budget == "auto":
        wanted = engine.get_weight_streaming_automatic_budget()
    elif budget == "off":
        wanted = total
    elif budget.endswith("%"):
        wanted = int(total * float(budget[:-1]) / 100)
    else:
        wanted = parse_bytes(budget)
    engine.weight_streaming_budget_v2 = wanted


def activation_bytes(engine: Any) -> int | None:
    """Return scratch and activation memory of one context, as TensorRT states it."""
    for name in ("device_memory_size_v2", "device_memory_size"):
        found = getattr(engine, name, None)
        if found is not None:
            return int(found)
    return None


def refit_from_onnx(libraries: Libraries, logger: Any, engine: Any, path: str, log: Log) -> None:
    """Give `engine` the weights of the model at `path`.

    Raises:
        UsageError: There is no such file.
        UnsupportedError: This TensorRT has no such refitter (it came with 10), or the engine cannot
            be refitted.
        BackendError: The model does not fit the engine.
    """
    if not Path(path).is_file():
        raise UsageError(f"refit_from={path}", why="no such file")
    trt = libraries.trt
    make = getattr(trt, "OnnxParserRefitter", None)
    if make is None:
        raise UnsupportedError("refit_from", why=f"TensorRT {trt.__version__} cannot do it")
    if not engine.refittable:
        raise UnsupportedError("refit_from", why="the engine is not refittable", hint="refit=1")
    refitter = trt.Refitter(engine, logger)
    if not make(refitter, logger).refit_from_file(path) or not refitter.refit_cuda_engine():
        raise BackendError(f"refitting from {path}", why=log.why("TensorRT gave no reason"))
