"""What to explore, which files to write, and the result.

What a user names with a plan: a GPU, an ONNX model, the log of the build.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.analysis.plans.plan_view import Exploration, ExploredLayer, PlanView
from enginescope.analysis.roofline.roofline import GpuLimits, limits_of, other_gpu
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.packed_files import plain_bytes
from enginescope.core.record import Record, Result, replace
from enginescope.formats.onnx.onnx_graph import onnx_graph_of_plan
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.run.job import StopRule, Workload
from enginescope.records.run.run import Run
from enginescope.services.plans.plan_input import NO_COMPANIONS, CompanionFiles, PlanInput, PlanName
from enginescope.store.location import StorePlace

if TYPE_CHECKING:
    from enginescope.formats.plan.overlay_file import Overlay
    from enginescope.records.plan.build_trace import BuildTrace
    from enginescope.records.run.passport import Passport
    from enginescope.render.graph.write.picture import Wish
    from enginescope.render.plans.plan_headline import PageSubject


V = TypeVar("V", bound=PlanView)
#: Layers matter more than the last digit of the latency.
BRIEF = Workload(stop=StopRule(max_time_ms=3_000.0, min_samples=20))


class ContextFiles(Record, frozen=True, kw_only=True):
    """Names of what a plan is compared with, as a user gives them."""

    gpu: str | GpuLimits | None = None
    onnx: Path | None = None
    build_log: Path | None = None
    overlay: Path | None = None


@dataclass(frozen=True, slots=True)
class PlanContext(Generic[V]):
    """What was read.

    Attributes:
        view: The plan with the GPU and the model; ``None`` where neither is named.
        notices: The GPU or the model differs from the plan's; or the log is incomplete.
    """

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


def read_context(source: PlanInput, files: ContextFiles, view: V | None) -> PlanContext[V]:
    """Read what is named with a plan.

    Args:
        view: Of the same plan; the context shares the tables that it has computed.
    """
    context, story, overlay = None, None, None
    notices: tuple[Notice, ...] = ()
    if files.gpu or files.onnx:
        if view is None:
            name = "gpu" if files.gpu else "onnx"
            why = "there are layer times and no plan to compare with it"
            raise UsageError(f"`{name}`", why=why)
        context = _view(view, files, source.devices)
        gpu = other_gpu(context.gpu, source.devices)
        notices += (*((gpu,) if gpu else ()), *_match_notices(context, files.onnx))
    if files.build_log:
        from enginescope.formats.build_log.build_log import build_story_of

        story, found = build_story_of(plain_bytes(files.build_log), files.build_log.name)
        notices += found
    if files.overlay:
        from enginescope.formats.plan.overlay_file import read_overlay

        if view is None:
            hint = "give a plan, or a run with layers"
            raise UsageError("overlay", why="no plan to color", hint=hint)
        data = plain_bytes(files.overlay)
        overlay, found = read_overlay(data, files.overlay.name, view.plan)
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


def _view(view: V, files: ContextFiles, devices: Sequence[Device]) -> V:
    graph = onnx_graph_of_plan(view.plan, files.onnx) if files.onnx else view.onnx
    gpu = limits_of(files.gpu, devices) if isinstance(files.gpu, str) else files.gpu
    return view.against(gpu, graph)


def _match_notices(view: PlanView, model: Path | None) -> tuple[Notice, ...]:
    from enginescope.analysis.onnx.onnx_map import onnx_match_notice

    if model is None or view.onnx_map is None:
        return ()
    notice = onnx_match_notice(view.plan, view.onnx_map, model.name)
    return (notice,) if notice else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreFiles:
    """Files to write; see `enginescope.explore`."""

    csv: Path | None = None
    xlsx: Path | None = None
    netron: Path | None = None
    model_explorer: Path | None = None
    perfetto: Path | None = None
    html: Path | None = None
    card: Path | None = None
    svg: Path | None = None
    png: Path | None = None

    def requested(self) -> dict[str, Path]:
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: path for name, path in every.items() if path is not None}


class ExploreRequest(Record, frozen=True, kw_only=True):
    """Which plan, what it is compared with, and which files to write; see `enginescope.explore`.

    Attributes:
        drawing: Options of the graph; ``None``: the defaults.
        on: Backend to measure the model or engine on; ``None``: the usual one of an ONNX model.
        workload: Of that measurement.
        is_stored: Store that run.
        command: Command line to record with it.
    """

    plan: PlanName
    companions: CompanionFiles = NO_COMPANIONS
    plan_profile: int = 0
    sort: str = "time"
    context: ContextFiles = ContextFiles()
    files: ExploreFiles = ExploreFiles()
    drawing: Wish | None = None
    on: str | None = None
    workload: Workload = BRIEF
    is_stored: bool = True
    store: StorePlace | None = None
    command: str | None = None

    @property
    def is_measured(self) -> bool:
        """Whether what to explore is a model that is measured first."""
        if not isinstance(self.plan, str | PathLike):
            return False
        return self.on is not None or Path(self.plan).suffix.lower() == ".onnx"


@dataclass(kw_only=True, eq=False, repr=False)
class Explored(Result):
    """Layers, times and notices of one optimization profile of a plan.

    Attributes:
        source: Without layer times of another build.
        page_source: With them: the page reports why it ignores them.
        layers: In the order of the request.
        view: ``None`` for layer times alone.
        files: Files that were written.
        passport: Of an engine: how it was built and measured.
    """

    source: PlanInput
    page_source: PlanInput
    found: Exploration
    layers: tuple[ExploredLayer, ...]
    view: PlanView | None
    context: PlanContext[PlanView]
    files: tuple[Path, ...] = ()
    passport: Passport | None = None

    @cached_property
    def subject(self) -> PageSubject:
        """The plan as pages, slides and the rules see it."""
        return page_subject(self.page_source.as_run(), self.context, self.view)

    @property
    def memory(self) -> MemoryView | None:
        """What fills the memory, and when; ``None`` where the plan does not tell its tensors."""
        return self.subject.memory

    @property
    def gpu(self) -> str | None:
        """The GPU that was named."""
        view = self.context.view
        return view.gpu.name if view is not None and view.gpu is not None else None

    @property
    def gpu_text(self) -> str | None:
        """The GPUs of the files or the run; where there are none, the named GPU, marked as such."""
        from enginescope.render.base.facts import given_gpu_text

        return self.source.device_names or (given_gpu_text(self.gpu) if self.gpu else None)

    @property
    def tensorrt_version(self) -> str | None:
        """The version that built or ran it, where a file, the run or the build's log names it."""
        story = self.context.story
        return self.source.tensorrt_version or (story.tensorrt_version if story else None)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the files or the run, and of what the plan was compared with."""
        return (*self.source.notices, *self.context.notices)

    def to_json(self, *, raw: bool = False) -> bytes:
        """Return everything as the document of ``enginescope explore --json``.

        Args:
            raw: Add each layer's fields as the plan's file has them.
        """
        return b"".join(self.json_parts(raw=raw))

    def json_parts(self, *, raw: bool = False) -> Iterator[bytes]:
        """Return the parts of the document, a layer at a time."""
        from enginescope.render.plans.explore_data import explore_json

        return explore_json(
            self.found,
            self.layers,
            device=self.source.device_names,
            tensorrt_version=self.tensorrt_version,
            notices=self.notices,
            more={**({"passport": self.passport} if self.passport else {}), **self.context.data()},
            raw=raw,
        )
