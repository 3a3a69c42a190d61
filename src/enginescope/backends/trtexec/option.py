"""One option of the backend: what its values are, and the flags they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from enginescope.backends.trtexec.flags import Flags
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.units import parse_bytes


class Option(NamedTuple):
    """One key.

    Attributes:
        expects: What its values are, for a message.
        accepts: Whether a value is one.
        write: Adds the flags for a value.
    """

    expects: str
    accepts: Callable[[str], bool]
    write: Callable[[Flags, str], None]


def text(flag: str) -> Option:
    """Any text, handed through."""
    return Option("a value", bool, lambda flags, value: flags.add(flag, value))


def whole(flag: str) -> Option:
    """A whole number."""
    return Option("a whole number", is_whole, lambda flags, value: flags.add(flag, value))


def is_whole(value: str) -> bool:
    """Whether a value is digits alone."""
    return value.isascii() and value.isdecimal()


def is_size(value: str) -> bool:
    """Whether a value is a number of bytes, with or without a unit."""
    try:
        return parse_bytes(value) >= 0
    except UsageError:
        return False


def is_ratio(value: str) -> bool:
    """Whether a value lies in 0…1."""
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def switch(flag: str, *, on: str = "1") -> Option:
    """A flag without a value, there when the option is `on`."""

    def write(flags: Flags, value: str) -> None:
        if value == on:
            flags.add(flag)

    return decided(write)


def decided(write: Callable[[Flags, str], None]) -> Option:
    """``0`` or ``1``, whatever becomes of it."""
    return Option("0 or 1", lambda value: value in ("0", "1"), write)


def choice(flag: str, words: Mapping[str, str]) -> Option:
    """One of some words, as trtexec spells it."""
    return Option(
        " or ".join(words),
        lambda value: value in words,
        lambda flags, value: flags.add(flag, words[value]),
    )


def same(*words: str) -> dict[str, str]:
    """Return words that trtexec spells as they are."""
    return {one: one for one in words}


def each(flag: str) -> Option:
    """A flag that is given once for each part of the value."""

    def write(flags: Flags, value: str) -> None:
        for one in value.split(","):
            flags.add(flag, one)

    return Option("files, separated by commas", bool, write)


def io_formats(flag: str) -> Option:
    """Types and formats of inputs or outputs."""

    def write(flags: Flags, value: str) -> None:
        if flags.is_strongly_typed and ":" in value:
            raise UnsupportedError(
                f"--{flag}={value}",
                why="TensorRT 11 takes formats alone, the types are the model's",
                hint="chw+hwc8 in place of fp16:chw+hwc8",
            )
        flags.add(flag, value)

    return Option("such as fp16:chw+hwc8", bool, write)
