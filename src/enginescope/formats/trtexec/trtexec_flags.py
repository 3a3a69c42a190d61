"""Every flag of trtexec, and the option of the backend ``trt`` that it stands for.

The parsers of 8.0 to 11.1 were read; later flags are those that release notes name.

The table ``trtexec_flags.tsv`` has one row per flag, and one per option of ``trt`` that trtexec
lacks. From it come the options of ``trt`` (`enginescope.formats.trtexec.trt_options`), the
arguments for a trtexec binary, and what the verb ``trtexec`` accepts and documents.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Literal

from enginescope.core.record import Record

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
        value: How ``trt`` reads the option: a name in `enginescope.formats.trtexec.trt_options`,
            ``1..`` for a number and its minimum, or the words, ``obey|prefer``. ``none|ampere_plus=
            ampere+``: trtexec's word where it differs, nothing behind ``=`` where it has none.
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

    def is_in(self, release: Release) -> bool:
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
