"""One engine, as far as what was given tells of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from enginescope.analysis.whole_request import WholeRequest
    from enginescope.formats.exported_times import ExportedTimes
    from enginescope.model.environment import Device
    from enginescope.model.notice import Notice
    from enginescope.model.plan import Plan
    from enginescope.model.run import Artifact, Run
    from enginescope.model.timing import Profile
    from enginescope.model.tool_report import ToolReport

#: Is told what takes long, and what is left out.
Say: TypeAlias = Callable[[str], None]
Kind: TypeAlias = Literal["file", "engine", "folder", "archive", "run"]


class Beside(NamedTuple):
    """The files named beside a plan; ``None``: the one that is named like it, if it is there."""

    profile: Path | None = None
    metadata: Path | None = None
    build_metadata: Path | None = None


NOTHING_BESIDE = Beside()


def silent(_text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSource:
    """One engine, as far as what was given tells of it.

    Attributes
    ----------
    kind : {"file", "engine", "folder", "archive", "run"}
        What was given.
    where : str
        The plan's or engine's file, or the run's id.
    name : str
    plan : Plan or None
    profile : Profile or None
    times : ExportedTimes or None
        Of whole requests, from a file beside the plan; a run has its own.
    devices : tuple of Device
    report : ToolReport or None
    notices : tuple of Notice
        Of reading, or of the run.
    run : Run or None
        As stored, or as imported from the folder; `as_run` makes one of a plan file.
    artifacts : tuple of Artifact
        The files it was read from.
    """

    kind: Kind
    where: str
    name: str
    plan: Plan | None = None
    profile: Profile | None = None
    times: ExportedTimes | None = None
    devices: tuple[Device, ...] = ()
    report: ToolReport | None = None
    notices: tuple[Notice, ...] = ()
    run: Run | None = None
    artifacts: tuple[Artifact, ...] = ()

    @property
    def label(self) -> str:
        """What it is called in a message."""
        return f"run {self.where}" if self.kind == "run" else self.where

    @property
    def device_names(self) -> str | None:
        """The GPUs, each once."""
        return ", ".join(dict.fromkeys(one.name for one in self.devices)) or None

    @property
    def tensorrt_version(self) -> str | None:
        """The version that built or ran it, where a file or the run says so."""
        known = self.run.environment.versions.get("tensorrt") if self.run else None
        return known or (self.report.tool_version if self.report else None)

    @property
    def whole(self) -> WholeRequest | None:
        """Metric and mean in ms of whole requests: of the samples, else as the tool printed it."""
        from enginescope.analysis.run_view import RunView

        return RunView(self.as_run()).whole_request

    def of_profile(self, index: int) -> PlanSource:
        """Return the same with the layers and times of one optimisation profile, of several.

        Raises
        ------
        UsageError
            The plan has no such profile.
        """
        from enginescope.analysis.plan_profile import (
            of_plan_profile,
            plan_profiles,
            times_of_plan_profile,
        )

        if self.plan is None or not plan_profiles(self.plan):
            return self
        plan = of_plan_profile(self.plan, index)
        profile = times_of_plan_profile(self.profile, index) if self.profile else None
        run = self.run and msgspec.structs.replace(self.run, plan=plan, profile=profile)
        return replace(self, plan=plan, profile=profile, run=run)

    def as_run(self) -> Run:
        """Return the run; of a plan file an imported one, with the files it was read from."""
        if self.run is not None:
            return self.run
        from enginescope.formats.engine_run import EngineFacts, run_of_engine

        facts = EngineFacts(
            name=self.name,
            plan=self.plan,
            profile=self.profile,
            times=self.times,
            report=self.report,
            notices=self.notices,
            artifacts=self.artifacts,
        )
        return run_of_engine(facts)


def source_of_run(run: Run, *, kind: Kind = "run", where: str | None = None) -> PlanSource:
    """Return what a run tells of its engine.

    Parameters
    ----------
    where : str, optional
        By default its id.
    """
    return PlanSource(
        kind=kind,
        where=where or run.id,
        name=run.job.subject.name,
        plan=run.plan,
        profile=run.profile,
        devices=run.environment.devices,
        report=run.tool,
        notices=run.notices,
        run=run,
        artifacts=run.artifacts,
    )
