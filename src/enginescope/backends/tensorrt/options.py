"""Options of the backend ``trt``: ``trt:fp16?workspace=4GiB&builder_optimization_level=5``.

A row of `OPTIONS` is an option: how its text is read, and whether it changes the engine (and so
belongs to the key of the engine cache) or only how the engine is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from enginescope.backends.profile_bounds import read_shapes
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import parse_bytes

#: Precisions, in the order in which they are set. ``best``: all that the GPU is fast in.
PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4", "best")
_SWITCH = {"0": False, "1": True}
_SIGNED = re.compile(r"^([+-])(\w+)$")


class Option(Record, frozen=True, kw_only=True):
    """An option.

    Attributes
    ----------
    read : callable
        Text into value; raises `ValueError` with what is wanted.
    builds : bool
        Whether it changes the engine.
    """

    read: Callable[[str], Any]
    builds: bool = True


def _switch(text: str) -> bool:
    if text not in _SWITCH:
        raise ValueError("0 or 1")
    return _SWITCH[text]


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise ValueError("a whole number")
    return int(text)


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = _whole(text)
        if value < least:
            raise ValueError(f"a whole number, {least} or more")
        return value

    return read


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


def _size(text: str) -> int:
    try:
        return parse_bytes(text)
    except (UsageError, OverflowError):
        raise ValueError("a size, as in 512MiB") from None


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(" or ".join(words))
        return text.lower()

    return read


def _text(text: str) -> str:
    if not text:
        raise ValueError("a value")
    return text


def _list(text: str) -> tuple[str, ...]:
    return tuple(one for one in text.split(",") if one)


def _signed(text: str) -> tuple[tuple[str, bool], ...]:
    """``-CUDNN,+JIT_CONVOLUTIONS``: names with on or off."""
    found = [_SIGNED.match(one.strip()) for one in text.split(",")]
    if not all(found):
        raise ValueError("names with + or -, as in -CUDNN,+JIT_CONVOLUTIONS")
    return tuple((match[2].upper(), match[1] == "+") for match in found if match)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """``layer:fp16,other:fp32+fp16``: the last colon splits, so names may hold some."""
    found = [one.rpartition(":") for one in text.split(",") if one]
    if not found or not all(name and value for name, _, value in found):
        raise ValueError("NAME:VALUE,…")
    return tuple((name.strip("'"), value) for name, _, value in found)


def _pools(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((name.upper(), _size(value)) for name, value in _pairs(text))


def _budget(text: str) -> str:
    if text not in ("auto", "off") and not re.fullmatch(r"\d+(\.\d+)?%", text):
        _size(text)
    return text


_SWITCHES = (
    "tf32",
    "direct_io",
    "refit",
    "refit_identical",
    "refit_individual",
    "strip_plan",
    "weight_streaming",
    "version_compatible",
    "exclude_lean_runtime",
    "error_on_timing_cache_miss",
    "disable_compilation_cache",
    "disable_timing_cache",
    "monitor_memory",
    "distributive_independence",
    "strongly_typed",
    "gpu_fallback",
    "debug",
    "native_instance_norm",
    "plugin_override",
)
#: Whole numbers and the least of each, -1 being the library's own choice; the most is TensorRT's.
_COUNTS = {
    "builder_optimization_level": 0,
    "max_aux_streams": -1,
    "avg_timing_iterations": 1,
    "max_num_tactics": -1,
    "tiling_optimization_level": 0,
    "l2_limit_for_tiling": -1,
    "dla_core": -1,
    "max_threads": 1,
}

OPTIONS: dict[str, Option] = {
    **{key: Option(read=_switch) for key in _SWITCHES},
    **{key: Option(read=_at_least(least)) for key, least in _COUNTS.items()},
    "min_shapes": Option(read=read_shapes),
    "opt_shapes": Option(read=read_shapes),
    "max_shapes": Option(read=read_shapes),
    "workspace": Option(read=_size),
    "memory_pools": Option(read=_pools),
    "tactic_sources": Option(read=_signed),
    "preview_features": Option(read=_signed),
    "sparsity": Option(read=_one_of("disable", "enable", "force")),
    "hardware_compatibility": Option(
        read=_one_of("none", "ampere_plus", "same_compute_capability")
    ),
    "runtime_platform": Option(read=_one_of("same_as_build", "windows_amd64")),
    "profiling_verbosity": Option(read=_one_of("detailed", "layer_names_only", "none")),
    "timing_cache": Option(read=_text, builds=False),
    "calibration_cache": Option(read=_text),
    "precision_constraints": Option(read=_one_of("none", "obey", "prefer")),
    "layer_precisions": Option(read=_pairs),
    "layer_output_types": Option(read=_pairs),
    "keep_fp32": Option(read=_list),
    "layer_device_types": Option(read=_pairs),
    "input_formats": Option(read=_list),
    "output_formats": Option(read=_list),
    "plugins": Option(read=_list),
    "serialize_plugins": Option(read=_list),
    "tempdir": Option(read=_text, builds=False),
    "tempfile_controls": Option(read=_pairs, builds=False),
    "log_level": Option(read=_one_of("error", "warning", "info", "verbose"), builds=False),
    "device": Option(read=_at_least(0), builds=False),
    "runtime": Option(read=_one_of("full", "lean", "dispatch"), builds=False),
    "profile_index": Option(read=_at_least(0), builds=False),
    "allocation": Option(read=_one_of("static", "profile", "runtime"), builds=False),
    "weight_streaming_budget": Option(read=_budget, builds=False),
    "persistent_cache_ratio": Option(read=_ratio, builds=False),
    "managed_memory": Option(read=_switch, builds=False),
    "refit_from": Option(read=_text, builds=False),
    "stamps": Option(read=_switch, builds=False),
}


def read_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the options.

    Raises
    ------
    UsageError
        An option that does not exist, or a value that cannot be.
    """
    found = {}
    for key, text in options.items():
        if key not in OPTIONS:
            raise UsageError(f"trt has no option {key!r}", hint=did_you_mean(key, OPTIONS))
        try:
            found[key] = OPTIONS[key].read(text)
        except ValueError as error:
            raise UsageError(f"trt: {key}={text}", why=f"wanted: {error}") from None
    return found


def build_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return those options that change the engine, as they were given, sorted."""
    return {key: options[key] for key in sorted(options) if OPTIONS[key].builds}


def read_precision(precision: str | None) -> tuple[str, ...]:
    """Return the parts of ``fp16+int8``, each once.

    Raises
    ------
    UsageError
        A precision that does not exist, or ``fp8`` beside ``int8``, which TensorRT refuses.
    """
    parts = tuple(dict.fromkeys((precision or "").lower().split("+"))) if precision else ()
    for part in parts:
        if part == "fp32":
            raise UsageError("trt:fp32", why="it is what a build without a precision gives")
        if part not in PRECISIONS:
            raise UsageError(f"trt has no precision {part!r}", hint=did_you_mean(part, PRECISIONS))
    if {"fp8", "int8"} <= set(parts):
        raise UsageError(f"trt:{precision}", why="TensorRT does not mix FP8 and INT8")
    return parts
