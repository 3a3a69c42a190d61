"""Read a command line of trtexec, check it against a version, and write it for that version.

Flags of a command line that change nothing: they are said by name.

Also the help of the verb, from the table of flags.
"""

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.formats.trtexec.trtexec_flags import NEWEST, Flag, all_flags, newer_release_text


class Version(Record, frozen=True, kw_only=True):
    """A TensorRT version."""

    major: int
    minor: int
    patch: int = 0
    build: int | None = None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def release(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    @property
    def number(self) -> int:
        """As trtexec prints it: 8601, 101600."""
        base = 10_000 if self.major >= 10 else 1_000
        return self.major * base + self.minor * 100 + self.patch

    def at_least(self, major: int, minor: int = 0, patch: int = 0) -> bool:
        return self.parts >= (major, minor, patch)


def parse_version(text: str) -> Version | None:
    """Return the version in ``10.16.1.11``; ``None`` if it does not begin with two numbers."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?", text)
    if match is None:
        return None
    build = int(match[4]) if match[4] else None
    return Version(major=int(match[1]), minor=int(match[2]), patch=int(match[3] or 0), build=build)


#: Ours, beside trtexec's own.
STORE_FLAG = "--es-store"
CHECK_FLAG, VERSION_FLAG = "--check", "--for"


def flag_for(name: str, version: Version) -> Flag:
    """Return the flag `name` as trtexec of `version` has it."""
    flags = all_flags()
    if (flag := flags.get(name)) is None:
        known = [one.name for one in flags.values() if one.is_in(version.release)]
        near = closest(name, [*known, STORE_FLAG])
        hint = f"did you mean {near}?" if near else "enginescope trtexec --help lists the flags"
        what = f"trtexec has no flag {name}"
        raise UsageError(what, why=newer_release_text(version.parts), hint=hint)
    if flag.first > version.release:
        first = ".".join(map(str, flag.first))
        raise UsageError(f"{name} was added in TensorRT {first}", why=f"installed is {version}")
    if not flag.is_in(version.release):
        assert flag.last is not None
        why = f"TensorRT {'.'.join(map(str, flag.last))} was the last to have it"
        raise UsageError(f"{name} is gone in TensorRT {version}", why=why, hint=flag.instead)
    if flag.is_refused:
        raise UsageError(f"{name} is not supported", why=flag.meaning, hint=flag.instead)
    return flag


_TITLES = {
    "model": "Model Options",
    "build": "Build Options",
    "tuning": "Tuning Options",
    "system": "System Options",
    "inference": "Inference Options",
    "reporting": "Reporting Options",
    "help": "Help",
}
_PLACES = {"int": "N", "float": "N", "text": "spec", "file": "<file>", "shapes": "spec"}
_STORE = "folder of runs, as --store of the other verbs (enginescope's own flag)"


def help_text(version: Version | None) -> str:
    """Return the help: the flags of a version that are honoured, then those that are not.

    Args:
        version: ``None``: no TensorRT is installed; flags of all versions are listed.
    """
    flags = [one for one in all_flags().values() if version is None or one.is_in(version.release)]
    whose = f"TensorRT {version}" if version else "all versions: TensorRT is not installed"
    lines = [
        "Usage: enginescope trtexec --onnx=<file> | --loadEngine=<file> [--flag[=value] ...]",
        "",
        f"trtexec's command line on TensorRT's Python API. Flags of {whose}.",
    ]
    newer = newer_release_text(version.parts) if version else None
    lines += textwrap.wrap(f"{newer}.", 100) if newer else []
    for group, title in _TITLES.items():
        if mine := [flag for flag in flags if flag.group == group and not flag.is_refused]:
            lines += ["", f"=== {title} ===", *_listed(mine)]
    lines += ["", "=== enginescope ===", f"  {STORE_FLAG + '=<dir>':<36} {_STORE}"]
    lines += [
        f"  {CHECK_FLAG:<36} check the command line, and write it for a version; needs no TensorRT",
        f"  {VERSION_FLAG + '=V':<36} with {CHECK_FLAG}: the version of TensorRT, such as 11.1",
    ]
    refused = [flag.name for flag in flags if flag.is_refused]
    wrapped = textwrap.wrap(
        " ".join(refused), 80, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    lines += ["", "Not supported; each names the reason when it is used:", *(wrapped or [" "])]
    return "\n".join(lines) + "\n"


def _listed(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        spelled = flag.name if flag.kind == "flag" else f"{flag.name}={_PLACES[flag.kind]}"
        default = f" (default {flag.default})" if flag.default not in (None, "off") else ""
        yield f"  {spelled:<36} {_meaning(flag)}{default}"


def _meaning(flag: Flag) -> str:
    return f"same as {flag.alias_of}" if flag.alias_of else flag.meaning or ""


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
        return any(one.name == name for one in self.given)

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        return next((one.value for one in reversed(self.given) if one.name == name), default)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values of a flag, in order."""
        return tuple(one.value for one in self.given if one.name == name)

    def integer(self, name: str, default: int, *, least: int | None = None) -> int:
        value = whole_number(name, self.text(name)) if self.has(name) else default
        if least is not None and value < least:
            raise UsageError(f"{name}={value}", why=f"it must be {least} or more")
        return value

    def number(self, name: str, default: float) -> float:
        """Return a flag's number, 0 or more."""
        value = decimal_number(name, self.text(name)) if self.has(name) else default
        if value < 0:
            raise UsageError(f"{name}={value:g}", why="it must be 0 or more")
        return value


def wants_help(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for the help, as an empty one does."""
    return not arguments or any(argument in ("-h", "--help") for argument in arguments)


def read_arguments(arguments: Sequence[str], version: Version) -> Arguments:
    """Return the flags in a command line."""
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
        is_given = any(one.name == target.name for one in given)
        if is_given and not target.repeatable and flag.kind != "flag":
            raise UsageError(f"{name} is given more than once")
        given.append(Given(name=target.name, value=value))
    return Arguments(version=version, given=tuple(given), store=store, warnings=tuple(warnings))


def whole_number(name: str, text: str) -> int:
    """Return the integer that a flag's text is."""
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name}={text}", why="a whole number is expected") from None


def decimal_number(name: str, text: str) -> float:
    """Return the finite number that a flag's text is."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e15:
        raise UsageError(f"{name}={text}", why="a number is expected")
    return value


def _needed(name: str, equals: str, value: str) -> str:
    if not equals or not value:
        raise UsageError(f"{name} needs a value", hint=f"{name}=…, with the equals sign")
    return value


def _checked(flag: Flag, equals: str, value: str) -> str:
    if flag.kind == "flag":
        if equals and value.lower() not in _TRUE:
            what = f"{flag.name}={value}"
            why = "it is a switch without a value, and trtexec would read this as on"
            raise UsageError(what, why=why, hint=f"leave {flag.name} out to have it off")
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
    found = [f"{name} is deprecated and has no effect" for name in names if name in given]
    if arguments.has("--loadEngine"):
        left = (one for one in given if one not in names and _is_idle(one, arguments))
        found += [f"{one} has no effect with --loadEngine" for one in left]
    return tuple(found)


def flags_of_loaded(flags: Sequence[str], version: Version) -> tuple[str, ...]:
    """Return those of a build's and a run's flags that an engine which is loaded reads."""
    arguments = read_arguments(("--loadEngine=any", *flags), version)
    names = {flag: flag.partition("=")[0] for flag in flags}
    for flag, name in names.items():  # aliases have the name of another flag
        if name != STORE_FLAG:
            names[flag] = flag_for(name, version).alias_of or name
    return tuple(flag for flag in flags if not _is_idle(names[flag], arguments))


def _is_idle(name: str, arguments: Arguments) -> bool:
    """Whether a flag decides how an engine is built, and nothing of how a loaded one is run."""
    if name in ("--optShapes", "--profile"):  # the shapes to run with, where --shapes has none
        return arguments.has("--shapes") or not arguments.has("--optShapes")
    if name == "--runtimePlatform" and arguments.text(name).lower() == "windowsamd64":
        return False  # the inference is skipped
    return name != STORE_FLAG and all_flags()[name].decides_build


State = Literal["accepted", "without effect", "refused"]
_OTHER_DEFAULTS = (
    "TensorRT 11 measures with CUDA graph and busy-wait, and without data transfers: "
    "--noCudaGraph, --noSpinWait and --includeDataTransfers measure as 8 to 10 do"
)


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
        what, hint = f"{VERSION_FLAG}={text}", "for example 11.1"
        raise UsageError(what, why="it is not a version", hint=hint)
    return check(rest, version)


def check(arguments: Sequence[str], version: Version) -> CheckedLine:
    flags = tuple(_checked_flag(argument, version) for argument in arguments)
    given: list[Given] = []
    for argument in (part for flag in flags for part in flag.written):
        with suppress(UsageError):  # the path of a store
            given += read_arguments([argument], version).given
    idle = flags_without_effect(Arguments(version=version, given=tuple(given)))
    return CheckedLine(
        version=f"{version.major}.{version.minor}",
        flags=tuple(_without_effect(flag, idle) for flag in flags),
        notes=(_OTHER_DEFAULTS,) if version.major >= 11 else (),
    )


def check_known(arguments: Sequence[str]) -> None:
    """Raise what is wrong with a command line in every version: it needs no TensorRT."""
    for argument in arguments:
        flag = all_flags().get(argument.partition("=")[0])
        release = (flag.last if flag else None) or NEWEST
        if flag is not None and flag.first > release:
            release = flag.first
        read_arguments([argument], Version(major=release[0], minor=release[1]))


def _checked_flag(argument: str, version: Version) -> CheckedFlag:
    try:
        read = read_arguments([argument], version)
    except UsageError as error:
        others = tuple(_renamed(argument, version))
        state: State = "accepted" if others else "refused"
        return CheckedFlag(
            argument=argument, state=state, why=str(error), instead=error.hint, written=others
        )
    name, equals, value = argument.partition("=")
    if name == STORE_FLAG or not read.given:
        return CheckedFlag(argument=argument, state="accepted", written=(argument,))
    if all_flags()[name].is_optional and not value:
        return CheckedFlag(argument=argument, state="without effect", why=read.warnings[-1])
    target = read.given[0].name
    why = f"{name} is another name of {target}" if target != name else None
    return CheckedFlag(
        argument=argument, state="accepted", why=why, written=(f"{target}{equals}{value}",)
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
    base, _, pattern = (flag.instead or "").partition(" ")[0].partition("=")
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
