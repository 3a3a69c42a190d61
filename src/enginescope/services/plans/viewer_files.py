"""What explore writes for viewers of models: Netron and Google's Model Explorer."""

from __future__ import annotations

from enginescope.analysis.graph.plan_viewer import explorer_graph, explorer_times, viewer_graph
from enginescope.analysis.onnx.onnx_export import model_explorer_data, node_notes
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import encode
from enginescope.formats.onnx.onnx_graph import annotated_onnx
from enginescope.formats.onnx.viewer_model import viewer_model
from enginescope.services.plans.explore_request import Explored, ExploreRequest


def _netron(explored: Explored, request: ExploreRequest) -> bytes:
    if request.context.onnx is None:
        return viewer_model(viewer_graph(_view(explored, "netron")))
    view = _matched(explored.context.view, "netron")
    assert view.onnx_map is not None
    return annotated_onnx(request.context.onnx, node_notes(view.onnx_map, view.plan))


def _model_explorer(explored: Explored, request: ExploreRequest) -> bytes:
    if request.context.onnx is None:
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
        raise UsageError(
            f"`{option}`",
            why=f"no layer of {view.plan.name} was made from a node of the model",
            hint="give the model that this engine was built from with `onnx`",
        )
    return view


def explorer_times_of(explored: Explored) -> bytes | None:
    """Return the node data for a plan in Model Explorer; ``None`` without layer times."""
    times = explorer_times(viewer_graph(_view(explored, "model_explorer")))
    return None if times is None else encode(times)


VIEWER_FILES = {"netron": _netron, "model_explorer": _model_explorer}
