"""The raw command line: ``--name=value``, checked against the flags of a version.

Flags of a command line that change nothing: they are said by name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from enginescope.compat.trtexec.help_text import STORE_FLAG, Version, flag_for
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.trtexec.trtexec_flags import Flag, all_flags

_TRUE = frozenset({"1", "true", "on", "yes"})
_DEPRECATED = frozenset({"--streams", "--plugins", "--buildOnly", "--nvtxMode", "--weightless"})


class Given(Record, frozen=True, kw_only=True):
    """One flag as it was given.

    Attributes:
        name: Aliases replaced by what they stand for.
        value: ``""`` for a switch.
    """

    name: str
    value: str = ""


class Arguments(Record, frozen=True, kw_only=True):
    """A command line.

    Attributes:
        version: Whose flags they are.
        given: In order.
        store: Value of ``--es-store``.
    """

    version: Version
    given: tuple[Given, ...] = ()
    store: str | None = None
    warnings: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether the flag was given."""
        return any(one.name == name for one in self.given)

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        return next((one.value for one in reversed(self.given) if one.name == name), default)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values of a flag, in order."""
        return tuple(one.value for one in self.given if one.name == name)

    def integer(self, name: str, default: int, *, least: int | None = None) -> int:
        """Return a flag's whole number.

        Raises:
            UsageError: It is none, or below `least`.
        """
        value = whole_number(name, self.text(name)) if self.has(name) else default
        if least is not None and value < least:
            raise UsageError(f"{name}={value}", why=f"it must be {least} or more")
        return value

    def number(self, name: str, default: float) -> float:
        """Return a flag's number, 0 or more.

        Raises:
            UsageError: It is none, or below 0.
        """
        value = decimal_number(name, self.text(name)) if self.has(name) else default
        if value < 0:
            raise UsageError(f"{name}={value:g}", why="it must be 0 or more")
        return value


def wants_help(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for the help, as an empty one does."""
    return not arguments or any(one in ("-h", "--help") for one in arguments)


def read_arguments(arguments: Sequence[str], version: Version) -> Arguments:
    """Return the flags in a command line.

    Raises:
        UsageError: A flag that is not known, not of this version, not honoured or given twice; a
            value that is missing, not wanted or of the wrong kind.
    """
    given: list[Given] = []
    warnings: list[str] = []
    store: str | None = None
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name == STORE_FLAG:
            store = _needed(name, equals, value)
            continue
        if not name.startswith("--") or name == "--":
            raise UsageError(f"{argument!r} is not a flag", hint="flags are written --name=value")
        flag = flag_for(name, version)
        if name in _DEPRECATED:
            warnings.append(f"{name} is deprecated; use {flag.alias_of}")
        if flag.is_optional and not value:
            warnings.append(f"{name} without a value has no effect")
        value = _checked(flag, equals, value)
        target = flag_for(flag.alias_of, version) if flag.alias_of else flag
        if not target.repeatable and flag.kind != "flag" and _is_among(target.name, given):
            raise UsageError(f"{name} is given more than once")
        given.append(Given(name=target.name, value=value))
    return Arguments(version=version, given=tuple(given), store=store, warnings=tuple(warnings))


def whole_number(name: str, text: str) -> int:
    """Return the integer that a flag's text is.

    Raises:
        UsageError: It is none; trailing words, which trtexec passes over, are refused.
    """
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name}={text}", why="a whole number is expected") from None


def decimal_number(name: str, text: str) -> float:
    """Return the finite number that a flag's text is.

    Raises:
        UsageError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e15:
        raise UsageError(f"{name}={text}", why="a number is expected")
    return value


def _is_among(name: str, given: list[Given]) -> bool:
    return any(one.name == name for one in given)


def _needed(name: str, equals: str, value: str) -> str:
    if not equals or not value:
        raise UsageError(f"{name} needs a value", hint=f"{name}=…, with the equals sign")
    return value


def _checked(flag: Flag, equals: str, value: str) -> str:
    if flag.kind == "flag":
        if equals and value.lower() not in _TRUE:
            raise UsageError(
                f"{flag.name}={value}",
                why="it is a switch without a value, and trtexec would read this as on",
                hint=f"leave {flag.name} out to have it off",
            )
        return ""
    if flag.is_optional and not value:
        return ""
    _needed(flag.name, equals, value)
    if flag.kind == "int":
        whole_number(flag.name, value)
    elif flag.kind == "float":
        decimal_number(flag.name, value)
    elif flag.kind == "file":  # a shell leaves ~ alone behind an equals sign
        return os.path.expanduser(value)  # noqa: PTH111 - Path's raises where there is no such user
    return value


#: Without effect whatever the version, and since TensorRT 11.
_ALWAYS = ("--explicitBatch", "--explicitPrecision")
_SINCE_11 = (
    *("--stronglyTyped", "--noDataTransfers", "--useSpinWait", "--useCudaGraph"),
    "--separateProfileRun",
)


def flags_without_effect(arguments: Arguments) -> tuple[str, ...]:
    """Say which flags change nothing: what they name is so anyway, or an engine is loaded."""
    names = (*_ALWAYS, *_SINCE_11) if arguments.version.major >= 11 else _ALWAYS
    given = tuple(dict.fromkeys(one.name for one in arguments.given))
    found = [f"{one} is deprecated and has no effect" for one in names if one in given]
    if arguments.has("--loadEngine"):
        left = (one for one in given if one not in names and _is_idle(one, arguments))
        found += [f"{one} has no effect with --loadEngine" for one in left]
    return tuple(found)


def flags_of_loaded(flags: Sequence[str], version: Version) -> tuple[str, ...]:
    """Return those of a build's and a run's flags that an engine which is loaded reads.

    Raises:
        UsageError: A flag is wrong.
    """
    arguments = read_arguments(("--loadEngine=any", *flags), version)
    return tuple(one for one in flags if not _is_idle(_target(one, version), arguments))


def _target(flag: str, version: Version) -> str:
    """Return the name that counts: aliases have that of another flag."""
    name = flag.partition("=")[0]
    return name if name == STORE_FLAG else flag_for(name, version).alias_of or name


def _is_idle(name: str, arguments: Arguments) -> bool:
    """Whether a flag decides how an engine is built, and nothing of how a loaded one is run."""
    if name in ("--optShapes", "--profile"):  # the shapes to run with, where --shapes has none
        return arguments.has("--shapes") or not arguments.has("--optShapes")
    if name == "--runtimePlatform" and arguments.text(name).lower() == "windowsamd64":
        return False  # the inference is skipped
    if name == STORE_FLAG:
        return False
    return all_flags()[name].decides_build
