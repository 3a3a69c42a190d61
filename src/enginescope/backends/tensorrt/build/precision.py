"""Precisions that a build is allowed, as builder flags."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.core.errors import UnsupportedError

#: The first version that knows only strongly typed networks.
STRONGLY_TYPED_ONLY = (11,)


def set_precision(libraries: Libraries, config: Any, parts: tuple[str, ...], device: str) -> None:
    """Allow `parts` in a build.

    Args:
        device: Compute capability, ``"9.0"``: ``best`` leaves out what the GPU has not.

    Raises:
        UnsupportedError: This TensorRT cannot be asked for one of them.
    """
    for part in parts:
        for flag in _best(libraries, device) if part == "best" else (part.upper(),):
            config.set_flag(_flag(libraries, flag, part))


def _flag(libraries: Libraries, name: str, part: str) -> Any:
    flags = libraries.trt.BuilderFlag
    found = getattr(flags, name, None)
    if found is not None:
        return found
    if libraries.version >= STRONGLY_TYPED_ONLY:
        raise UnsupportedError(
            f"trt:{part} on {libraries.title}",
            why="it builds strongly typed networks only: the model must carry its precision",
            hint=_way_to(part),
        )
    raise UnsupportedError(
        f"trt:{part}", why=f"{libraries.title} has no {part}", hint="a newer TensorRT"
    )


def _way_to(part: str) -> str:
    if part in ("fp16", "bf16"):
        return (
            "pip install 'nvidia-modelopt[onnx]', then: python -m modelopt.onnx.autocast "
            f"--onnx_path MODEL.onnx --low_precision_type {part}; and measure that with --on trt"
        )
    if part == "best":
        return "convert the model to the precision it should run in, and measure that with --on trt"
    return f"quantize the model (python -m modelopt.onnx.quantization --quantize_mode {part})"


def _best(libraries: Libraries, device: str) -> tuple[str, ...]:
    """Return the flags that trtexec's ``--best`` sets in this version, on this GPU."""
    if libraries.version < (10,):
        return ("FP16", "INT8")
    capability = tuple(int(one) for one in device.split("."))
    flags = ["FP16"]
    flags += ["BF16"] if capability >= (8, 0) else []
    flags += ["INT8"] if capability != (10, 3) else []
    return tuple(flags)
