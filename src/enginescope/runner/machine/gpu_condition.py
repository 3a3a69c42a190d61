"""The GPU's condition: notices on a measured run, and waiting until it is cool.

Which GPUs jobs run on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from enginescope.core.units import format_bytes
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import gpu_temperature_c, probe_device
from enginescope.records.progress import Progress
from enginescope.records.run.job import Cooldown, Job
from enginescope.records.run.run import Phase, Run
from enginescope.records.run.telemetry import (
    ENERGY,
    POWER,
    GpuProcess,
    GpuTelemetry,
    Held,
    Telemetry,
    clock_around,
    held_by,
)

#: A lower clock than this share of the one before the loop is said.
CLOCK_DROP_PCT = 5.0
#: A trace of a throttle reason outside of the timed loop is not worth a notice of its own.
_PASS_SHARE_PCT = 1.0


def clock_drop(run: Run) -> Notice | None:
    """Say that the SM clock fell while the loop was timed."""
    found = clock_around(run.gpu.timed) if run.gpu else None
    if found is None or found.drop_pct <= CLOCK_DROP_PCT:
        return None
    return Notice(
        code="W-CLOCK-DROP",
        message=f"the SM clock fell by {found.drop_pct:.0f} %: {found.before_mhz:,.0f} MHz before "
        f"the timed loop, {found.during_mhz:,.0f} during, {found.after_mhz:,.0f} after",
        evidence={
            "before_mhz": found.before_mhz,
            "during_mhz": found.during_mhz,
            "after_mhz": found.after_mhz,
            "drop_pct": found.drop_pct,
        },
    )


def throttled(run: Run) -> Notice | None:
    """Name what held the clock down, in the timed loop or in the pass that repeats it."""
    if run.gpu is None:
        return None
    timed = [one for one in held_by(run.gpu.timed) if one.reason.slows]
    load = [one for one in held_by(_under_load(run.gpu)) if one.reason.slows]
    load = [one for one in load if one.share_pct >= _PASS_SHARE_PCT]
    if not timed and not load:
        return None
    where = "in the timed loop" if timed else "in the telemetry pass"
    named = ", ".join(
        f"{one.reason.meaning} in {one.share_pct:.0f} % of the readings" for one in timed or load
    )
    message = f"the GPU throttled its clock {where}: {named}"
    evidence = {"timed": _shares(timed), "pass": _shares(load)}
    return Notice(code="W-THROTTLED", message=message, evidence=evidence)


def clocks_set(run: Run) -> Notice | None:
    """Say that somebody has set the clocks."""
    held = held_by(run.gpu.timed) if run.gpu else ()
    if not any(one.reason.name == "clocks_setting" for one in held):
        return None
    message = "the GPU's clocks are set by a user or an application"
    return Notice(code="I-CLOCKS-SET", message=message, evidence={"timed": _shares(held)})


def shared_gpu(run: Run) -> Notice | None:
    """Name the other processes on the GPU."""
    others = run.gpu.others if run.gpu else ()
    if not others:
        return None
    return Notice(
        code="W-GPU-SHARED",
        message=f"other processes were on the GPU: {', '.join(map(_named, others))}",
        evidence={
            "processes": [
                {"pid": other.pid, "name": other.name, "memory_bytes": other.memory_bytes}
                for other in others
            ]
        },
    )


def lost(run: Run) -> Notice | None:
    """Say that the GPU stopped answering in the middle of the pass."""
    series = run.gpu.series if run.gpu else None
    if series is None or not series.channels or not series.time_ms.size:
        return None
    silent = np.atleast_1d(np.isnan([channel.values for channel in series.channels]).all(axis=0))
    if not silent[-1] or silent.all():
        return None
    last = float(series.time_ms[np.flatnonzero(~silent)[-1]])
    return Notice(
        code="W-GPU-SILENT",
        message=f"the GPU stopped reporting {last / 1e3:.1f} s after the start; later values "
        "are unknown",
        evidence={"last_ms": last},
    )


def no_energy(run: Run) -> Notice | None:
    """Say why a telemetry pass gives no energy."""
    if run.gpu is None or run.gpu.series is None:
        return None
    channels = {channel.name for channel in run.gpu.series.channels}
    if channels & {ENERGY, POWER}:
        return None
    of_instance = "NVML reports power and energy of the whole GPU, not of a MIG instance"
    message = of_instance if run.gpu.gpu.is_mig else "the GPU reports neither power nor energy"
    return Notice(code="I-NO-ENERGY", message=message)


def no_pass(run: Run) -> Notice | None:
    """Say that a backend which measures by itself has no pass to sample in."""
    asked = run.job.telemetry.depth == "full"
    said = any(notice.code == "W-NO-TELEMETRY" for notice in run.notices)
    if not asked or run.gpu is not None or said or not run.samples:
        return None
    return Notice(
        code="W-NO-TELEMETRY",
        message=f"no telemetry of a GPU: {run.job.backend.name} measures by itself, without a "
        "separate telemetry pass",
    )


GPU_RULES = (clock_drop, throttled, clocks_set, shared_gpu, lost, no_energy, no_pass)


def _under_load(gpu: GpuTelemetry) -> Telemetry | None:
    """Return the part of the series in which the model worked."""
    span, series = gpu.span("load"), gpu.series
    if span is None or series is None:
        return None
    return series.between(span.from_ms, span.to_ms)


def _shares(held: tuple[Held, ...] | list[Held]) -> dict[str, float]:
    return {one.reason.name: one.share_pct for one in held}


def _named(one: GpuProcess) -> str:
    memory = f", {format_bytes(one.memory_bytes)}" if one.memory_bytes else ""
    return f"PID {one.pid} ({one.name or 'name not known'}{memory})"


#: Options by which backends are told a GPU's number; the first GPU without them.
_OPTIONS = ("device", "device_id")
#: How trtexec is told, among the arguments that are handed through.
_FLAG = re.compile(r"(?:^|\s)--device=(\d+)\b")


def gpus_of(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the UUIDs of the GPUs that `jobs` use, as NVML writes them; empty: none is seen."""
    found = (probe_device(index) for index in dict.fromkeys(map(_index, jobs)))
    return tuple(dict.fromkeys(one.uuid for one in found if one and one.uuid))


def gpu_index(job: Job) -> int | None:
    """Return the number of the GPU that a job uses, or may use; ``None``: it uses none."""
    backend = job.backend
    on_cpu = backend.is_cpu or (backend.name == "fake" and "gpu" not in backend.options)
    return None if on_cpu else _index(job)


def _index(job: Job) -> int:
    options = job.backend.options
    for_trtexec = _FLAG.search(options.get("args", ""))
    if for_trtexec:
        return int(for_trtexec[1])
    named = next((options[key] for key in _OPTIONS if key in options), "0")
    return int(named) if named.isdecimal() else 0


#: Between two looks at a temperature, which moves by a degree in seconds.
LOOK_S = 0.5


class Cooled(NamedTuple):
    """How the waiting went.

    Attributes:
        notices: Of a GPU that is still too warm, or does not report its temperature.
    """

    phase: Phase
    notices: tuple[Notice, ...]


def cool_down(job: Job, on_progress: Callable[[Progress], None]) -> Cooled | None:
    """Wait as `job` asks; ``None`` if it does not ask."""
    rule = job.conditions.cooldown
    if rule is None:
        return None
    begin = time.monotonic()
    gpus = gpus_of((job,))
    while True:
        elapsed_s = time.monotonic() - begin
        warmest = max(
            (one for gpu in gpus if (one := gpu_temperature_c(gpu)) is not None), default=None
        )
        if warmest is None or warmest <= rule.temperature_c or elapsed_s >= rule.limit_s:
            break
        on_progress(
            Progress(
                phase="cooldown",
                elapsed_ms=1e3 * elapsed_s,
                limit_ms=1e3 * rule.limit_s,
                detail=f"{warmest:.0f} °C, waiting for {rule.temperature_c:g} °C",
            )
        )
        time.sleep(min(LOOK_S, rule.limit_s - elapsed_s))
    phase = Phase(name="cooldown", duration_ms=1e3 * elapsed_s)
    return Cooled(phase, _notices(rule, warmest, elapsed_s))


def _notices(rule: Cooldown, warmest: float | None, elapsed_s: float) -> tuple[Notice, ...]:
    if warmest is None:
        message = "no GPU of this job reports its temperature, so there was no cooldown"
    elif warmest > rule.temperature_c:
        message = (
            f"the GPU was at {warmest:.0f} °C after {elapsed_s:.0f} s of waiting for "
            f"{rule.temperature_c:g} °C"
        )
    else:
        return ()
    evidence = {"temperature_c": warmest, "wanted_c": rule.temperature_c, "waited_s": elapsed_s}
    return (Notice(code="W-COOLDOWN", message=message, evidence=evidence),)
