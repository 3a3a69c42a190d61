"""Waiting between jobs until the GPU is cool."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from enginescope.judge.notice import Notice
from enginescope.probe.nvml import gpu_temperature_c
from enginescope.records.progress import Progress
from enginescope.records.run.job import Cooldown, Job
from enginescope.records.run.run import Phase
from enginescope.runner.machine.gpu_notices import gpus_of

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
