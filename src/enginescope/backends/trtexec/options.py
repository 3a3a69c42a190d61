"""Options of ``trt`` as flags of one version of trtexec, with arguments that the user passes."""

import shlex
from collections.abc import Iterable, Sequence

from enginescope.backends.trtexec.process import Version, dotted
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import parse_bytes
from enginescope.formats.trtexec.trtexec_flags import (
    MEMORY_POOLS,
    OPTIONS,
    PREVIEW_FEATURES,
    Flag,
    all_flags,
    read_options,
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
        """Append a flag; trtexec's default needs none in a version that lacks the flag."""
        flag = all_flags()[f"--{name}"]
        if self.version < flag.first and str(value) == flag.default:
            return
        if self.version < flag.first:
            raise self._lacking(name, f"it came with {dotted(flag.first)}")
        # a flag goes with a new major version, so a 10.17 that the table lacks still has it
        if flag.last is not None and self.version[0] > flag.last[0]:
            raise self._lacking(name, f"it went with {flag.last[0] + 1}.0")
        self.arguments.append(f"--{name}" if value is None else f"--{name}={value}")

    def _lacking(self, name: str, why: str) -> UnsupportedError:
        what = f"trtexec of TensorRT {dotted(self.version)} has no --{name}"
        return UnsupportedError(what, why=why)


def name_of(argument: str) -> str:
    """Return ``avgRuns`` for ``--avgRuns=100``."""
    return argument.removeprefix("--").partition("=")[0]


NAME = "trtexec"
OPTION = "args"

#: Without these as they are set here, there is nothing to read.
_OURS = frozenset(
    {
        *("exportTimes", "exportProfile", "exportLayerInfo", "dumpProfile", "separateProfileRun"),
        *("onnx", "loadEngine", "uff", "model", "deploy"),
    }
)
#: With these, trtexec ends without having measured.
_NO_MEASUREMENT = frozenset(
    {
        *("help", "skipInference", "buildOnly", "timeDeserialize", "timeRefit"),
        *("getPlanVersionOnly", "buildDLAStandalone", "helpBuildRoute", "dryRun"),
        *("tuneBuildRoutes", "tuneBuildRouteFile"),
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
            what = f"{part!r} is not an argument of trtexec"
            raise UsageError(what, hint="they are written --name or --name=value")
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
        what = f"arguments for trtexec: {shlex.join(arguments)}"
        hint = "--on trtexec, or remove --trtexec-args and what follows --"
        raise UsageError(what, why="no --on is trtexec", hint=hint)
    return tuple(_with(job, arguments) if job.backend.name == NAME else job for job in jobs)


def _with(job: Job, arguments: Sequence[str]) -> Job:
    options = dict(job.backend.options)
    options[OPTION] = shlex.join((*split_arguments(options.get(OPTION, "")), *arguments))
    spec = BackendSpec(name=NAME, precision=job.backend.precision, options=options)
    return replace(job, backend=spec)


#: Options of ``trt`` that trtexec has no flag for -> why they are refused.
WITHOUT_FLAG = {
    key: option.flags[0].meaning for key, option in OPTIONS.items() if not option.flags[0].name
}
#: Of this backend alone: where the binary is, and what goes to it untouched.
OWN = ("binary", OPTION)


def check_option(key: str, text: str) -> None:
    """Raise `UsageError` for an option or value that no version of trtexec has."""
    if key in OWN:
        return
    if key in WITHOUT_FLAG:
        raise UsageError(f"trtexec: {key}", why=WITHOUT_FLAG[key], hint=f"--on trt?{key}={text}")
    if key not in OPTIONS:
        raise UsageError(f"trtexec has no option {key!r}", hint=did_you_mean(key, (*OPTIONS, *OWN)))
    value = read_options({key: text}, NAME)[key]
    flag = OPTIONS[key].flags[0]
    known, names = _words(flag), (value,)
    if flag.value in _NAMES:
        known, names = _NAMES[flag.value], tuple(name for name, _ in value)
    if known and not known.keys() >= set(names):
        raise UsageError(f"trtexec: {key}={text}", hint=f"trtexec has {', '.join(known)}")
    if value == "windows_amd64":
        why, hint = "the engine does not run on this machine", "enginescope build MODEL --on trt"
        raise UsageError(f"trtexec: {key}={text}", why=why, hint=hint)


def write_option(flags: Flags, key: str, text: str) -> None:
    """Add the flag of an option, as its version of trtexec writes it."""
    _check_version(flags, key, text)
    first = OPTIONS[key].flags[0]
    if first.kind == "flag":
        _write_switch(flags, OPTIONS[key].flags, text)
    elif first.value != "shapes":  # written together, an optimization profile at a time
        for part in text.split(",") if first.repeatable else (text,):
            flags.add(name_of(first.name), _spelled(first, part))


def _check_version(flags: Flags, key: str, text: str) -> None:
    """Raise where a version has the flag, and not this value."""
    later = {
        "hardware_compatibility": "same_compute_capability",
        "memory_pools": "tactic_shared_memory",
    }
    if flags.version < (10, 0) and key in later and later[key] in text:
        raise UnsupportedError(f"{key}={text}", why="TensorRT 10.0 added it")
    if flags.is_strongly_typed and (key, text) == ("strongly_typed", "0"):
        raise UnsupportedError("strongly_typed=0", why="TensorRT 11 builds nothing else")
    if flags.is_strongly_typed and key in ("input_formats", "output_formats") and ":" in text:
        why = "TensorRT 11 accepts formats only; the model has the types"
        raise UnsupportedError(f"{key}={text}", why=why, hint="chw+hwc8 in place of fp16:chw+hwc8")


def _write_switch(flags: Flags, rows: Iterable[Flag], text: str) -> None:
    """Add the flag of a value, unless the version has one for the contrary alone."""
    names = {row.fixed: row for row in reversed(tuple(rows))}
    wanted = names.pop(text, None)
    is_default = any(row.is_in(flags.version[:2]) for row in names.values())
    if wanted is None or (is_default and not wanted.is_in(flags.version[:2])):
        return
    if wanted.key != "strongly_typed" or not flags.is_strongly_typed:
        flags.add(name_of(wanted.name))


def _spelled(flag: Flag, text: str) -> str:
    value = OPTIONS[flag.key or ""].read(text)
    if flag.value == "pools":  # in MiB: 8.6 reads every number so, whatever unit follows
        return ",".join(f"{MEMORY_POOLS[name]}:{size / 2**20:.12g}" for name, size in value)
    if flag.value == "features":
        return ",".join("-+"[on] + PREVIEW_FEATURES[name] for name, on in value)
    if flag.value == "budget":
        words = {"auto": "-1", "off": "-2"}
        return words.get(text) or (text if "%" in text else f"{parse_bytes(text)}B")
    return _words(flag).get(text.lower(), text)


def _words(flag: Flag) -> dict[str, str]:
    """Return the words of ``trt`` that trtexec has -> its own, the first of several."""
    words: dict[str, str] = {}
    for ours, theirs in flag.words:
        if theirs:
            words.setdefault(ours, theirs)
    return words


#: How an option is read -> names of TensorRT in its value -> those of trtexec.
_NAMES = {"pools": MEMORY_POOLS, "features": PREVIEW_FEATURES}
