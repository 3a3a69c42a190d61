"""Options of the backends ``trt`` and ``trtexec``: ``trt:fp16?workspace=4GiB&refit=1``.

Each is a row of ``trtexec_flags.tsv``; its column ``value`` says how the option is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import parse_bytes
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS, Flag, Sets, table
from enginescope.records.run.job import InputShape

#: For each optimization profile the shapes of its inputs.
Profiles = tuple[tuple[InputShape, ...], ...]


class Option(Record, frozen=True, kw_only=True):
    """An option.

    Attributes:
        read: Parse the value; raises `ValueError` with the expected form.
        flags: Rows of the table that set it, at least one.
    """

    read: Callable[[str], Any]
    flags: tuple[Flag, ...]

    @property
    def sets(self) -> Sets:
        """Effect of the option, as in `Flag`."""
        return self.flags[0].sets or "engine"

    @property
    def builds(self) -> bool:
        """Whether the option changes the engine."""
        return self.sets not in ("build", "run")


def _matching(pattern: str, expected: str, read: Callable[[str], Any] = str) -> Callable[..., Any]:
    """Return a reader of values that match `pattern`."""

    def checked(text: str) -> Any:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(expected)
        return read(text)

    return checked


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII) or int(text) < least:
            raise ValueError(f"a whole number, {least} or more")
        return int(text)

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


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(" or ".join(words))
        return text.lower()

    return read


def _list(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _signed(text: str) -> tuple[tuple[str, bool], ...]:
    """``-CUDNN,+JIT_CONVOLUTIONS``: names with on or off."""
    found = [re.match(r"^([+-])(\w+)$", part.strip()) for part in text.split(",")]
    if not all(found):
        raise ValueError("names with + or -, as in -CUDNN,+JIT_CONVOLUTIONS")
    return tuple((match[2].upper(), match[1] == "+") for match in found if match)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """``layer:fp16,other:fp32+fp16``: the last colon splits, so names may hold some."""
    found = [part.rpartition(":") for part in _list(text)]
    if not found or not all(name and value for name, _, value in found):
        raise ValueError("NAME:VALUE,…")
    return tuple((name.strip("'"), value) for name, _, value in found)


def _pools(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((name.lower(), _size(value)) for name, value in _pairs(text))


def _budget(text: str) -> str:
    if text not in ("auto", "off") and not re.fullmatch(r"\d+(\.\d+)?%", text):
        _size(text)
    return text


def read_shapes(text: str) -> Profiles:
    """Return ``x:1x3x224x224,y:1x8;x:…`` as shapes, one tuple for each optimization profile.

    Raises:
        ValueError: With what is wanted.
    """
    return tuple(_shapes_of_profile(part) for part in text.split(";"))


def _shapes_of_profile(text: str) -> tuple[InputShape, ...]:
    found = [part.rpartition(":") for part in _list(text)]
    if not found or not all(
        name and re.fullmatch(r"\d+(x\d+)*|scalar", dims) for name, _, dims in found
    ):
        raise ValueError("NAME:1x3x224x224,…, optimization profiles separated by ;")
    return tuple(
        InputShape(
            name=name.strip("'"), dims=() if dims == "scalar" else tuple(map(int, dims.split("x")))
        )
        for name, _, dims in found
    )


_READERS: dict[str, Callable[[str], Any]] = {
    "switch": _matching("[01]", "0 or 1", lambda text: text == "1"),
    "any": _matching(r"(?s:.+)", "a value"),
    "list": _list,
    "pairs": _pairs,
    "signed": _signed,
    "features": _signed,
    "ratio": _ratio,
    "size": _size,
    "pools": _pools,
    "budget": _budget,
    "shapes": read_shapes,
    "capabilities": _matching(
        r"\d{1,2}\.\d(,\d{1,2}\.\d)*", "compute capabilities, as in 8.6,8.9", _list
    ),
}


def _reader(flag: Flag) -> Callable[[str], Any]:
    if flag.words:
        return _one_of(tuple(dict.fromkeys(ours for ours, _ in flag.words)))
    return _READERS.get(flag.value) or _at_least(int(flag.value.removesuffix("..")))


def _options() -> dict[str, Option]:
    rows: dict[str, list[Flag]] = {}
    for flag in table():
        if flag.key:
            rows.setdefault(flag.key, []).append(flag)
    return {key: Option(read=_reader(flags[0]), flags=tuple(flags)) for key, flags in rows.items()}


#: Options in the order of docs/reference/tensorrt.md.
OPTIONS = _options()


def read_options(options: Mapping[str, str], backend: str = "trt") -> dict[str, Any]:
    """Return the values of the options."""
    found = {}
    for key, text in options.items():
        if key not in OPTIONS:
            raise UsageError(f"{backend} has no option {key!r}", hint=did_you_mean(key, OPTIONS))
        try:
            found[key] = OPTIONS[key].read(text)
        except ValueError as error:
            raise UsageError(f"{backend}: {key}={text}", why=f"wanted: {error}") from None
    return found


def build_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return those options that change the engine, as they were given, sorted."""
    return {key: options[key] for key in sorted(options) if OPTIONS[key].builds}


def read_precision(precision: str | None, backend: str = "trt") -> tuple[str, ...]:
    """Return the parts of ``fp16+int8``, each once."""
    parts = tuple(dict.fromkeys((precision or "").lower().split("+"))) if precision else ()
    for part in parts:
        if part == "fp32":
            raise UsageError(f"{backend}:fp32", why="a build without a precision has it")
        if part not in PRECISIONS:
            hint = did_you_mean(part, PRECISIONS)
            raise UsageError(f"{backend} has no precision {part!r}", hint=hint)
    if {"fp8", "int8"} <= set(parts):
        raise UsageError(f"{backend}:{precision}", why="TensorRT does not mix FP8 and INT8")
    return parts
