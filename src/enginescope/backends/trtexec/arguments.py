"""Arguments that the user hands through to trtexec as they are."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from enginescope.backends.trtexec.flags import name_of
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Job

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
                f"{one!r} is no argument of trtexec", hint="they are written --name or --name=value"
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
            hint="--on trtexec, or leave out --trtexec-args and what follows --",
        )
    return tuple(_with(job, arguments) if job.backend.name == NAME else job for job in jobs)


def _with(job: Job, arguments: Sequence[str]) -> Job:
    options = dict(job.backend.options)
    before = split_arguments(options.get(OPTION, ""))
    options[OPTION] = shlex.join((*before, *arguments))
    spec = BackendSpec(name=NAME, precision=job.backend.precision, options=options)
    return msgspec.structs.replace(job, backend=spec)
