"""The job that a command line of trtexec means."""

from __future__ import annotations

from pathlib import Path

from enginescope.compat.trtexec.settings import Settings, Timing, run_shapes
from enginescope.records.run.job import (
    BackendSpec,
    InputFile,
    Job,
    Limits,
    Mode,
    StopRule,
    Subject,
    WarmUp,
    Workload,
)

#: trtexec waits as long as a build takes; a week is as good as endless.
NO_TIMEOUT_S = 7 * 86_400.0


def job_of(settings: Settings, subject: Subject) -> Job:
    """Return the job.

    The warm-up lasts exactly its time, and comes before the duration. The loop ends when both the
    duration and the rounds are over; a round is one query of each stream.

    Args:
        subject: The model or engine; its kind is what the command line says, whatever the file's
            name.
    """
    reporting = settings.reporting
    return Job(
        subject=subject,
        backend=BackendSpec(name="trt", precision=settings.precision, options=settings.options),
        workload=Workload(
            shapes=run_shapes(settings),
            files=tuple(
                InputFile(name=one.name, path=str(Path(one.path).resolve()))
                for one in settings.files
            ),
            warmup=_warm_up(settings.timing),
            stop=_stop(settings),
            mode=_mode(settings.timing),
        ),
        layer_profile=(reporting.profile or reporting.profile_file is not None)
        and not settings.skip_inference,
        profile_mode="trtexec",
        limits=Limits(timeout_s=NO_TIMEOUT_S),
        keep_outputs=reporting.output or reporting.raw or reporting.output_file is not None,
    )


def _warm_up(timing: Timing) -> WarmUp:
    return WarmUp(time_ms=timing.warm_up_ms, iterations=0, limit_ms=timing.warm_up_ms)


def _stop(settings: Settings) -> StopRule:
    timing = settings.timing
    if settings.skip_inference:  # an engine is only loaded, and run once to be sure of it
        return StopRule(iterations=1, precision_pct=None)
    return StopRule(
        duration_ms=timing.duration_s * 1e3,
        min_iterations=timing.iterations * timing.streams,
        precision_pct=None,
    )


def _mode(timing: Timing) -> Mode:
    return Mode(
        kind="throughput",
        in_flight=1 if timing.expose_dma else 2,
        transfers=timing.transfers,
        cuda_graph=timing.cuda_graph,
        spin_wait=timing.spin_wait,
        streams=timing.streams,
        idle_ms=timing.idle_ms or None,
    )
