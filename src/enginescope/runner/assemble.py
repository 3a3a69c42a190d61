"""A worker's end as a run."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from enginescope.backends.base import Measured
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_ms, format_significant
from enginescope.probe.environment import probe_environment
from enginescope.probe.host import shared_cores
from enginescope.records.notice import UNSTABLE_SHARE
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import Job
from enginescope.records.run.run import Artifact, OutcomeKind, Run
from enginescope.records.run.telemetry import CpuLoss
from enginescope.runner.isolate import LOG, Ended
from enginescope.runner.machine.gpu_condition import gpu_notices
from enginescope.runner.worker import FILES

#: From here on other processes are said to have taken part.
OTHER_LOAD_CORES = 0.1
#: Stolen time below this is hidden in the noise of the samples.
STEAL_PCT = 1.0


#: The generator is late if 1 % of the queries started later than this share of the service time.
LATE_SHARE = 0.05


def notices_of_run(run: Run) -> tuple[Notice, ...]:
    """Return the notices that the run's conditions call for; none for a run that failed."""
    if run.outcome.kind is not OutcomeKind.OK:
        return ()
    return (*_on_processor(run), *_on_timing(run), *gpu_notices(run), *_on_load(run))


def _on_processor(run: Run) -> Iterator[Notice]:
    host, loss = run.environment.host, run.cpu_loss or CpuLoss()
    if host.governor not in (None, "performance"):
        message = f"the CPU frequency governor is {host.governor}, not performance"
        yield Notice(code="W-GOVERNOR", message=message, evidence={"governor": host.governor})
    other, cores = run.other_load_cores, host.cores_logical
    if other is not None and other >= OTHER_LOAD_CORES:
        of = f" of {cores}" if cores else ""
        unstable = other >= UNSTABLE_SHARE * (cores or 1)
        message = f"other programs kept {other:.1f}{of} cores busy"
        if unstable:
            message = f"busy machine: {message}; measure again when the machine is idle"
        evidence = {"other_cores": other, "cores": cores, "unstable": unstable}
        yield Notice(code="W-LOAD", message=message, evidence=evidence)
    if loss.steal_pct is not None and loss.steal_pct >= STEAL_PCT:
        took = f"stolen CPU time: the hypervisor took {loss.steal_pct:.1f} %"
        message = f"{took}; use a machine with dedicated cores"
        yield Notice("W-STEAL", message, {"steal_pct": loss.steal_pct})
    if loss.throttled_periods:
        of = f" of {loss.periods:,}" if loss.periods else ""
        stopped = f", its threads for {loss.throttled_ms:,.0f} ms" if loss.throttled_ms else ""
        periods = f"{loss.throttled_periods:,}{of} periods"
        message = f"the container was stopped by its CPU quota in {periods}{stopped}"
        fields = ("throttled_periods", "periods", "throttled_ms")
        yield Notice("W-CPU-QUOTA", message, {name: getattr(loss, name) for name in fields})
    shared = shared_cores(run.job.conditions.pinned_cores)
    if shared:
        groups = "; ".join(" and ".join(map(str, group)) for group in shared)
        message = f"pinned threads of one physical core ({groups}) share its units"
        yield Notice("W-SMT-SIBLINGS", message, {"groups": [list(group) for group in shared]})


def _on_timing(run: Run) -> Iterator[Notice]:
    warmup, stop, rule = run.warmup, run.stop, run.job.workload.stop
    if warmup is not None and warmup.ended_by == "limit":
        spent = f"{warmup.iterations:,} warm-up iterations ({warmup.duration_ms / 1e3:.1f} s)"
        evidence = {"iterations": warmup.iterations, "duration_ms": warmup.duration_ms}
        yield Notice("W-WARMUP", f"still not steady after {spent}", evidence)
    if stop is not None and stop.rule == "hard_limit":
        few = f"only {stop.iterations} of at least {rule.min_samples} samples"
        message = f"{few} in {stop.duration_ms / 1e3:.0f} s; a longer --max-time gives more"
        evidence = {"samples": stop.iterations, "wanted": rule.min_samples}
        yield Notice("W-STOPPED-SHORT", message, evidence)
    if stop is not None and stop.rule == "max_time" and rule.precision_pct is not None:
        half = stop.half_width_pct
        reached = "not known" if half is None else f"±{half:.2g} %"
        goal = f"{reached}, the goal is ±{rule.precision_pct:g} %; a longer --max-time narrows it"
        ended = f"stopped at --max-time after {stop.duration_ms / 1e3:.3g} s"
        message = f"{ended}: the 95 % interval of the median is {goal}"
        goal_pct = rule.precision_pct
        yield Notice("I-SHORT-OF-GOAL", message, {"half_width_pct": half, "goal_pct": goal_pct})


def _on_load(run: Run) -> Iterator[Notice]:
    rule, outcome, service = run.job.load, run.load, run.series("service")
    lateness = run.series("lateness")
    if lateness is not None and service is not None and len(service):
        p99_ms = float(np.percentile(lateness.values_ms, 99))
        share = p99_ms / float(np.median(service.values_ms))
        part = f"{format_significant(share, 2)} ×" if share >= 1 else f"{100 * share:.0f} % of"
        if share > LATE_SHARE:
            message = (
                "the load generator was late: 1 % of the queries started "
                f"{format_ms(p99_ms, 2)} or more after they could ({part} the median service "
                "time); measure again on an idle machine, or with fewer workers"
            )
            yield Notice("W-LATE", message, {"p99_ms": p99_ms, "share_pct": 100 * share})
    if outcome is None:
        return
    if service is not None and rule is not None and outcome.rate_per_s is not None:
        served_per_s = rule.workers * 1e3 / float(service.values_ms.mean())
        workers = "1 worker serves" if rule.workers == 1 else f"{rule.workers} workers serve"
        if outcome.rate_per_s >= served_per_s:
            arrive = f"{format_significant(outcome.rate_per_s)} queries/s arrive"
            grows = "the queue grows, so latency depends on the length of the test; lower --rate"
            message = f"{arrive} and {workers} {format_significant(served_per_s)}/s: {grows}"
            evidence = {"rate_per_s": outcome.rate_per_s, "served_per_s": served_per_s}
            yield Notice("W-OVERLOAD", message, evidence)
    if outcome.unserved:
        waiting = f"{outcome.unserved:,} of {outcome.planned:,} queries were still waiting"
        slow = "they count as slower than any limit, and the percentiles leave them out"
        evidence = {"unserved": outcome.unserved, "planned": outcome.planned}
        yield Notice("W-UNSERVED", f"{waiting} when the test ended; {slow}", evidence)
    if outcome.failed:
        failed = f"{outcome.failed:,} of {outcome.planned:,} queries failed"
        evidence = {"failed": outcome.failed, "planned": outcome.planned}
        yield Notice("W-QUERIES-FAILED", f"{failed}, the first with: {outcome.error}", evidence)


#: What a text of a backend is, by the end of its name.
_KINDS = (
    (".graph.json", "plan"),
    (".profile.json", "trtexec_profile"),
    (".timing.json", "trtexec_times"),
    (".build.log", "build_log"),
    (".log", "tool_log"),
)


#: Fields of a run that are the backend's as they are; the worker knows the others better.
_AS_MEASURED = {*Run.__struct_fields__} & {*Measured.__struct_fields__} - {
    "phases",
    "peak_memory_bytes",
}


def assemble(job: Job, ended: Ended, folder: Path) -> Run:
    """Return the run of `job`, whose worker left its files in `folder`; not yet dated."""
    result = ended.result
    measured = result.measured if result else Measured()
    environment = result.environment if result else probe_environment()
    if not environment.devices:
        environment = replace(environment, devices=measured.devices)
    batch = measured.batch or job.workload.batch
    workload = replace(job.workload, batch=batch, mode=measured.mode or job.workload.mode)
    run = Run(
        id=secrets.token_hex(6),
        created="",
        origin="measured",
        job=replace(job, workload=workload),
        outcome=ended.outcome,
        environment=environment,
        phases=result.phases if result else (),
        telemetry=ended.memory,
        peak_memory_bytes=result.peak_memory_bytes if result else None,
        timer_resolution_ms=result.timer_resolution_ms if result else None,
        artifacts=_artifacts(folder),
        **{name: getattr(measured, name) for name in _AS_MEASURED},
    )
    notices: tuple[Notice, ...] = (*measured.notices, *notices_of_run(run))
    return replace(run, notices=notices)


def build_artifacts(report: BuildReport, *, with_plan: bool) -> tuple[Artifact, ...]:
    """Return the texts that lie beside a built engine.

    Args:
        with_plan: The plan too: a run that measured has one of its own, with the shapes of the run.
    """
    endings = (".build.log", ".build.metadata.json", *((".graph.json",) if with_plan else ()))
    return tuple(
        Artifact(kind=kind_of(file.name), path=str(file))
        for file in sorted(Path(report.engine).parent.iterdir())
        if file.name.endswith(endings)
    )


def kind_of(name: str) -> str:
    """Return what a text is, by its name."""
    if name.endswith(".metadata.json"):
        return "trex_metadata"
    return next((kind for end, kind in _KINDS if name.endswith(end)), "text")


def _artifacts(folder: Path) -> tuple[Artifact, ...]:
    files = sorted((folder / FILES).iterdir()) if (folder / FILES).is_dir() else []
    found = [Artifact(kind=kind_of(file.name), path=str(file)) for file in files]
    log = folder / LOG
    if log.exists() and log.stat().st_size > 0:
        found.append(Artifact(kind="worker_log", path=str(log)))
    return tuple(found)
