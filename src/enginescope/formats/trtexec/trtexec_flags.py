"""Every flag of trtexec, and every option of the backend ``trt``: ``trt:fp16?workspace=4GiB``.

The parsers of 8.0 to 11.1 were read; later flags are those that release notes name.

The table ``trtexec_flags.tsv`` has one row per flag, and one per option of ``trt`` that trtexec
lacks. From it come how ``trt`` reads its options, the arguments for a trtexec binary, and what the
verb ``trtexec`` accepts and documents.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import parse_bytes
from enginescope.records.run.job import InputShape

Release = tuple[int, int]
Sets = Literal["flag", "attribute", "engine", "both", "build", "run"]


class Flag(Record, frozen=True, kw_only=True):
    """A flag of trtexec.

    Attributes:
        name: ``--fp16``; empty for an option of ``trt`` that trtexec lacks.
        group: Section of the help.
        first, last: First and last release (major, minor) that has the flag; ``None`` as the last:
            the newest release still has it.
        kind: Type of the flag's value; ``flag``: no value.
        is_optional: Whether the flag may stand without its value, and then does nothing.
        to: ``setting``: the verb ``trtexec`` has code for it; ``option KEY`` or ``option
            KEY=VALUE``: an option of ``trt``; ``precision NAME``; ``alias NAME``; ``nothing``:
            accepted without effect; ``refused``.
        value: How ``trt`` reads the option: a name in `_READERS`, ``1..`` for a number and its
            minimum, or the words, ``obey|prefer``. ``none|ampere_plus=ampere+``: trtexec's word
            where it differs; nothing behind ``=`` where it has none.
        sets: ``flag`` or ``attribute``: the TensorRT builder flag or configuration attribute with
            the name of the option; ``engine``: code sets it for the engine; ``both``: for the
            engine, and again where that is loaded; ``build``: it steers the build and leaves the
            engine as it is; ``run``: it steers the inference.
        meaning: What the flag does; for a refused flag the reason.
        instead: What replaces the flag in releases that no longer have it; for a refused flag the
            way around.
    """

    name: str
    group: str
    first: Release
    last: Release | None = None
    kind: str = "flag"
    repeatable: bool = False
    is_optional: bool = False
    default: str | None = None
    to: str = "setting"
    value: str = ""
    sets: Sets | None = None
    meaning: str | None = None
    instead: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the verb ``trtexec`` refuses the flag in all versions."""
        return self.to == "refused"

    @property
    def alias_of(self) -> str | None:
        return self._target("alias")

    @property
    def precision(self) -> str | None:
        return self._target("precision")

    @property
    def key(self) -> str | None:
        """Key of the option of ``trt``."""
        target = self._target("option")
        return target and target.partition("=")[0]

    @property
    def fixed(self) -> str:
        """Value of the option that a flag without a value stands for."""
        return self.to.partition("=")[2]

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """The only values, of ``trt`` and of trtexec; empty where it is not an enumeration."""
        words = self.value.split("|") if "|" in self.value else ()
        pairs = (word.partition("=") for word in words)
        return tuple((ours, theirs if equals else ours) for ours, equals, theirs in pairs)

    @property
    def decides_build(self) -> bool:
        """Whether the flag steers a build only: a loaded engine ignores it."""
        return self.sets not in (None, "both", "run")

    def is_in(self, release: tuple[int, ...]) -> bool:
        """Whether trtexec of that TensorRT release has the flag."""
        return self.first <= release and (self.last is None or release <= self.last)

    def _target(self, word: str) -> str | None:
        first, _, rest = self.to.partition(" ")
        return rest if first == word else None


@lru_cache(maxsize=1)
def table() -> tuple[Flag, ...]:
    """Return all rows, those without a flag last."""
    path = resources.files("enginescope.formats.trtexec").joinpath("trtexec_flags.tsv")
    header, *lines = path.read_text("utf-8").splitlines()
    columns = header.split("\t")
    return tuple(_flag(dict(zip(columns, line.split("\t"), strict=True))) for line in lines)


@lru_cache(maxsize=1)
def all_flags() -> dict[str, Flag]:
    """Return the flags by name, in the order of the help."""
    return {flag.name: flag for flag in table() if flag.name}


def _flag(row: dict[str, str]) -> Flag:
    cells = {key: cell for key, cell in row.items() if cell != "-"}
    kind = cells.pop("kind", "flag")
    first, last = cells.pop("first"), cells.pop("last", None)
    return Flag(
        name=cells.pop("flag", ""),
        kind=kind.rstrip("*?"),
        repeatable="*" in kind,
        is_optional="?" in kind,
        first=_release(first),
        last=_release(last) if last else None,
        **cells,  # type: ignore[arg-type]
    )


def _release(text: str) -> Release:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


#: Precisions, in the order in which they are set. ``best``: all that the GPU is fast in.
PRECISIONS = tuple(flag.precision for flag in all_flags().values() if flag.precision)
#: Memory pool of TensorRT -> of trtexec.
MEMORY_POOLS = {
    "workspace": "workspace",
    "dla_managed_sram": "dlaSRAM",
    "dla_local_dram": "dlaLocalDRAM",
    "dla_global_dram": "dlaGlobalDRAM",
    "tactic_shared_memory": "tacticSharedMem",
}
#: Preview feature of TensorRT -> of trtexec.
PREVIEW_FEATURES = {
    "FASTER_DYNAMIC_SHAPES_0805": "fasterDynamicShapes0805",
    "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805": "disableExternalTacticSourcesForCore0805",
    "PROFILE_SHARING_0806": "profileSharing0806",
    "ALIASED_PLUGIN_IO_10_03": "aliasedPluginIO1003",
    "RUNTIME_ACTIVATION_RESIZE_10_10": "runtimeActivationResize",
    "MULTIDEVICE_RUNTIME_10_16": "multiDeviceRuntime",
}
#: Major and minor of TensorRT. A newer one is taken for this one, and that is said.
NEWEST = (11, 1)


def newer_release_text(version: tuple[int, ...]) -> str | None:
    """Say that a version is newer than what is known of trtexec; ``None`` if it is not.

    Args:
        version: Major, minor and what follows.
    """
    if version[:2] <= NEWEST:
        return None
    known, found = ".".join(map(str, NEWEST)), ".".join(map(str, version))
    return (
        f"TensorRT {found} is newer than {known}, the newest known trtexec; enginescope "
        f"treats it as {known} and ignores later changes of flags and defaults"
    )


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
    found = [re.fullmatch(r"(.+):(?:(\d+(?:x\d+)*)|scalar)", part) for part in _list(text)]
    if not found or None in found:
        raise ValueError("NAME:1x3x224x224,…, optimization profiles separated by ;")
    return tuple(
        InputShape(
            name=one[1].strip("'"), dims=tuple(map(int, one[2].split("x") if one[2] else ()))
        )
        for one in found
        if one
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
    "pools": lambda text: tuple((name.lower(), _size(value)) for name, value in _pairs(text)),
    "budget": _budget,
    "shapes": read_shapes,
    "capabilities": _matching(
        r"\d{1,2}\.\d(,\d{1,2}\.\d)*,?", "compute capabilities, as in 8.6,8.9", _list
    ),
}


def _options() -> dict[str, Option]:
    options: dict[str, Option] = {}
    for flag in filter(lambda flag: flag.key, table()):
        key = flag.key or ""
        if key in options:
            options[key] = replace(options[key], flags=(*options[key].flags, flag))
            continue
        read = _READERS.get(flag.value)
        if flag.words:
            read = _one_of(tuple(dict.fromkeys(ours for ours, _ in flag.words)))
        read = read or _at_least(int(flag.value.removesuffix("..")))
        options[key] = Option(read=read, flags=(flag,))
    return options


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
