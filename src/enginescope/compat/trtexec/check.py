"""A command line of trtexec, checked against a version anywhere, and written for that version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from enginescope.compat.trtexec.arguments import (
    CHECK_FLAG,
    STORE_FLAG,
    VERSION_FLAG,
    Arguments,
    Given,
    Version,
    flags_without_effect,
    parse_version,
    read_arguments,
)
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.trtexec.trtexec_flags import NEWEST, Flag, all_flags

State = Literal["accepted", "without effect", "refused"]


class CheckedFlag(Record, frozen=True, kw_only=True):
    """One argument of a command line.

    Attributes:
        why: Why it is refused or has no effect.
        instead: What to do.
        written: What stands for it in the version; empty: nothing.
    """

    argument: str
    state: State
    why: str | None = None
    instead: str | None = None
    written: tuple[str, ...] = ()


class CheckedLine(Record, frozen=True, kw_only=True):
    """A command line, checked.

    Attributes:
        version: Of TensorRT.
        notes: What changes without a flag.
    """

    version: str
    flags: tuple[CheckedFlag, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        return all(flag.state != "refused" for flag in self.flags)

    @property
    def written(self) -> tuple[str, ...]:
        """The arguments for the version; what is refused is left out."""
        parts = (part for flag in self.flags for part in flag.written)
        return tuple(dict.fromkeys(parts))


def checked_line(arguments: Sequence[str], installed: Version | None) -> CheckedLine | None:
    """Return the check that ``--check`` asks for; ``None`` without it.

    Args:
        installed: Whose flags count without ``--for``; ``None``: those of the newest known.
    """
    if CHECK_FLAG not in arguments:
        return None
    rest, text = [], None
    pending = iter(arguments)
    for argument in pending:
        name, equals, value = argument.partition("=")
        if name == VERSION_FLAG:
            text = value if equals else next(pending, "")
        elif argument != CHECK_FLAG:
            rest.append(argument)
    newest = Version(major=NEWEST[0], minor=NEWEST[1])
    version = (installed or newest) if text is None else parse_version(text)
    if version is None:
        raise UsageError(
            f"{VERSION_FLAG}={text}", why="it is not a version", hint="for example 11.1"
        )
    return check(rest, version)


def check(arguments: Sequence[str], version: Version) -> CheckedLine:
    flags = tuple(_checked(argument, version) for argument in arguments)
    given: list[Given] = []
    for argument in (part for flag in flags for part in flag.written):
        with suppress(UsageError):  # the path of a store
            given += read_arguments([argument], version).given
    idle = flags_without_effect(Arguments(version=version, given=tuple(given)))
    return CheckedLine(
        version=f"{version.major}.{version.minor}",
        flags=tuple(_without_effect(flag, idle) for flag in flags),
        notes=tuple(_notes(version)),
    )


def check_known(arguments: Sequence[str]) -> None:
    """Raise what is wrong with a command line in every version: it needs no TensorRT."""
    for argument in arguments:
        name = argument.partition("=")[0]
        flag = all_flags().get(name)
        release = (flag.last if flag else None) or NEWEST
        if flag is not None and flag.first > release:
            release = flag.first
        read_arguments([argument], Version(major=release[0], minor=release[1]))


def _checked(argument: str, version: Version) -> CheckedFlag:
    try:
        read = read_arguments([argument], version)
    except UsageError as error:
        others = tuple(_renamed(argument, version))
        return CheckedFlag(
            argument=argument,
            state="accepted" if others else "refused",
            why=str(error),
            instead=error.hint,
            written=others,
        )
    name, equals, value = argument.partition("=")
    if name == STORE_FLAG or not read.given:
        return CheckedFlag(argument=argument, state="accepted", written=(argument,))
    if all_flags()[name].is_optional and not value:
        return CheckedFlag(argument=argument, state="without effect", why=read.warnings[-1])
    target = read.given[0].name
    return CheckedFlag(
        argument=argument,
        state="accepted",
        why=f"{name} is another name of {target}" if target != name else None,
        written=(f"{target}{equals}{value}",),
    )


def _renamed(argument: str, version: Version) -> Iterator[str]:
    """Yield what stands for a flag that the version calls otherwise."""
    name, equals, value = argument.partition("=")
    flag = all_flags().get(name)
    if flag is None or flag.is_in(version.release):
        return
    others = (flag.alias_of, *(one.name for one in all_flags().values() if one.alias_of == name))
    for other in filter(None, others):
        if _has(all_flags()[other], version):
            yield f"{other}{equals}{value}"
            return
    word = (flag.instead or "").partition(" ")[0]
    base, _, pattern = word.partition("=")
    is_gone = flag.last is not None and flag.last < version.release
    if is_gone and base in all_flags() and _has(all_flags()[base], version):
        filled = pattern.replace(":N", f":{value}") if ":N" in pattern else pattern or value
        yield f"{base}={filled}" if filled else base


def _has(flag: Flag, version: Version) -> bool:
    return flag.is_in(version.release) and not flag.is_refused


def _without_effect(flag: CheckedFlag, idle: Sequence[str]) -> CheckedFlag:
    name = flag.argument.partition("=")[0]
    said = next((text for text in idle if text.split(" ")[0] == name), None)
    if said is None or flag.state != "accepted":
        return flag
    return CheckedFlag(argument=flag.argument, state="without effect", why=said)


def _notes(version: Version) -> Iterator[str]:
    if version.major >= 11:
        yield (
            "TensorRT 11 measures with CUDA graph and busy-wait, and without data transfers: "
            "--noCudaGraph, --noSpinWait and --includeDataTransfers measure as 8 to 10 do"
        )
