"""What files say of one engine, as a run."""

from __future__ import annotations

import secrets
from datetime import datetime, timezone
from typing import Any

from enginescope.core.record import Record
from enginescope.formats.importing.import_options import engine_path, precision_of, workload_of
from enginescope.formats.trtexec.exported_times import ExportedTimes
from enginescope.records.environment import Environment
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.timing import Profile
from enginescope.records.plan.tool_report import ToolReport
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Run
from enginescope.records.run.tensor_values import TensorValues


class EngineFacts(Record, frozen=True, kw_only=True, eq=False):
    """What was read of one engine.

    Attributes:
        report: Of logs and metadata together.
        artifacts: The files where they lie.
        answers: Values of the outputs.
    """

    name: str
    plan: Plan | None = None
    profile: Profile | None = None
    times: ExportedTimes | None = None
    report: ToolReport | None = None
    notices: tuple[Notice, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    answers: tuple[TensorValues, ...] = ()


def run_of_engine(facts: EngineFacts) -> Run:
    """Return an imported run of trtexec."""
    report, plan, times = facts.report, facts.plan, facts.times
    devices = (report.device,) if report and report.device else ()
    versions = {"tensorrt": report.tool_version} if report and report.tool_version else {}
    return Run(
        **new_identity(),
        job=Job(
            subject=Subject(name=facts.name, kind="engine", path=engine_path(report)),
            backend=BackendSpec(name="trtexec", precision=precision_of(report)),
            workload=workload_of(report, plan),
            layer_profile=facts.profile is not None,
        ),
        outcome=_outcome(report),
        environment=Environment(devices=devices, versions=versions),
        command=report.command if report else None,
        inputs=tuple(one.tensor for one in plan.inputs) if plan else (),
        outputs=tuple(output.tensor for output in plan.outputs) if plan else (),
        samples=times.samples if times else (),
        timer_resolution_ms=times.clock_step_ms if times else None,
        profile=facts.profile,
        plan=plan,
        tool=report,
        notices=facts.notices,
        artifacts=facts.artifacts,
        answers=facts.answers,
    )


def new_identity() -> dict[str, Any]:
    """Return what an imported run is known by."""
    now = datetime.now(timezone.utc)
    return {
        "id": secrets.token_hex(6),
        "created": now.isoformat(timespec="microseconds"),
        "origin": "imported",
    }


def _outcome(report: ToolReport | None) -> Outcome:
    if report is None or report.passed is not False:
        return Outcome()
    errors = [message.text for message in report.messages if message.level != "warning"]
    return Outcome(
        kind=OutcomeKind.FAILED,
        message=errors[0] if errors else f"{report.tool} says FAILED",
        detail="\n".join(errors) or None,
    )
