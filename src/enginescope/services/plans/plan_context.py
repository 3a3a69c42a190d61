"""What a user names with a plan: a GPU, an ONNX model, the log of the build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits, limits_of, other_gpu
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.services.plans.plan_input import PlanInput

if TYPE_CHECKING:
    from enginescope.records.notice import Notice
    from enginescope.records.plan.build_trace import BuildTrace
    from enginescope.records.run.run import Run
    from enginescope.render.plans.plan_headline import PageSubject


V = TypeVar("V", bound=PlanView)


class ContextFiles(Record, frozen=True, kw_only=True):
    """Names of what a plan is compared with, as a user gives them."""

    gpu: str | GpuLimits | None = None
    onnx: Path | None = None
    build_log: Path | None = None


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

    Raises:
        UsageError: The GPU is not known, or there is no plan to compare with it or with the model.
        FormatError: The model or the log cannot be read.
    """
    context, story = None, None
    notices: tuple[Notice, ...] = ()
    if files.gpu or files.onnx:
        if view is None:
            name = "gpu" if files.gpu else "onnx"
            why = "there are layer times and no plan to compare with it"
            raise UsageError(f"`{name}`", why=why)
        context = _view(view, files)
        gpu = other_gpu(context.gpu, source.devices)
        notices += (*((gpu,) if gpu else ()), *_match_notices(context, files.onnx))
    if files.build_log:
        from enginescope.formats.build_log.build_log import build_story_of

        story, found = build_story_of(files.build_log.read_bytes(), files.build_log.name)
        notices += found
    return PlanContext(context, story, notices)


def page_subject(
    run: Run, context: PlanContext[PlanView], plan_view: PlanView | None = None
) -> PageSubject:
    """Return a run as the page shows it, with what was read beside it."""
    from enginescope.render.plans.plan_headline import PageSubject

    run = msgspec.structs.replace(run, notices=(*run.notices, *context.notices))
    return PageSubject(
        RunView(run, plan_view=plan_view),
        gpu=context.view.gpu if context.view else None,
        onnx=context.view.onnx if context.view else None,
        story=context.story,
    )


def _view(view: V, files: ContextFiles) -> V:
    from enginescope.formats.onnx.onnx_graph import onnx_graph_of_plan

    graph = onnx_graph_of_plan(view.plan, files.onnx) if files.onnx else view.onnx
    gpu = limits_of(files.gpu) if isinstance(files.gpu, str) else files.gpu
    return view.against(gpu, graph)


def _match_notices(view: PlanView, model: Path | None) -> tuple[Notice, ...]:
    from enginescope.analysis.onnx.onnx_export import onnx_match_notice

    if model is None or view.onnx_map is None:
        return ()
    notice = onnx_match_notice(view.plan, view.onnx_map, model.name)
    return (notice,) if notice else ()
