"""What a reading verb was given: a plan file, an engine, a folder of files, or a stored run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.model.environment import Device
    from enginescope.model.notice import Notice
    from enginescope.model.plan import Plan
    from enginescope.model.run import Artifact, Run
    from enginescope.model.timing import Profile
    from enginescope.model.tool_report import ToolReport

#: A stored run's own file.
_RUN_DOCUMENT = "run.json"
_SHOWN_NAMES = 8
#: So much of a file tells a plan's JSON from an engine.
_HEAD_BYTES = 4096


class Beside(NamedTuple):
    """The files named beside a plan; ``None``: the one that is named like it, if it is there."""

    profile: Path | None = None
    metadata: Path | None = None
    build_metadata: Path | None = None


NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSource:
    """One engine, as far as what was given tells of it.

    Attributes
    ----------
    kind : {"file", "folder", "run", "engine"}
        What was given.
    where : str
        The plan's or engine's file, or the run's id.
    name : str
    plan : Plan or None
    profile : Profile or None
    devices : tuple of Device
    report : ToolReport or None
    notices : tuple of Notice
        Of reading, or of the run.
    run : Run or None
        As stored, or as imported from the folder; `as_run` makes one of a plan file.
    artifacts : tuple of Artifact
        The files it was read from.
    """

    kind: Literal["file", "folder", "run", "engine"]
    where: str
    name: str
    plan: Plan | None = None
    profile: Profile | None = None
    devices: tuple[Device, ...] = ()
    report: ToolReport | None = None
    notices: tuple[Notice, ...] = ()
    run: Run | None = None
    artifacts: tuple[Artifact, ...] = ()

    @property
    def device_names(self) -> str | None:
        """The GPUs, each once."""
        return ", ".join(dict.fromkeys(one.name for one in self.devices)) or None

    @property
    def whole(self) -> tuple[str, float] | None:
        """Metric and mean in ms of whole requests: of the samples, else as the tool printed it."""
        from enginescope.analysis.run_view import RunView
        from enginescope.analysis.whole_request import whole_request

        return whole_request(RunView(self.as_run()))

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
            report=self.report,
            notices=self.notices,
            artifacts=self.artifacts,
        )
        return run_of_engine(facts)


def plan_source(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: Path | None = None
) -> PlanSource:
    """Return the one engine that `what` stands for; see `plan_sources`.

    Raises
    ------
    UsageError
        A folder holds several plans.
    """
    found = plan_sources(what, beside, store_folder=store_folder)
    if len(found) == 1:
        return found[0]
    names = ", ".join(sorted(one.name for one in found)[:_SHOWN_NAMES])
    raise UsageError(
        f"{what} holds {len(found)} plans", why=names, hint="give the plan's JSON file"
    )


def plan_sources(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: Path | None = None
) -> tuple[PlanSource, ...]:
    """Return the engines with a plan that `what` stands for; see `sources`.

    A run is returned whether it has a plan or not.

    Raises
    ------
    UsageError
        There is no plan in a folder.
    """
    found = sources(what, beside, store_folder=store_folder)
    planned = tuple(one for one in found if one.plan is not None or one.kind != "folder")
    if not planned:
        raise UsageError(
            f"{what} holds no plans",
            hint="give a folder with what trtexec --exportLayerInfo wrote",
        )
    return planned


def sources(
    what: str, beside: Beside = NOTHING_BESIDE, *, store_folder: Path | None = None
) -> tuple[PlanSource, ...]:
    """Return all that `what` stands for; a path goes before a run of the same name.

    Parameters
    ----------
    what : str
        A plan's JSON, with the files beside it that are named like it; an engine, where TensorRT
        is installed; a folder of files, for every engine in it; or a run: its folder, its
        ``run.json``, the beginning of its id, a tag, ``latest``, ``latest~2``.
    beside : Beside
        Files to read in place of those found beside a plan file.
    store_folder : Path, optional
        Where runs are looked for.

    Raises
    ------
    UsageError
        There is nothing of that name, or nothing in the folder; or files were named beside
        something else than a plan file.
    FormatError
        A file cannot be used.
    StoreError
        There is no such run, or several.
    MissingDependencyError, BackendError
        An engine cannot be asked here.
    """
    path = Path(what)
    is_run = path.name == _RUN_DOCUMENT or (path / _RUN_DOCUMENT).is_file()
    if path.is_file() and not is_run:
        return _of_any_file(path, beside)
    if any(beside):
        raise UsageError(
            "files beside a plan can only be named with a plan file",
            why=f"{what} is no plan file",
            hint="give the plan's JSON file",
        )
    if path.is_dir() and not is_run:
        return tuple(_of_folder(path))
    if path.suffix == ".json" and not path.exists():
        raise UsageError(f"{what} does not exist", hint="give a plan's JSON file, or a run")
    from enginescope.store.archive import Store

    return (_of_run(Store(store_folder).load(what)),)


def _of_any_file(path: Path, beside: Beside) -> tuple[PlanSource, ...]:
    from enginescope.formats.engine_file import is_engine_file
    from enginescope.formats.foreign_text import decode_text

    head = _head(path)
    text, _ = decode_text(head, path.name)
    if not text.lstrip().startswith(("{", "[")) and is_engine_file(head, path.suffix):
        from enginescope.cli.engine_source import engine_source

        return (engine_source(path, beside),)
    return (_of_plan_file(path, beside),)


def _head(path: Path) -> bytes:
    from enginescope.core.errors import FormatError

    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from error


def _of_plan_file(path: Path, beside: Beside) -> PlanSource:
    from enginescope.formats.plan_files import PlanFiles, read_plan_files

    read = read_plan_files(PlanFiles(plan=path, **beside._asdict()))
    report = read.report
    return PlanSource(
        kind="file",
        where=str(path),
        name=read.plan.name,
        plan=read.plan,
        profile=read.profile,
        devices=(report.device,) if report and report.device else (),
        report=report,
        notices=read.notices,
        artifacts=read.artifacts,
    )


def _of_folder(folder: Path) -> Iterable[PlanSource]:
    from enginescope.formats.importer import import_artifacts

    for run in import_artifacts([folder]).runs:
        file = next((one.path for one in run.artifacts if one.kind == "plan"), str(folder))
        yield _of_run(run, kind="folder", where=file)


def _of_run(
    run: Run, *, kind: Literal["folder", "run"] = "run", where: str | None = None
) -> PlanSource:
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
