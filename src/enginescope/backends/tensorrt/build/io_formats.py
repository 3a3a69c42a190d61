"""Element types and memory formats of an engine's inputs and outputs: ``fp16:chw+hwc8``."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.build.config import Target, type_called
from enginescope.backends.tensorrt.libraries import member
from enginescope.core.errors import UnsupportedError, UsageError

_FORMATS = {
    "chw": "LINEAR",
    "chw2": "CHW2",
    "chw4": "CHW4",
    "hwc8": "HWC8",
    "hwc16": "HWC16",
    "chw16": "CHW16",
    "chw32": "CHW32",
    "dhwc8": "DHWC8",
    "cdhw32": "CDHW32",
    "hwc": "HWC",
    "dhwc": "DHWC",
    "dla_linear": "DLA_LINEAR",
    "dla_hwc4": "DLA_HWC4",
}


def set_io_formats(target: Target, key: str, specs: tuple[str, ...]) -> None:
    """Set types and formats of all inputs or outputs; one specification is for all of them.

    Raises:
        UsageError: Neither one specification nor one for each tensor, or a word that is no type or
            format.
        UnsupportedError: Types cannot be set any more: TensorRT 11 has strongly typed networks
            only.
    """
    network = target.network
    inputs = key == "input_formats"
    count = network.num_inputs if inputs else network.num_outputs
    if len(specs) not in (1, count):
        raise UsageError(
            f"{key}", why=f"{len(specs)} given for {count} tensors", hint="one, or all"
        )
    for index in range(count):
        tensor = network.get_input(index) if inputs else network.get_output(index)
        _set(target, key, tensor, specs[index if len(specs) > 1 else 0])


def _set(target: Target, key: str, tensor: Any, spec: str) -> None:
    word, colon, formats = spec.partition(":")
    if not colon:
        word, formats = "", spec
    if word:
        if target.libraries.version >= (11,):
            raise UnsupportedError(
                f"{key}={spec}",
                why="TensorRT 11 takes types from the model",
                hint=f"{key}={formats}",
            )
        tensor.dtype = type_called(target.trt, word)
    mask = 0
    for one in formats.split("+"):
        if one not in _FORMATS:
            raise UsageError(f"{key}={spec}", why=f"no format {one!r}", hint=", ".join(_FORMATS))
        mask |= 1 << int(member(target.trt.TensorFormat, _FORMATS[one], f"{key}={one}"))
    tensor.allowed_formats = mask
