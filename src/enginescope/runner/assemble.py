"""A worker's end as a run."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from enginescope.backends.base import Measured
from enginescope.model.build import BuildReport
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import Artifact, Run
from enginescope.probe.environment import probe_environment
from enginescope.runner.isolate import LOG, Ended
from enginescope.runner.notices import notices_of_run
from enginescope.runner.worker import FILES

#: What a text of a backend is, by the end of its name.
_KINDS = (
    (".graph.json", "plan"),
    (".profile.json", "trtexec_profile"),
    (".timing.json", "trtexec_times"),
    (".build.log", "build_log"),
    (".log", "tool_log"),
)


def assemble(job: Job, ended: Ended, folder: Path) -> Run:
    """Return the run of `job`, whose worker left its files in `folder`; not yet dated."""
    result = ended.result
    measured = result.measured if result else Measured()
    environment = result.environment if result else probe_environment()
    if not environment.devices:
        environment = msgspec.structs.replace(environment, devices=measured.devices)
    workload = msgspec.structs.replace(
        job.workload,
        batch=measured.batch or job.workload.batch,
        mode=measured.mode or job.workload.mode,
    )
    run = Run(
        id=secrets.token_hex(6),
        created="",
        origin="measured",
        job=msgspec.structs.replace(job, workload=workload),
        outcome=ended.outcome,
        environment=environment,
        phases=result.phases if result else (),
        inputs=measured.inputs,
        outputs=measured.outputs,
        samples=measured.samples,
        warmup=measured.warmup,
        stop=measured.stop,
        profile=measured.profile,
        plan=measured.plan,
        telemetry=ended.memory,
        gpu=measured.gpu,
        peak_memory_bytes=result.peak_memory_bytes if result else None,
        timer_resolution_ms=result.timer_resolution_ms if result else None,
        other_load_cores=measured.other_load_cores,
        cpu_loss=measured.cpu_loss,
        providers=measured.providers,
        placement=measured.placement,
        tool=measured.tool,
        wall_ms=measured.wall_ms,
        trace=measured.trace,
        build=measured.build,
        preparation=measured.preparation,
        arenas=measured.arenas,
        device_memory=measured.device_memory,
        answers=measured.answers,
        artifacts=_artifacts(folder),
    )
    run = msgspec.structs.replace(run, notices=measured.notices)
    notices: tuple[Notice, ...] = (*measured.notices, *notices_of_run(run))
    return msgspec.structs.replace(run, notices=notices)


def build_artifacts(report: BuildReport, *, with_plan: bool) -> tuple[Artifact, ...]:
    """Return the texts that lie beside a built engine.

    Parameters
    ----------
    with_plan : bool
        The plan too: a run that measured has one of its own, with the shapes of the run.
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
