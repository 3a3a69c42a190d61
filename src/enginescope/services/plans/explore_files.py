"""The files that explore writes: tables, a page, graphs, and times for viewers of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from enginescope.core.errors import UsageError
from enginescope.services.output_files import write_file
from enginescope.services.plans.observer import PlanObserver

if TYPE_CHECKING:
    from enginescope.analysis.plans.plan_view import PlanView
    from enginescope.render.plans.workbook import Sheet
    from enginescope.rules.base import Finding
    from enginescope.services.plans.explore_request import Explored, ExploreRequest


def write_files(
    explored: Explored, request: ExploreRequest, observer: PlanObserver
) -> tuple[Path, ...]:
    """Write the files of a request, and return their paths.

    Raises:
        UsageError: A file cannot be written, or the plan or the model has nothing to write.
        MissingDependencyError: A package that writes the format is not installed.
    """
    requested = request.files.requested()
    for name, make in _MAKERS.items():
        if name in requested:
            write_file(requested[name], make(explored, request))
            observer.file_written(requested[name])
    if "model_explorer" in requested and request.context.onnx is None:
        requested |= _write_times(explored, requested["model_explorer"], observer)
    if any(name in requested for name in ("svg", "png", "dot")):
        _draw(explored, request, observer)
    return tuple(requested.values())


def _write_times(explored: Explored, graph: Path, observer: PlanObserver) -> dict[str, Path]:
    """Write the node data beside a graph for Model Explorer, if its layers have times."""
    from enginescope.analysis.graph.plan_viewer import explorer_times, viewer_graph
    from enginescope.core.jsonio import encode

    times = explorer_times(viewer_graph(_view(explored, "model_explorer")))
    if times is None:
        return {}
    path = graph.with_suffix(".times.json")
    write_file(path, encode(times))
    observer.file_written(path)
    return {"model_explorer_times": path}


def _csv(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.plans.explore_data import explore_csv

    return explore_csv(explored.layers)


def _xlsx(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.plans.explore_workbook import explore_workbook

    return explore_workbook(
        explored.found,
        explored.layers,
        device=explored.gpu_text,
        tensorrt_version=explored.tensorrt_version,
        notices=explored.notices,
        findings=_findings(explored),
        more=_sheets(explored.context.view),
    )


def _sheets(view: PlanView | None) -> tuple[Sheet, ...]:
    if view is None:
        return ()
    from enginescope.render.plans.limit_rows import nodes_sheet, roofline_sheet

    sheets = (roofline_sheet(view), nodes_sheet(view))
    return tuple(sheet for sheet in sheets if sheet is not None)


def _findings(explored: Explored) -> tuple[Finding, ...] | None:
    """Return what the rules find, on the GPU that was named as on the page."""
    if explored.source.plan is None:
        return None
    from enginescope.records.environment import Device
    from enginescope.rules.engine import lint
    from enginescope.services.plans.lint import lint_input

    subject = lint_input(explored.source)
    if explored.gpu is not None:
        subject = msgspec.structs.replace(subject, device=Device(name=explored.gpu))
    return lint(subject).findings


def _netron(explored: Explored, request: ExploreRequest) -> bytes:
    if request.context.onnx is None:
        from enginescope.analysis.graph.plan_viewer import viewer_graph
        from enginescope.formats.onnx.viewer_model import viewer_model

        return viewer_model(viewer_graph(_view(explored, "netron")))
    from enginescope.analysis.onnx.onnx_export import node_notes
    from enginescope.formats.onnx.onnx_graph import annotated_onnx

    view = _matched(explored.context.view, "netron")
    assert view.onnx_map is not None
    return annotated_onnx(request.context.onnx, node_notes(view.onnx_map, view.plan))


def _model_explorer(explored: Explored, request: ExploreRequest) -> bytes:
    from enginescope.core.jsonio import encode

    if request.context.onnx is None:
        from enginescope.analysis.graph.plan_viewer import explorer_graph, viewer_graph

        return encode(explorer_graph(viewer_graph(_view(explored, "model_explorer"))))
    from enginescope.analysis.onnx.onnx_export import model_explorer_data

    view = _matched(explored.context.view, "model_explorer")
    assert view.onnx_map is not None
    assert view.onnx is not None
    if all(cost.mean_ms is None for cost in view.onnx_map.costs):
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
        raise UsageError(
            f"`{option}`",
            why=f"no layer of {view.plan.name} was made from a node of the model",
            hint="give the model that this engine was built from with `onnx`",
        )
    return view


def _html(explored: Explored, _: ExploreRequest) -> bytes:
    from enginescope.render.page.page import report_page
    from enginescope.services.plans.explore_request import page_subject

    run = explored.page_source.as_run()
    return report_page([page_subject(run, explored.context, explored.view)])


def _draw(explored: Explored, request: ExploreRequest, observer: PlanObserver) -> None:
    """Write the graph in each requested format."""
    from enginescope.render.graph.write.picture import Picture

    files, source = request.files, explored.source
    makers: dict[str, Callable[[], bytes]] = {
        "svg": lambda: picture.svg().encode(),
        "png": lambda: picture.png(request.png_scale),
        "dot": lambda: picture.dot().encode(),
    }
    requested = {name: path for name, path in files.requested().items() if name in makers}
    if source.plan is None:
        why = "there are layer times and no plan to compare with it"
        raise UsageError(f"`{next(iter(requested))}`", why=why)
    device = next(iter(source.devices), None)
    picture = Picture(source.plan, source.profile, request.drawing, device=device)
    for name, path in requested.items():
        write_file(path, makers[name]())
        observer.file_written(path)
    for notice in picture.notices:
        observer.notice(notice)


_MAKERS: dict[str, Callable[[Explored, ExploreRequest], bytes]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "netron": _netron,
    "model_explorer": _model_explorer,
    "html": _html,
}
