"""Explore: what a plan consists of and where its time goes, as tables and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import cast

from enginescope.analysis.graph.plan_viewer import explorer_graph, explorer_times, viewer_graph
from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.analysis.onnx.onnx_map import model_explorer_data, node_notes
from enginescope.analysis.plans.plan_view import Exploration, ExploredLayer, PlanView, ordered
from enginescope.analysis.plans.plan_view import explore as explore_plan
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import encode
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Result, copied, replace
from enginescope.formats.onnx.onnx_graph import annotated_onnx, viewer_model
from enginescope.judge.notice import Notice
from enginescope.records.run.passport import Passport
from enginescope.render.base.facts import given_gpu_text
from enginescope.render.plans.explore_data import explore_csv, explore_json, perfetto_trace
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.services.declared import path_of
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import check_outputs, write_file
from enginescope.services.plans import plan_input
from enginescope.services.plans.explore_request import BRIEF, ExploreRequest
from enginescope.services.plans.passport import PassportRequest, make_passport
from enginescope.services.plans.plan_input import PlanContext, PlanInput
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.services.store_access import place_of


def _netron(explored: Explored, request: ExploreRequest) -> bytes:
    if request.onnx is None:
        return viewer_model(viewer_graph(_view(explored, "netron")))
    view = _matched(explored.context.view, "netron")
    assert view.onnx_map is not None
    return annotated_onnx(Path(request.onnx), node_notes(view.onnx_map, view.plan))


def _model_explorer(explored: Explored, request: ExploreRequest) -> bytes:
    if request.onnx is None:
        return encode(explorer_graph(viewer_graph(_view(explored, "model_explorer"))))
    view = _matched(explored.context.view, "model_explorer")
    assert view.onnx_map is not None
    assert view.onnx is not None
    if all(cost.time_ms is None for cost in view.onnx_map.costs):
        hint = "`profile` FILE has the layers'"
        raise UsageError("`model_explorer`", why="no node has a time", hint=hint)
    return encode(model_explorer_data(view.onnx_map, view.onnx))


def _view(explored: Explored, option: str) -> PlanView:
    if explored.view is None:
        raise UsageError(f"`{option}`", why="there are layer times and no plan")
    return explored.view


def _matched(view: PlanView | None, option: str) -> PlanView:
    assert view is not None  # a model was named: check_options
    if view.onnx_map is None or not view.onnx_map.costs:
        why = f"no layer of {view.plan.name} was made from a node of the model"
        hint = "give the model that this engine was built from with `onnx`"
        raise UsageError(f"`{option}`", why=why, hint=hint)
    return view


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
        return plan_input.page_subject(self.page_source.as_run(), self.context, self.view)

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

        `raw` adds each layer's fields as the plan's file has them.
        """
        return b"".join(self.json_parts(raw=raw))

    def json_parts(self, *, raw: bool = False) -> Iterator[bytes]:
        """Return the parts of the document, a layer at a time."""
        passport = {"passport": self.passport} if self.passport else {}
        return explore_json(
            self.found,
            self.layers,
            device=self.source.device_names,
            tensorrt_version=self.tensorrt_version,
            notices=self.notices,
            more={**passport, **self.context.data()},
            raw=raw,
        )


def explore_and_write(request: ExploreRequest, observer: PlanObserver) -> Explored:
    """Look into a plan and write the files of a request; raises what `explore` raises."""
    check_options(request)
    companions = plan_input.CompanionFiles(
        path_of(request.profile), path_of(request.metadata), path_of(request.build_metadata)
    )
    named = [request.what] if isinstance(request.what, str | PathLike) else []
    check_outputs(request.files.values(), (*named, *companions, request.onnx, request.build_log))
    plan, place = cast("plan_input.PlanName", request.what), place_of(request.store)
    with gc_paused():
        explored = _explored(
            resolve_plan(plan, companions, store=place, observer=observer), request
        )
        explored.files = write_files(explored, request, observer)
    return explored


def check_options(request: ExploreRequest) -> None:
    """Raise where an option needs another one."""
    if request.drawing and not (request.svg or request.png):
        hint = "`svg` FILE or `png` FILE"
        raise UsageError(f"`{request.drawing[0]}`", why="it is of the drawing", hint=hint)
    if request.overlay is not None and request.html is None:
        raise UsageError("`overlay`", why="it colors the graph of the page", hint="`html` FILE")
    is_run = isinstance(request.what, RunView)  # which may have been measured for this request
    if request.workload != BRIEF and not (is_run or request.is_measured):
        what = "inputs and a time limit"
        why = f"{request.what} is not measured"
        raise UsageError(what, why=why, hint="an ONNX model is, and an engine with `on`")


def _explored(source: PlanInput, request: ExploreRequest) -> Explored:
    if source.plan is None and source.profile is None:
        why = next((one.message for one in source.notices if one.code == "W-NO-LAYERS"), None)
        hint = "enginescope bench measures layer times, except with --no-layers"
        raise UsageError(f"{source.label} has neither a plan nor layer times", why=why, hint=hint)
    own = source.with_own_times()
    page_source = own if own.profile else source
    del source  # its times as they were read are as large as those that are shown
    chosen = own.of_profile(request.plan_profile)
    whole, view = own.whole, None
    if chosen.plan is not None:
        view = PlanView(chosen.plan, chosen.profile, whole=whole)
    found = explore_plan(
        own.name, own.plan, own.profile, plan_profile=request.plan_profile, whole=whole, view=view
    )
    return Explored(
        source=chosen,
        page_source=chosen if page_source is own else page_source.of_profile(request.plan_profile),
        found=found,
        layers=ordered(found.layers, request.sort),
        view=view,
        context=plan_input.read_context(chosen, request, view),
        passport=_passport(own, request) if own.kind == "engine" else None,
    )


def _passport(source: PlanInput, request: ExploreRequest) -> Passport:
    made = make_passport(PassportRequest(file=Path(source.where), store=place_of(request.store)))
    own = tuple(notice for notice in made.notices if notice not in source.notices)
    return replace(made, notices=own)


def write_files(
    explored: Explored, request: ExploreRequest, observer: PlanObserver
) -> tuple[Path, ...]:
    requested = request.files
    for name, make in _MAKERS.items():
        if name in requested:
            write_file(requested[name], make(explored, request))
            observer.file_written(requested[name])
    if "model_explorer" in requested and request.onnx is None:
        times = explorer_times(viewer_graph(_view(explored, "model_explorer")))
        if times is not None:
            path = requested["model_explorer"].with_suffix(".times.json")
            write_file(path, encode(times))
            observer.file_written(path)
            requested["model_explorer_times"] = path
    if any(name in requested for name in ("svg", "png")):
        _draw(explored, request, observer)
    return tuple(requested.values())


def _xlsx(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.plans.explore_workbook import explore_workbook

    return explore_workbook(
        explored.found,
        explored.layers,
        explored.subject,
        device=explored.gpu_text,
        tensorrt_version=explored.tensorrt_version,
        notices=explored.notices,
    )


def _perfetto(explored: Explored, _: ExploreRequest) -> bytes:
    run = explored.source.as_run()
    if explored.found.time is None and run.trace is None and run.headline is None:
        why = "there are neither layer times nor requests"
        raise UsageError("`perfetto`", why=why, hint="`profile` FILE has the times of layers")
    return perfetto_trace(explored.found.name, explored.found.layers, run)


def _html(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.page.page import report_page

    return report_page([explored.subject])


def _card(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.html.answer_page import slide_png
    from enginescope.render.page.report import subject_slide

    return slide_png(subject_slide([explored.subject]))


def _draw(explored: Explored, request: ExploreRequest, observer: PlanObserver) -> None:
    from enginescope.render.graph.write.picture import DrawingOptions, Picture

    source = explored.source
    requested = {name: path for name, path in request.files.items() if name in ("svg", "png")}
    if source.plan is None:
        why = "there are layer times and no plan to compare with it"
        raise UsageError(f"`{next(iter(requested))}`", why=why)
    device = next(iter(source.devices), None)
    options = copied(DrawingOptions, request)
    picture = Picture(source.plan, source.profile, options, device=device)
    for name, path in requested.items():
        write_file(path, picture.png() if name == "png" else picture.svg().encode())
        observer.file_written(path)
    for notice in picture.notices:
        observer.notice(notice)


_MAKERS: dict[str, Callable[[Explored, ExploreRequest], bytes]] = {
    "csv": lambda explored, _: explore_csv(explored.layers),
    "xlsx": _xlsx,
    "netron": _netron,
    "model_explorer": _model_explorer,
    "perfetto": _perfetto,
    "html": _html,
    "card": _card,
}
