"""Runs of one job over days, with planted changes."""

from collections.abc import Sequence

import numpy as np

from enginescope.core.record import replace
from enginescope.records.environment import Commit, Device, Environment, Host
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from tests.analysis.gated_runs import job, process

H200 = Device(name="NVIDIA H200", driver="570.10")


def over_days(
    medians: Sequence[float],
    *,
    of: Job | None = None,
    noise: float = 0.004,
    seed: int = 0,
    environments: dict[int, Environment] | None = None,
    first: int = 0,
    **more,
) -> list[Run]:
    """A run a day, with a commit of its own; from each place in `environments` on, that one."""
    draw = np.random.default_rng(seed)
    runs, environment = [], Environment(host=Host(name="bench-1", cpu_model="Xeon"))
    for at, median_ms in enumerate(medians):
        environment = (environments or {}).get(at, environment)
        day = first + at
        runs.append(
            process(
                float(median_ms * np.exp(noise * draw.standard_normal())),
                day,
                of=of or job(),
                created=f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:00.000000+00:00",
                environment=replace(environment, commit=Commit(id=f"{day:07x}abcdef")),
                **more,
            )
        )
    return runs


def host(**versions: str) -> Environment:
    """The usual machine with other versions."""
    return Environment(host=Host(name="bench-1", cpu_model="Xeon"), versions=versions)
