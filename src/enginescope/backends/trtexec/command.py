"""A job as a command line of trtexec.

A specification such as ``trtexec:fp16?workspace=1GiB``: checked, and as flags.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from enginescope.backends.base import FeedSource
from enginescope.backends.profile_bounds import check_bounds
from enginescope.backends.trtexec.inputs import Fed, write_inputs
from enginescope.backends.trtexec.options import (
    NAME,
    OWN,
    Flags,
    check_option,
    merged,
    split_arguments,
    write_option,
)
from enginescope.backends.trtexec.options import OPTION as ARGUMENTS
from enginescope.backends.trtexec.process import Version
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import Record
from enginescope.formats.trtexec.trtexec_flags import OPTIONS, newer_release_text, read_precision
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job, Mode, StopRule, Subject, WarmUp


def check_options(spec: BackendSpec) -> None:
    """Raise `UsageError` for a precision, key or value that no version of trtexec takes."""
    read_precision(spec.precision, NAME)
    if spec.precision and spec.options.get("strongly_typed") == "1":
        what = f"precision {spec.precision} with strongly_typed=1"
        raise UsageError(what, why="a strongly typed network computes in the types of the model")
    for key, value in spec.options.items():
        check_option(key, value)
    check_bounds(spec.options)
    split_arguments(spec.options.get(ARGUMENTS, ""))


def write_options(flags: Flags, spec: BackendSpec, subject: Subject) -> None:
    """Add the flags of precision and options."""
    if subject.kind == "engine":
        _refuse_build(spec, subject)
    else:
        _write_precision(flags, spec)
        _write_profiles(flags, spec.options)
    options = dict(spec.options)
    if "workspace" in options:  # trtexec takes one list of all pools
        pools = (f"workspace:{options.pop('workspace')}", options.get("memory_pools"))
        options["memory_pools"] = ",".join(filter(None, pools))
    for key, value in options.items():
        if key not in OWN:
            write_option(flags, key, value)
    if subject.kind != "engine" and "profiling_verbosity" not in spec.options:
        flags.add("profilingVerbosity", "detailed")


def _refuse_build(spec: BackendSpec, subject: Subject) -> None:
    of_build = [
        key for key in spec.options if key not in OWN and OPTIONS[key].flags[0].decides_build
    ]
    if spec.precision:
        of_build.insert(0, f"precision {spec.precision}")
    if of_build:
        what = f"{', '.join(of_build)} for {subject.name}"
        why = "an engine is already built, and these options are for a build"
        raise UnsupportedError(what, why=why, hint="pass the ONNX model, or omit them")


def _write_precision(flags: Flags, spec: BackendSpec) -> None:
    if not spec.precision:
        return
    if flags.is_strongly_typed:
        gone = f"--{spec.precision.split('+')[0]} is gone"
        why = f"TensorRT 11 computes in the precision the model carries; {gone}"
        hint = "python -m modelopt.onnx.autocast --onnx_path MODEL converts it (ModelOpt)"
        raise UnsupportedError(f"trtexec:{spec.precision}", why=why, hint=hint)
    for part in spec.precision.split("+"):
        flags.add(part)


def _write_profiles(flags: Flags, options: Mapping[str, str]) -> None:
    """Add the shapes of the optimization profiles, ``;`` between them."""
    names = {"min_shapes": "minShapes", "opt_shapes": "optShapes", "max_shapes": "maxShapes"}
    given = {flag: options[key].split(";") for key, flag in names.items() if key in options}
    count = max((len(profiles) for profiles in given.values()), default=0)
    for index in range(count):
        if count > 1:
            flags.add("profile", index)
        for flag, profiles in given.items():
            flags.add(flag, profiles[index])


TIMES = "times.json"
PROFILE = "profile.json"
GRAPH = "graph.json"

#: What trtexec measures for when nobody says how long: its own default.
DEFAULT_MS = 3_000.0


class Command(Record, frozen=True, kw_only=True):
    """What to start, and what was meant by it.

    Attributes:
        arguments: The binary first.
        mode: As stated by the flags; ``None``: the user's own arguments may say otherwise.
        rule: What ends the measurement; trtexec takes both as minima.
        expected_ms: Warm-up and measurement together, at least.
        notices: Where trtexec does less than was asked for.
    """

    arguments: tuple[str, ...]
    fed: Fed
    mode: Mode | None
    rule: Literal["iterations", "duration"]
    expected_ms: float
    notices: tuple[Notice, ...]


def command_for(
    binary: Path, version: Version, job: Job, feeds: FeedSource, folder: Path
) -> Command:
    """Return the command that measures `job`; its files go to `folder`.

    Every switch whose default differs between versions is stated.
    """
    flags = Flags(version)
    flags.add("loadEngine" if job.subject.kind == "engine" else "onnx", job.subject.path)
    write_options(flags, job.backend, job.subject)
    fed = write_inputs(flags, job, feeds, folder)
    mode = _write_mode(flags, job.workload.mode)
    rule, seconds = _write_stop(flags, job.workload.stop, mode.streams or 1)
    flags.add("warmUp", _plain(job.workload.warmup.time_ms))
    flags.add("exportTimes", folder / TIMES)
    flags.add("exportLayerInfo", folder / GRAPH)
    if job.layer_profile:
        flags.add("exportProfile", folder / PROFILE)
        flags.add("dumpProfile")
        flags.add("separateProfileRun")  # else up to 10 the profiler sits in the timed run
    users = split_arguments(job.backend.options.get(ARGUMENTS, ""))
    return Command(
        arguments=(str(binary), *merged(flags.arguments, users)),
        fed=fed,
        mode=None if users else mode,
        rule=rule,
        expected_ms=job.workload.warmup.time_ms + 1e3 * seconds,
        notices=tuple(_notices(version, job)),
    )


def _write_mode(flags: Flags, asked: Mode) -> Mode:
    """Add the flags of the mode and return it, choices made.

    Without a choice: transfers, a CUDA graph where the engine can be captured, waits that spin. The
    same as on ``trt`` and for every version, whatever its own defaults.
    """
    mode = _chosen(asked)
    switches = (
        (mode.cuda_graph, "useCudaGraph", "noCudaGraph"),
        (mode.spin_wait, "useSpinWait", "noSpinWait"),
        (not mode.transfers, "noDataTransfers", "includeDataTransfers"),
    )
    for is_on, flag, contrary in switches:
        if is_on or flags.is_strongly_typed:  # 11.0 turned the three defaults round
            flags.add(flag if is_on else contrary)
    if mode.in_flight == 1:
        flags.add("exposeDMA")
    flags.add("infStreams", mode.streams)
    flags.add("idleTime", _plain(mode.idle_ms or 0.0))
    return mode


def _chosen(asked: Mode) -> Mode:
    if asked.kind == "latency":
        what = "mode latency on trtexec"
        why = "it enqueues ahead and times on the GPU's clock only"
        raise UnsupportedError(what, why=why, hint="--mode throughput, or --on trt")
    if asked.cold or (asked.rotate or 1) > 1:
        what = f"mode {'cold' if asked.cold else 'rotate'} on trtexec"
        raise UnsupportedError(what, why="trtexec has no flag for it", hint="--on trt")
    # without a kind, one in flight is what a mode starts with, not what somebody asked for
    in_flight = 2 if asked.kind is None else asked.in_flight or 2
    if in_flight not in (1, 2):
        what = f"{in_flight} requests in flight on trtexec"
        raise UnsupportedError(what, why="it has one or two slots a stream")
    return Mode(
        kind="throughput",
        in_flight=in_flight,
        transfers=asked.transfers is not False,
        cuda_graph=asked.cuda_graph is not False,
        spin_wait=asked.spin_wait is not False,
        streams=asked.streams or 1,
        idle_ms=asked.idle_ms or 0.0,
    )


def _write_stop(
    flags: Flags, rule: StopRule, streams: int
) -> tuple[Literal["iterations", "duration"], float]:
    """Add the stop rule, and return which part of it ends the run and its seconds.

    Both are minima to trtexec. A round of its loop is a query on every stream.
    """
    ended_by: Literal["iterations", "duration"] = "duration"
    if rule.iterations is not None:
        ended_by, queries, duration_ms = "iterations", rule.iterations, 0.0
    elif rule.duration_ms is not None:
        queries, duration_ms = rule.min_iterations, rule.duration_ms
    else:
        queries, duration_ms = rule.min_samples, min(rule.max_time_ms, DEFAULT_MS)
    flags.add("iterations", max(1, math.ceil(queries / streams)))
    flags.add("duration", _plain(duration_ms / 1e3))
    return ended_by, duration_ms / 1e3


def _notices(version: Version, job: Job) -> Iterator[Notice]:
    """Say where trtexec does less than the workload asks for."""
    stop, warmup = job.workload.stop, job.workload.warmup
    if newer := newer_release_text(version):
        yield Notice("W-NEWER-TRTEXEC", newer)
    if stop.iterations is None and stop.duration_ms is None and stop.precision_pct is not None:
        ran = f"{_plain(min(stop.max_time_ms, DEFAULT_MS))} ms and {stop.min_samples} queries"
        text = f"trtexec cannot stop at a precision: it ran for at least {ran}"
        yield Notice("I-STOP-RULE", text, level="info")
    if warmup.iterations > WarmUp().iterations:
        spent = f"{_plain(warmup.time_ms)} ms, not {warmup.iterations} queries"
        text = f"trtexec warms up by time alone: {spent}"
        yield Notice("I-WARMUP-RULE", text, level="info")
    if warmup.time_ms == 0 and version >= (11, 1):
        first = "the first query of trtexec 11.1 and later reloads its inputs inside the timed span"
        text = f"without warm-up {first}"
        yield Notice("W-FIRST-QUERY", text)
    if job.keep_outputs:
        text = "outputs are not kept from trtexec; --on trt does"
        yield Notice("I-NO-OUTPUTS", text, level="info")


def _plain(value: float) -> str:
    return format(value, ".9g")
