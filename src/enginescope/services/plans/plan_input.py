"""A plan with its layer times and origin, also of an engine; what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.layers import layer_sum
from enginescope.analysis.onnx.onnx_map import onnx_match_notice
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import GpuLimits, limits_of, other_gpu
from enginescope.analysis.runs.run_view import RunView
from enginescope.core import errors
from enginescope.core.packed_files import plain_bytes
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.core.units import format_bytes
from enginescope.formats.archive.engine_archive import (
    OPAQUE,
    RUN_DOCUMENT,
    TeaContents,
    extract_tea,
    read_tea,
)
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.importing.importer import Imported, import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_beside_engine, read_plan_files
from enginescope.formats.onnx.onnx_graph import onnx_graph_of_plan
from enginescope.formats.plan.engine_file import EngineHeader, header_of
from enginescope.formats.plan.overlay_file import Overlay, read_overlay
from enginescope.formats.trtexec.exported_times import ExportedTimes
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.run.run import Artifact, Run
from enginescope.services.declared import path_of
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.explore_request import ContextRequest
from enginescope.store.archive import load_path

if TYPE_CHECKING:
    from enginescope.render.plans.plan_headline import PageSubject

#: What stands for a plan: a path, a run's name, or a view.
PlanName: TypeAlias = str | PathLike[str] | RunView | PlanView
Kind: TypeAlias = Literal["file", "engine", "folder", "archive", "run", "view"]


class CompanionFiles(NamedTuple):
    """Files to read with a plan; ``None``: the file that is named like the plan, if any."""

    profile: Path | None = None
    metadata: Path | None = None
    build_metadata: Path | None = None


NO_COMPANIONS = CompanionFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """One engine: its plan, layer times and origin, as far as the input has them.

    Attributes:
        where: The plan's or engine's file, or the run's id.
        times: Of whole requests, from a file that is named like the plan; a run has its own.
        notices: Of reading, or of the run.
        run: As stored, or as imported from a folder; `as_run` makes one of a plan file.
        artifacts: The files it was read from.
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
        """The input's name in messages."""
        is_run = self.kind == "run" or (self.kind == "view" and self.run is not None)
        return f"run {self.where}" if is_run else self.where

    @property
    def device_names(self) -> str | None:
        return ", ".join(dict.fromkeys(device.name for device in self.devices)) or None

    @property
    def tensorrt_version(self) -> str | None:
        """Version that built or ran the engine, where a file or the run names it."""
        known = self.run.environment.versions.get("tensorrt") if self.run else None
        return known or (self.report.tool_version if self.report else None)

    @property
    def own_notices(self) -> tuple[Notice, ...]:
        """Notices of reading files; `bench` printed those of a stored run."""
        return self.notices if self.kind not in ("run", "view") else ()

    @property
    def whole(self) -> WholeRequest | None:
        """Metric and mean in ms of whole requests: of the samples, else as the tool printed it."""
        return RunView(self.as_run()).whole_request

    def with_own_times(self) -> PlanInput:
        """Return the input with the times of its layers; without those of another build."""
        run = RunView(self.as_run()).run
        if run.profile is self.profile:
            return self
        stored = run if self.run is not None else None
        return replace(self, profile=run.profile, notices=run.notices, run=stored)

    def of_profile(self, index: int) -> PlanInput:
        """Return the layers and times of one optimization profile, of several."""
        if self.plan is None or not layer_sum.plan_profiles(self.plan):
            return self
        plan = layer_sum.of_plan_profile(self.plan, index)
        profile = layer_sum.times_of_plan_profile(self.profile, index) if self.profile else None
        run = self.run and replace(self.run, plan=plan, profile=profile)
        return replace(self, plan=plan, profile=profile, run=run)

    def as_run(self) -> Run:
        """Return the run; of a plan file an imported run, with the files it was read from."""
        if self.run is not None:
            return self.run

        names = ("name", "plan", "profile", "times", "report", "notices", "artifacts")
        return run_of_engine(EngineFacts(**{name: getattr(self, name) for name in names}))

    def needed_plan(self) -> Plan:
        if self.plan is None:
            raise errors.UsageError(
                f"{self.label} has no plan",
                hint="measure with a backend that inspects its engine, as trt and trtexec do; "
                "trtexec writes a plan with --exportLayerInfo",
            )
        return self.plan


def input_of_run(run: Run, *, kind: Kind = "run", where: str | None = None) -> PlanInput:
    """Return a run as an input; `where` is by default the run's id."""
    return PlanInput(
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


def engine_input(
    path: Path, companions: CompanionFiles, observer: PlanObserver, *, label: str | None = None
) -> PlanInput:
    """Inspect an engine in a process of its own, and read the layer times beside the file.

    Messages call it `label`, by default its path.
    """
    read = read_beside_engine(path, PlanFiles(plan=path, **companions._asdict()))
    header = header_of(path)
    try:
        run = _inspected(path, label or str(path), observer)
    except (errors.MissingDependencyError, errors.BackendError) as error:
        if header is None or not header.is_rtx:
            raise
        return _beside_engine(path, companions, header, error)
    if run.plan is None:
        reasons = [notice for notice in run.notices if notice.code == "W-NO-PLAN"]
        why = reasons[0].evidence.get("why", reasons[0].message) if reasons else None
        hint = "build it without version_compatible=1; enginescope bench times its layers anyhow"
        raise errors.UsageError(f"{label or path} has no plan to inspect", why=why, hint=hint)
    times = read.times
    run = replace(
        run,
        profile=read.profile,
        samples=times.samples if times else run.samples,
        timer_resolution_ms=times.clock_step_ms if times else run.timer_resolution_ms,
        tool=read.report,
        notices=(*run.notices, *read.notices),
        artifacts=read.artifacts,
    )
    return input_of_run(run, kind="engine", where=str(path))


def _beside_engine(
    path: Path, companions: CompanionFiles, header: EngineHeader, error: errors.EnginescopeError
) -> PlanInput:
    """Return what an engine's header and the plan that its build wrote tell."""
    written = written_plan(path)
    why = str(error.__cause__ or error)
    told = f"{path.name}, {format_bytes(path.stat().st_size)}, was {header.text}"
    if written is None:
        raise errors.MissingDependencyError(told, why=why, hint=error.hint) from error
    read = read_plan_files(PlanFiles(plan=written, **companions._asdict()))
    message = f"{told}; its plan comes from {written.name}: {why}"
    evidence = {"version": header.version, "capabilities": list(header.compute_capabilities)}
    notice = Notice(code="I-LOGGED-PLAN", message=message, evidence=evidence)
    names = ("plan", "profile", "times", "report", "artifacts")
    return PlanInput(
        kind="engine",
        where=str(path),
        name=path.name,
        notices=(notice, *read.notices),
        **{name: getattr(read, name) for name in names},
    )


def _inspected(path: Path, label: str, observer: PlanObserver) -> Run:
    from enginescope.runner.inputs.collect_outputs import inspect_engine

    text = f"asking TensorRT about {label} …"
    try:
        return inspect_engine(path, on_started=lambda: observer.progress(text))
    except errors.MissingDependencyError as error:
        hint, written = error.hint, written_plan(path)
        if written is not None:
            hint = f"{hint}; or give {written}, next to it"
        why = f"looking into {path.name} needs it"
        raise errors.MissingDependencyError(error.what, why=why, hint=hint) from error


def written_plan(engine: Path) -> Path | None:
    """Return the JSON that was written of the engine, if it lies beside it."""
    names = (f"{engine.name}.graph.json", f"{engine.stem}.graph.json")
    return next((one for one in map(engine.with_name, names) if one.is_file()), None)


_SHOWN_NAMES = 8


class Unpacked(NamedTuple):
    """An archive's readable files, in a folder named like it that is gone later.

    `runs` are folders of stored runs; `files` are in none of them.
    """

    archive: Path
    folder: Path
    contents: TeaContents
    runs: tuple[Path, ...]
    files: tuple[Path, ...]

    def name_of(self, path: str | Path) -> str:
        """Return where a file is in the archive: ``net.tea/net.graph.json``."""
        return str(self.archive / Path(path).resolve().relative_to(self.folder.resolve()))

    def imported(self) -> Imported:
        """Return the runs in the files; none where there is nothing to read."""
        if not self.files:
            return Imported(runs=())
        try:
            found = import_artifacts(self.files)
        except errors.UsageError:  # nothing that is known: what else is there decides
            return Imported(runs=())
        skipped = tuple((self.name_of(path), reason) for path, reason in found.skipped)
        ledger = tuple(replace(entry, path=self.name_of(entry.path)) for entry in found.ledger)
        return Imported(runs=found.runs, skipped=skipped, ledger=ledger)


@contextmanager
def unpacked(archive: Path, observer: PlanObserver) -> Iterator[Unpacked]:
    """Unpack what can be read of an archive; engines and caches stay in it."""
    contents = read_tea(archive)
    if contents.unlisted:
        observer.warn(f"{archive}: not in its manifest: {', '.join(contents.unlisted)}")
    with temporary_folder() as top:
        folder = top / (archive.stem or "archive")
        paths = extract_tea(archive, folder, lambda one: one.kind not in OPAQUE)
        runs = tuple(path.parent for path in paths if path.name == RUN_DOCUMENT)
        files = tuple(path for path in paths if not any(path.is_relative_to(run) for run in runs))
        yield Unpacked(archive, folder, contents, runs, files)


def archive_inputs(archive: Path, observer: PlanObserver) -> tuple[PlanInput, ...]:
    """Return an input for each engine in an archive.

    TensorRT inspects an engine only where the archive has no plan of it.
    """
    with unpacked(archive, observer) as found:
        runs = [(load_path(one), one / RUN_DOCUMENT) for one in found.runs]
        sources = [
            input_of_run(run, kind="archive", where=found.name_of(document))
            for run, document in runs
        ]
        for run in found.imported().runs:
            plan = next(
                (artifact.path for artifact in run.artifacts if artifact.kind == "plan"), None
            )
            where = found.name_of(plan) if plan else str(archive)
            sources.append(input_of_run(run, kind="archive", where=where))
        if not any(source.plan for source in sources):
            try:
                sources = [*inspected_engines(found, observer)] or sources
            except errors.MissingDependencyError as error:
                if not sources:
                    raise
                observer.warn(f"{error}; {error.hint}")
    if not sources:
        raise nothing_in(archive, found.contents)
    return tuple(sources)


def nothing_in(archive: Path, contents: TeaContents) -> errors.UsageError:
    """Return the error for an archive in which nothing can be read."""
    names = [entry.name for entry in contents.entries]
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    why = f"it has {', '.join(names[:_SHOWN_NAMES]) or 'no files'}{more}"
    hint = "archives hold plans, layer times, logs, runs, or an engine"
    return errors.UsageError(f"{archive} holds nothing that can be read", why=why, hint=hint)


def inspected_engines(found: Unpacked, observer: PlanObserver) -> Iterator[PlanInput]:
    names = {entry.name for entry in found.contents.entries if entry.kind == "engine"}
    for path in extract_tea(found.archive, found.folder, lambda one: one.name in names):
        where = found.name_of(path)
        source = engine_input(path, NO_COMPANIONS, observer, label=where)
        # trex calls every engine so
        name = found.archive.stem if path.name == "engine.trt" else source.name
        yield replace(source, kind="archive", where=where, name=name)


V = TypeVar("V", bound=PlanView)


@dataclass(frozen=True, slots=True)
class PlanContext(Generic[V]):
    """The plan with the GPU or model, if named; what differs, or is not complete in a log."""

    view: V | None = None
    story: BuildTrace | None = None
    notices: tuple[Notice, ...] = ()
    overlay: Overlay | None = None

    def data(self) -> dict[str, Any]:
        """Return what was read, for a JSON document: ``roofline``, ``onnx``, ``build``."""
        from enginescope.render.plans.explore_data import build_data, onnx_data, roofline_data

        data: dict[str, Any] = {}
        if self.view is not None and self.view.gpu is not None:
            data["roofline"] = roofline_data(self.view)
        if self.view is not None and self.view.onnx is not None:
            data["onnx"] = onnx_data(self.view)
        if self.story is not None:
            data["build"] = build_data(self.story)
        return data


def read_context(
    source: PlanInput, files: ContextRequest, view: V | None, limits: GpuLimits | None = None
) -> PlanContext[V]:
    """Read what is named with a plan; `limits` of a GPU are in place of its name.

    The context shares the tables that `view` has computed.
    """
    context, story, overlay = None, None, None
    notices: tuple[Notice, ...] = ()
    onnx = path_of(files.onnx)
    if files.gpu or limits or onnx:
        if view is None:
            name = "gpu" if files.gpu else "onnx"
            why = "there are layer times and no plan to compare with it"
            raise errors.UsageError(f"`{name}`", why=why)
        graph = onnx_graph_of_plan(view.plan, onnx) if onnx else view.onnx
        context = view.against(limits_of(files.gpu, source.devices) if files.gpu else limits, graph)
        match = None
        if onnx and context.onnx_map is not None:
            match = onnx_match_notice(context.plan, context.onnx_map, onnx.name)
        notices += tuple(filter(None, (other_gpu(context.gpu, source.devices), match)))
    if files.build_log:
        path = Path(files.build_log)
        story, found = build_story_of(plain_bytes(path), path.name)
        notices += found
    if files.overlay:
        if view is None:
            hint = "give a plan, or a run with layers"
            raise errors.UsageError("overlay", why="no plan to color", hint=hint)
        path = Path(files.overlay)
        overlay, found = read_overlay(plain_bytes(path), path.name, view.plan)
        notices += found
    return PlanContext(context, story, notices, overlay)


def page_subject(
    run: Run, context: PlanContext[PlanView], plan_view: PlanView | None = None
) -> PageSubject:
    """Return a run as the page shows it, with what was read beside it."""
    from enginescope.render.plans.plan_headline import PageSubject

    run = replace(run, notices=(*run.notices, *context.notices))
    return PageSubject(
        RunView(run, plan_view=plan_view),
        gpu=context.view.gpu if context.view else None,
        onnx=context.view.onnx if context.view else None,
        story=context.story,
        overlay=context.overlay,
    )
