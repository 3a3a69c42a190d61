"""Options of the backend ``trt``: ``trt:fp16?workspace=4GiB&builder_optimization_level=5``.

Most options are one row of the table in `enginescope.formats.trtexec.trtexec_flags`. An option that
changes the engine belongs to the key of the engine cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from enginescope.backends.profile_bounds import read_shapes
from enginescope.backends.tensorrt.libraries import RUNTIMES
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import parse_bytes
from enginescope.formats.trtexec.trtexec_flags import (
    HARDWARE_LEVELS,
    PRECISIONS,
    Sets,
    option_flags,
)

_SWITCH = {"0": False, "1": True}
_SIGNED = re.compile(r"^([+-])(\w+)$")


class Option(Record, frozen=True, kw_only=True):
    """An option.

    Attributes:
        read: Parse the value; raises `ValueError` with the expected form.
        sets: Effect of the option, as in `enginescope.formats.trtexec.trtexec_flags.Flag`.
    """

    read: Callable[[str], Any]
    sets: Sets = "engine"

    @property
    def builds(self) -> bool:
        """Whether the option changes the engine."""
        return self.sets in ("flag", "attribute", "engine")


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


def _capabilities(text: str) -> tuple[str, ...]:
    names = _list(text)
    if not names or not all(re.fullmatch(r"\d{1,2}\.\d", name) for name in names):
        raise ValueError("compute capabilities, as in 8.6,8.9")
    return names


def _budget(text: str) -> str:
    if text not in ("auto", "off") and not re.fullmatch(r"\d+(\.\d+)?%", text):
        _size(text)
    return text


def _reader(value: str) -> Callable[[str], Any]:
    """Return the parser for a cell of the column ``value`` of the table of flags."""
    if value in _READERS:
        return _READERS[value]
    if "|" in value:
        return _one_of(*value.split("|"))
    return _at_least(int(value.removesuffix("..")))


_READERS: dict[str, Callable[[str], Any]] = {
    "switch": _switch,
    "any": _text,
    "list": _list,
    "pairs": _pairs,
    "signed": _signed,
    "ratio": _ratio,
}

#: Options in the order of docs/reference/tensorrt.md: first those that are one flag of trtexec.
OPTIONS: dict[str, Option] = {
    **{
        key: Option(read=_reader(flag.value), sets=flag.sets or "engine")
        for key, flag in option_flags().items()
    },
    "runtime": Option(read=_one_of(*RUNTIMES), sets="run"),
    "refit_identical": Option(read=_switch, sets="flag"),
    "refit_individual": Option(read=_switch, sets="flag"),
    "strip_plan": Option(read=_switch, sets="flag"),
    "strongly_typed": Option(read=_switch),
    "debug": Option(read=_switch, sets="flag"),
    "max_threads": Option(read=_at_least(1)),
    "min_shapes": Option(read=read_shapes),
    "opt_shapes": Option(read=read_shapes),
    "max_shapes": Option(read=read_shapes),
    "workspace": Option(read=_size),
    "memory_pools": Option(read=_pools),
    "preview_features": Option(read=_signed),
    "hardware_compatibility": Option(read=_one_of(*HARDWARE_LEVELS)),
    "compute_capabilities": Option(read=_capabilities),
    "runtime_platform": Option(read=_one_of("same_as_build", "windows_amd64")),
    "profiling_verbosity": Option(read=_one_of("detailed", "layer_names_only", "none")),
    "keep_fp32": Option(read=_list),
    "plugins": Option(read=_list),
    "serialize_plugins": Option(read=_list),
    "log_level": Option(read=_one_of("error", "warning", "info", "verbose"), sets="run"),
    "weight_streaming_budget": Option(read=_budget, sets="run"),
    "stamps": Option(read=_switch, sets="run"),
}


def read_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the options."""
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
    """Return the parts of ``fp16+int8``, each once."""
    parts = tuple(dict.fromkeys((precision or "").lower().split("+"))) if precision else ()
    for part in parts:
        if part == "fp32":
            raise UsageError("trt:fp32", why="a build without a precision has it")
        if part not in PRECISIONS:
            raise UsageError(f"trt has no precision {part!r}", hint=did_you_mean(part, PRECISIONS))
    if {"fp8", "int8"} <= set(parts):
        raise UsageError(f"trt:{precision}", why="TensorRT does not mix FP8 and INT8")
    return parts
