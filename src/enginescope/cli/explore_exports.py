"""The plan as files for other programs: spreadsheets, Netron, Model Explorer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
import msgspec

from enginescope.cli.outputs import write_output
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.exploration import Exploration, ExploredLayer
    from enginescope.analysis.plan_view import PlanView
    from enginescope.cli.explore_more import More
    from enginescope.plan_source import PlanSource
    from enginescope.render.workbook import Sheet
    from enginescope.rules.base import Finding

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--csv", "csv_file", type=_FILE, help="Layers to FILE."),
    click.option("--xlsx", "xlsx_file", type=_FILE, help="All tables to FILE, for Excel."),
    click.option(
        "--netron", "netron_file", type=_FILE, help="The model of --onnx with times, for Netron."
    ),
    click.option(
        "--model-explorer",
        "model_explorer_file",
        type=_FILE,
        help="Times of the nodes of --onnx, for Model Explorer.",
    ),
)
_OF_MODEL = {"netron_file": "--netron", "model_explorer_file": "--model-explorer"}


class Explored(NamedTuple):
    """What was found: of one optimisation profile, the layers in the order asked for."""

    source: PlanSource
    found: Exploration
    layers: tuple[ExploredLayer, ...]
    more: More

    @property
    def gpu_text(self) -> str | None:
        """The GPUs of the files or the run; where there are none the one given, said to be so."""
        from enginescope.render.facts import given_gpu_text

        given = _named_gpu(self.more)
        return self.source.device_names or (given_gpu_text(given) if given else None)

    @property
    def tensorrt_version(self) -> str | None:
        """The version that built or ran it, where a file, the run or the build's log says so."""
        story = self.more.story
        return self.source.tensorrt_version or (story.tensorrt_version if story else None)


def export_options(function: F) -> F:
    """Add the options that write files for other programs."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def exported_files(asked: dict[str, Any]) -> tuple[Path | None, ...]:
    """Return the files that are written, to be checked before anything is read."""
    return tuple(asked[name] for name in ("csv_file", "xlsx_file", *_OF_MODEL))


def check_exports(asked: dict[str, Any]) -> None:
    """Raise where a file of the model's nodes is asked for and no model given.

    Raises
    ------
    UsageError
        Names the option.
    """
    for name, option in _OF_MODEL.items():
        if asked[name] is not None and asked["onnx"] is None:
            raise UsageError(option, why="it is of the model's nodes", hint="--onnx MODEL")


def write_exports(explored: Explored, asked: dict[str, Any]) -> None:
    """Write the files that were asked for.

    Raises
    ------
    UsageError
        A file cannot be written, or no node of the model has what is to be written.
    MissingDependencyError
        A package that writes the format is not installed.
    """
    for name, make in _MAKERS.items():
        path = asked[name]
        if path is not None:
            write_output(path, make(explored, asked))


def _csv(explored: Explored, _: dict[str, Any]) -> bytes:
    from enginescope.render.explore_data import explore_csv

    return explore_csv(explored.layers)


def _xlsx(explored: Explored, _: dict[str, Any]) -> bytes:
    from enginescope.render.explore_workbook import explore_workbook

    return explore_workbook(
        explored.found,
        explored.layers,
        device=explored.gpu_text,
        tensorrt_version=explored.tensorrt_version,
        notices=(*explored.source.notices, *explored.more.notices),
        findings=_findings(explored),
        more=_sheets(explored.more.view),
    )


def _named_gpu(more: More) -> str | None:
    return more.view.gpu.name if more.view is not None and more.view.gpu is not None else None


def _sheets(view: PlanView | None) -> tuple[Sheet, ...]:
    if view is None:
        return ()
    from enginescope.render.limit_sheets import nodes_sheet, roofline_sheet

    return tuple(one for one in (roofline_sheet(view), nodes_sheet(view)) if one is not None)


def _findings(explored: Explored) -> tuple[Finding, ...] | None:
    """Return what the rules find, on the GPU that was named as on the page."""
    if explored.source.plan is None:
        return None
    from enginescope.cli.lint import lint_input
    from enginescope.model.environment import Device
    from enginescope.rules.engine import lint

    given, name = lint_input(explored.source), _named_gpu(explored.more)
    if name is not None:
        given = msgspec.structs.replace(given, device=Device(name=name))
    return lint(given).findings


def _netron(explored: Explored, asked: dict[str, Any]) -> bytes:
    from enginescope.analysis.onnx_export import node_notes
    from enginescope.formats.onnx_graph import annotated_onnx

    view = _matched(explored.more.view, "--netron")
    assert view.onnx_map is not None
    return annotated_onnx(asked["onnx"], node_notes(view.onnx_map, view.plan))


def _model_explorer(explored: Explored, _: dict[str, Any]) -> bytes:
    from enginescope.analysis.onnx_export import model_explorer_data
    from enginescope.core.jsonio import encode

    view = _matched(explored.more.view, "--model-explorer")
    assert view.onnx_map is not None
    assert view.onnx is not None
    if all(one.mean_ms is None for one in view.onnx_map.costs):
        raise UsageError(
            "--model-explorer", why="no node has a time", hint="--profile FILE has the layers'"
        )
    return encode(model_explorer_data(view.onnx_map, view.onnx))


def _matched(view: PlanView | None, option: str) -> PlanView:
    assert view is not None  # --onnx was given: check_exports
    if view.onnx_map is None or not view.onnx_map.costs:
        raise UsageError(
            option,
            why=f"no layer of {view.plan.name} was made from a node of the model",
            hint="give the model that this engine was built from with --onnx",
        )
    return view


_MAKERS: dict[str, Callable[[Explored, dict[str, Any]], bytes]] = {
    "csv_file": _csv,
    "xlsx_file": _xlsx,
    "netron_file": _netron,
    "model_explorer_file": _model_explorer,
}
