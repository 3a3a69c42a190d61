"""Arguments that the user hands through to trtexec as they are.

Arguments for one version of trtexec.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from enginescope.backends.trtexec.binary import Version, dotted
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.trtexec.trtexec_flags import all_flags
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
        """Append a flag.

        Raises:
            UnsupportedError: This version does not have it.
        """
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
    """Return the arguments in `text`, split as a shell does.

    Raises:
        UsageError: A quotation is left open, a part is not ``--name`` or ``--name=value``, or a
            flag that would leave nothing to read.
    """
    try:
        parts = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"arguments for trtexec: {text}", why=str(error)) from None
    for one in parts:
        if not one.startswith("--") or not name_of(one):
            raise UsageError(
                f"{one!r} is not an argument of trtexec",
                hint="they are written --name or --name=value",
            )
        name = name_of(one)
        if name in _OURS:
            raise UsageError(f"--{name} for trtexec", why="enginescope sets it to read the result")
        if name in _NO_MEASUREMENT:
            raise UsageError(f"--{name} for trtexec", why="it ends without having measured")
    return parts


def merged(ours: Sequence[str], users: Sequence[str]) -> tuple[str, ...]:
    """Return both, without those of ours that the user's take the place of.

    trtexec refuses most flags that come twice.
    """
    taken = {name_of(one) for one in users} - _REPEATABLE
    for group in _SAME:
        if taken & group:
            taken |= group
    return (*(one for one in ours if name_of(one) not in taken), *users)


def with_arguments(jobs: Sequence[Job], arguments: Sequence[str]) -> tuple[Job, ...]:
    """Return the jobs, those on trtexec with `arguments` added to their option ``args``.

    Raises:
        UsageError: No job is on trtexec, or an argument cannot be handed through.
    """
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
