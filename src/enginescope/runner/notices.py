"""Notices about the conditions of a measured run; those about its samples are derived later."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.model.notice import Notice
from enginescope.model.run import OutcomeKind, Run

#: From here on other processes are said to have taken part.
OTHER_LOAD_CORES = 0.1


def notices_of_run(run: Run) -> tuple[Notice, ...]:
    """Return the notices that the run's conditions call for; none for a run that failed."""
    if run.outcome.kind is not OutcomeKind.OK:
        return ()
    found = (rule(run) for rule in RULES)
    return tuple(notice for notice in found if notice is not None)


def _governor(run: Run) -> Notice | None:
    governor = run.environment.host.governor
    if governor in (None, "performance"):
        return None
    return Notice(
        code="W-GOVERNOR",
        message=f"the CPU frequency governor is {governor}, not performance",
        evidence={"governor": governor},
    )


def _load(run: Run) -> Notice | None:
    other, cores = run.other_load_cores, run.environment.host.cores_logical
    if other is None or other < OTHER_LOAD_CORES:
        return None
    of = f" of {cores}" if cores else ""
    return Notice(
        code="W-LOAD",
        message=f"other load on this machine: {other:.1f}{of} cores busy",
        evidence={"other_cores": other, "cores": cores},
    )


def _warm_up(run: Run) -> Notice | None:
    if run.warmup is None or run.warmup.ended_by != "limit":
        return None
    return Notice(
        code="W-WARMUP",
        message=f"still not steady after {run.warmup.iterations:,} warm-up iterations "
        f"({run.warmup.duration_ms / 1e3:.1f} s)",
        evidence={
            "iterations": run.warmup.iterations,
            "duration_ms": run.warmup.duration_ms,
        },
    )


def _stopped_short(run: Run) -> Notice | None:
    if run.stop is None or run.stop.rule != "hard_limit":
        return None
    rule = run.job.workload.stop
    return Notice(
        code="W-STOPPED-SHORT",
        message=f"only {run.stop.iterations} of at least {rule.min_samples} samples in "
        f"{run.stop.duration_ms / 1e3:.0f} s; a longer --max-time gives more",
        evidence={"samples": run.stop.iterations, "wanted": rule.min_samples},
    )


RULES: tuple[Callable[[Run], Notice | None], ...] = (_governor, _load, _warm_up, _stopped_short)
