"""Options by the keys of ``trt``: most from the table of flags, the others by their own rule.

One option of the backend: what its values are, and the flags they become.

Also arguments for one version of trtexec, with those that the user hands through.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from enginescope.backends.profile_bounds import read_shapes
from enginescope.backends.trtexec.binary import Version, dotted
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.core.units import parse_bytes
from enginescope.formats.trtexec.trtexec_flags import (
    HARDWARE_LEVELS,
    MEMORY_POOLS,
    PREVIEW_FEATURES,
    Flag,
    all_flags,
    option_flags,
)
from enginescope.records.run.job import BackendSpec, Job


class Flags:
    """Arguments for one version of trtexec, in order.

    Attributes:
        arguments: ``--name`` or ``--name=value``.
    """

    def __init__(self, version: Version) -> None:
        self.version = version
        self.arguments: list[str] = []

    @property
    def is_strongly_typed(self) -> bool:
        """Whether this version builds strongly typed networks only, with its defaults flipped."""
        return self.version >= (11, 0)

    def add(self, name: str, value: object = None) -> None:
        """Append a flag."""
        flag = all_flags()[f"--{name}"]
        if self.version < flag.first:
            raise self._lacking(name, f"it came with {dotted(flag.first)}")
        # a flag goes with a new major version, so a 10.17 that the table lacks still has it
        if flag.last is not None and self.version[0] > flag.last[0]:
            raise self._lacking(name, f"it went with {flag.last[0] + 1}.0")
        self.arguments.append(f"--{name}" if value is None else f"--{name}={value}")

    def _lacking(self, name: str, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"trtexec of TensorRT {dotted(self.version)} has no --{name}", why=why
        )


def name_of(argument: str) -> str:
    """Return ``avgRuns`` for ``--avgRuns=100``."""
    return argument.removeprefix("--").partition("=")[0]


NAME = "trtexec"
OPTION = "args"

#: Without these as they are set here, there is nothing to read.
_OURS = frozenset(
    {
        "exportTimes",
        "exportProfile",
        "exportLayerInfo",
        "dumpProfile",
        "separateProfileRun",
        "onnx",
        "loadEngine",
        "uff",
        "model",
        "deploy",
    }
)
#: With these, trtexec ends without having measured.
_NO_MEASUREMENT = frozenset(
    {
        "help",
        "skipInference",
        "buildOnly",
        "timeDeserialize",
        "timeRefit",
        "getPlanVersionOnly",
        "buildDLAStandalone",
        "helpBuildRoute",
        "dryRun",
        "tuneBuildRoutes",
        "tuneBuildRouteFile",
    }
)
#: Flags that say the same thing, or its contrary: the user's takes the place of ours.
_SAME = (
    frozenset({"useCudaGraph", "noCudaGraph"}),
    frozenset({"useSpinWait", "noSpinWait"}),
    frozenset({"noDataTransfers", "includeDataTransfers"}),
    frozenset({"infStreams", "streams"}),
    frozenset({"profilingVerbosity", "nvtxMode"}),
    frozenset({"memPoolSize", "workspace"}),
)
_REPEATABLE = frozenset({"staticPlugins", "setPluginsToSerialize"})


def split_arguments(text: str) -> tuple[str, ...]:
    """Return the arguments in `text`, split as a shell does."""
    try:
        parts = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"arguments for trtexec: {text}", why=str(error)) from None
    for part in parts:
        if not part.startswith("--") or not name_of(part):
            raise UsageError(
                f"{part!r} is not an argument of trtexec",
                hint="they are written --name or --name=value",
            )
        name = name_of(part)
        if name in _OURS:
            raise UsageError(f"--{name} for trtexec", why="enginescope sets it to read the result")
        if name in _NO_MEASUREMENT:
            raise UsageError(f"--{name} for trtexec", why="it ends without having measured")
    return parts


def merged(ours: Sequence[str], users: Sequence[str]) -> tuple[str, ...]:
    """Return both, without those of ours that the user's take the place of.

    trtexec refuses most flags that come twice.
    """
    taken = {name_of(argument) for argument in users} - _REPEATABLE
    for group in _SAME:
        if taken & group:
            taken |= group
    return (*(argument for argument in ours if name_of(argument) not in taken), *users)


def with_arguments(jobs: Sequence[Job], arguments: Sequence[str]) -> tuple[Job, ...]:
    """Return the jobs, those on trtexec with `arguments` added to their option ``args``."""
    if not arguments:
        return tuple(jobs)
    split_arguments(shlex.join(arguments))
    if all(job.backend.name != NAME for job in jobs):
        raise UsageError(
            f"arguments for trtexec: {shlex.join(arguments)}",
            why="no --on is trtexec",
            hint="--on trtexec, or remove --trtexec-args and what follows --",
        )
    return tuple(_with(job, arguments) if job.backend.name == NAME else job for job in jobs)


def _with(job: Job, arguments: Sequence[str]) -> Job:
    options = dict(job.backend.options)
    before = split_arguments(options.get(OPTION, ""))
    options[OPTION] = shlex.join((*before, *arguments))
    spec = BackendSpec(name=NAME, precision=job.backend.precision, options=options)
    return replace(job, backend=spec)


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
    return {word: word for word in words}


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
                why="TensorRT 11 accepts formats only; the model has the types",
                hint="chw+hwc8 in place of fp16:chw+hwc8",
            )
        flags.add(flag, value)

    return Option("such as fp16:chw+hwc8", bool, write)


_BUDGET = re.compile(r"^(auto|off|\d{1,3}%|\d+)$")


def _is_pools(value: str) -> bool:
    parts = [one.partition(":") for one in value.split(",")]
    return all(name in MEMORY_POOLS and is_size(size) for name, _, size in parts)


def _is_previews(value: str) -> bool:
    return all(one[:1] in "+-" and one[1:] in PREVIEW_FEATURES for one in value.split(","))


def _megabytes(text: str) -> str:
    """A size in MiB: 8.6 reads every number so, whatever unit stands behind it."""
    return format(parse_bytes(text) / 2**20, ".12g")


def _pools(flags: Flags, value: str) -> None:
    parts = [one.partition(":") for one in value.split(",")]
    given = ",".join(f"{MEMORY_POOLS[name]}:{_megabytes(size)}" for name, _, size in parts)
    if "tacticSharedMem" in given and flags.version < (10, 0):
        raise UnsupportedError("memory pool tactic_shared_memory", why="TensorRT 10.0 added it")
    flags.add("memPoolSize", given)


def _hardware(flags: Flags, value: str) -> None:
    if value == "same_compute_capability" and flags.version < (10, 0):
        raise UnsupportedError(f"hardware_compatibility={value}", why="TensorRT 10.0 added it")
    flags.add("hardwareCompatibilityLevel", HARDWARE_LEVELS[value])


def _previews(flags: Flags, value: str) -> None:
    flags.add("preview", ",".join(one[0] + PREVIEW_FEATURES[one[1:]] for one in value.split(",")))


def _strongly_typed(flags: Flags, value: str) -> None:
    if flags.is_strongly_typed and value == "0":
        raise UnsupportedError("strongly_typed=0", why="TensorRT 11 builds nothing else")
    if not flags.is_strongly_typed and value == "1":
        flags.add("stronglyTyped")


def _instance_norm(flags: Flags, value: str) -> None:
    """8.6 takes the plugin unless told otherwise, 10 the native layer."""
    if flags.version < (10, 0):
        if value == "1":
            flags.add("nativeInstanceNorm")
    elif value == "0":
        flags.add("pluginInstanceNorm")


def _profile_index(flags: Flags, value: str) -> None:
    if value != "0" or flags.version >= (9, 0):
        flags.add("useProfile", value)


def _budget(flags: Flags, value: str) -> None:
    words = {"auto": "-1", "off": "-2"}
    flags.add("weightStreamingBudget", words.get(value, value if "%" in value else f"{value}B"))


def _log_level(flags: Flags, value: str) -> None:
    if value == "verbose":
        flags.add("verbose")


def _no_flags(_flags: Flags, _value: str) -> None:
    """Nothing: shapes are written together, an optimization profile at a time."""


def _are_shapes(value: str) -> bool:
    try:
        return bool(read_shapes(value))
    except ValueError:
        return False


_SHAPE_OPTION = Option("such as x:1x3x224x224", _are_shapes, _no_flags)


def _option(flag: Flag) -> Option:
    name = flag.name.removeprefix("--")
    if flag.fixed:
        return switch(name, on=flag.fixed)
    if flag.words:
        return choice(name, same(*flag.words))
    return whole(name) if flag.kind == "int" else text(name)


#: Flags of the group "build" that a loaded engine takes, too.
_OF_LOADED = ("runtime", "refit_from")
_FLAGS = option_flags()

#: How an engine is built: an engine that exists takes none of them.
BUILD_OPTIONS: dict[str, Option] = {
    **{
        key: _option(flag)
        for key, flag in _FLAGS.items()
        if flag.group == "build" and key not in _OF_LOADED
    },
    "min_shapes": _SHAPE_OPTION,
    "opt_shapes": _SHAPE_OPTION,
    "max_shapes": _SHAPE_OPTION,
    "workspace": Option(
        "a size such as 1GiB", is_size, lambda flags, v: _pools(flags, f"workspace:{v}")
    ),
    "memory_pools": Option("pool:size, such as workspace:1GiB", _is_pools, _pools),
    "preview_features": Option("such as +PROFILE_SHARING_0806", _is_previews, _previews),
    "hardware_compatibility": Option(
        " or ".join(HARDWARE_LEVELS), lambda v: v in HARDWARE_LEVELS, _hardware
    ),
    "runtime_platform": choice("runtimePlatform", {"same_as_build": "SameAsBuild"}),
    "profiling_verbosity": choice(
        "profilingVerbosity", same("detailed", "layer_names_only", "none")
    ),
    "strip_plan": switch("stripWeights"),
    "strongly_typed": decided(_strongly_typed),
    "input_formats": io_formats("inputIOFormats"),
    "output_formats": io_formats("outputIOFormats"),
    "serialize_plugins": each("setPluginsToSerialize"),
    "native_instance_norm": decided(_instance_norm),
}

RUN_OPTIONS: dict[str, Option] = {
    **{key: _option(flag) for key, flag in _FLAGS.items() if key not in BUILD_OPTIONS},
    "plugins": each("staticPlugins"),
    "profile_index": Option("a whole number", is_whole, _profile_index),
    "weight_streaming_budget": Option(
        "auto, off, 50% or bytes", lambda v: bool(_BUDGET.match(v)), _budget
    ),
    "persistent_cache_ratio": Option(
        "0…1", is_ratio, lambda flags, value: flags.add("persistentCacheRatio", value)
    ),
    "log_level": Option("verbose or info", lambda value: value in ("verbose", "info"), _log_level),
}

OPTIONS = {**BUILD_OPTIONS, **RUN_OPTIONS}

#: Keys of ``trt`` for which trtexec has no flag, and why they are refused.
WITHOUT_FLAG = {
    "refit_identical": "trtexec has no flag for it",
    "refit_individual": "trtexec has no flag for it",
    "debug": "trtexec has no flag for it",
    "max_threads": "trtexec has no flag for it",
    "stamps": "trtexec exports its time stamps with six digits and without their stream",
}
