"""The GPUs of jobs: notices on a measured run, and waiting until they are cool."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from enginescope.core.units import format_bytes
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import gpu_temperature_c, probe_device
from enginescope.records.progress import Progress
from enginescope.records.run import telemetry
from enginescope.records.run.job import Job
from enginescope.records.run.run import Phase, Run

#: A lower clock than this share of the one before the loop is said.
CLOCK_DROP_PCT = 5.0
#: A trace of a throttle reason outside of the timed loop is not worth a notice of its own.
_PASS_SHARE_PCT = 1.0


def gpu_notices(run: Run) -> Iterator[Notice]:
    """Yield what a run says of its GPU: its clock, other processes, and what was not told."""
    if run.gpu is not None:
        yield from _on_clock(run.gpu)
        yield from _on_others(run.gpu)
        yield from _on_series(run.gpu)
    said = any(notice.code == "W-NO-TELEMETRY" for notice in run.notices)
    if run.job.telemetry.depth == "full" and run.gpu is None and run.samples and not said:
        alone = f"{run.job.backend.name} measures by itself, without a separate telemetry pass"
        yield Notice("W-NO-TELEMETRY", f"no telemetry of a GPU: {alone}")


def _on_clock(gpu: telemetry.GpuTelemetry) -> Iterator[Notice]:
    found = telemetry.clock_around(gpu.timed)
    if found is not None and found.drop_pct > CLOCK_DROP_PCT:
        message = (
            f"the SM clock fell by {found.drop_pct:.0f} %: {found.before_mhz:,.0f} MHz "
            f"before the timed loop, {found.during_mhz:,.0f} during, {found.after_mhz:,.0f} after"
        )
        fields = ("before_mhz", "during_mhz", "after_mhz", "drop_pct")
        yield Notice("W-CLOCK-DROP", message, {name: getattr(found, name) for name in fields})
    held = telemetry.held_by(gpu.timed)
    timed = [one for one in held if one.reason.slows]
    span = gpu.span("load")  # in which the model worked in the pass that repeats the timed loop
    series = gpu.series.between(span.from_ms, span.to_ms) if span and gpu.series else None
    load = [
        one
        for one in telemetry.held_by(series)
        if one.reason.slows and one.share_pct >= _PASS_SHARE_PCT
    ]
    if timed or load:
        where = "in the timed loop" if timed else "in the telemetry pass"
        shares = (f"{one.reason.meaning} in {one.share_pct:.0f} %" for one in timed or load)
        named = ", ".join(f"{share} of the readings" for share in shares)
        message = f"the GPU throttled its clock {where}: {named}"
        evidence = {"timed": _shares(timed), "pass": _shares(load)}
        yield Notice(code="W-THROTTLED", message=message, evidence=evidence)
    if any(one.reason.name == "clocks_setting" for one in held):
        message = "the GPU's clocks are set by a user or an application"
        yield Notice(code="I-CLOCKS-SET", message=message, evidence={"timed": _shares(held)})


def _shares(held: Sequence[telemetry.Held]) -> dict[str, float]:
    return {one.reason.name: one.share_pct for one in held}


def _on_others(gpu: telemetry.GpuTelemetry) -> Iterator[Notice]:
    texts = []
    for one in gpu.others:
        memory = f", {format_bytes(one.memory_bytes)}" if one.memory_bytes else ""
        texts.append(f"PID {one.pid} ({one.name or 'name not known'}{memory})")
    if texts:
        fields = ("pid", "name", "memory_bytes")
        others = [{name: getattr(other, name) for name in fields} for other in gpu.others]
        message = f"other processes were on the GPU: {', '.join(texts)}"
        yield Notice("W-GPU-SHARED", message, {"processes": others})


def _on_series(gpu: telemetry.GpuTelemetry) -> Iterator[Notice]:
    """Yield that the GPU stopped reporting in the pass, and why a pass gives no energy."""
    series = gpu.series
    if series is None:
        return
    if series.channels and series.time_ms.size:
        values = [channel.values for channel in series.channels]
        silent = np.atleast_1d(np.isnan(values).all(axis=0))
        if silent[-1] and not silent.all():
            last = float(series.time_ms[np.flatnonzero(~silent)[-1]])
            silent_from = f"the GPU stopped reporting {last / 1e3:.1f} s after the start"
            message = f"{silent_from}; later values are unknown"
            yield Notice("W-GPU-SILENT", message, {"last_ms": last})
    if not {channel.name for channel in series.channels} & {telemetry.ENERGY, telemetry.POWER}:
        message = "the GPU reports neither power nor energy"
        if gpu.gpu.is_mig:
            message = "NVML reports power and energy of the whole GPU, not of a MIG instance"
        yield Notice(code="I-NO-ENERGY", message=message)


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
        known = (one for gpu in gpus if (one := gpu_temperature_c(gpu)) is not None)
        warmest = max(known, default=None)
        if warmest is None or warmest <= rule.temperature_c or elapsed_s >= rule.limit_s:
            break
        waiting = f"{warmest:.0f} °C, waiting for {rule.temperature_c:g} °C"
        ms, most_ms = 1e3 * elapsed_s, 1e3 * rule.limit_s
        on_progress(Progress(phase="cooldown", elapsed_ms=ms, limit_ms=most_ms, detail=waiting))
        time.sleep(min(LOOK_S, rule.limit_s - elapsed_s))
    phase = Phase(name="cooldown", duration_ms=1e3 * elapsed_s)
    if warmest is not None and warmest <= rule.temperature_c:
        return Cooled(phase, ())
    message = "no GPU of this job reports its temperature, so there was no cooldown"
    if warmest is not None:
        waited = f"after {elapsed_s:.0f} s of waiting for {rule.temperature_c:g} °C"
        message = f"the GPU was at {warmest:.0f} °C {waited}"
    evidence = {"temperature_c": warmest, "wanted_c": rule.temperature_c, "waited_s": elapsed_s}
    return Cooled(phase, (Notice(code="W-COOLDOWN", message=message, evidence=evidence),))
