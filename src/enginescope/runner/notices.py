"""Notices about the conditions of a measured run; those about its samples are derived later."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.model.notice import Notice
from enginescope.model.run import OutcomeKind, Run
from enginescope.probe.affinity import shared_cores
from enginescope.runner.gpu_notices import GPU_RULES

#: From here on other processes are said to have taken part.
OTHER_LOAD_CORES = 0.1
#: Other work on this share of the processors moves clocks, caches and memory for all of them.
UNSTABLE_SHARE = 0.25
#: Stolen time below this is hidden in the noise of the samples.
STEAL_PCT = 1.0


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
    unstable = other >= UNSTABLE_SHARE * (cores or 1)
    message = f"other load on this machine: {other:.1f}{of} cores busy"
    return Notice(
        code="W-LOAD",
        message=f"unstable: {message}; measure again when it is idle" if unstable else message,
        evidence={"other_cores": other, "cores": cores, "unstable": unstable},
    )


def _steal(run: Run) -> Notice | None:
    share = run.cpu_loss.steal_pct if run.cpu_loss else None
    if share is None or share < STEAL_PCT:
        return None
    return Notice(
        code="W-STEAL",
        message=f"the hypervisor gave {share:.1f} % of the processor time that this machine asked "
        "for to other guests",
        evidence={"steal_pct": share},
    )


def _throttled(run: Run) -> Notice | None:
    loss = run.cpu_loss
    if loss is None or not loss.throttled_periods:
        return None
    of = f" of {loss.periods:,}" if loss.periods else ""
    stopped = f", its threads for {loss.throttled_ms:,.0f} ms" if loss.throttled_ms else ""
    return Notice(
        code="W-CPU-QUOTA",
        message=f"the container was stopped by its CPU quota in {loss.throttled_periods:,}{of} "
        f"periods{stopped}",
        evidence={
            "throttled_periods": loss.throttled_periods,
            "periods": loss.periods,
            "throttled_ms": loss.throttled_ms,
        },
    )


def _siblings(run: Run) -> Notice | None:
    shared = shared_cores(run.job.conditions.pinned_cores)
    if not shared:
        return None
    groups = "; ".join(" and ".join(map(str, group)) for group in shared)
    return Notice(
        code="W-SMT-SIBLINGS",
        message=f"--pin has threads of one physical core ({groups}), which share its units",
        evidence={"groups": [list(group) for group in shared]},
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


RULES: tuple[Callable[[Run], Notice | None], ...] = (
    _governor,
    _load,
    _steal,
    _throttled,
    _siblings,
    _warm_up,
    _stopped_short,
    *GPU_RULES,
)
