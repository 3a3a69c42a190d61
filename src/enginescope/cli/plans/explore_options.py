"""Options of ``enginescope explore`` that write files, and that shape the drawing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from enginescope.cli.options import Finite

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Wish
    from enginescope.services.plans.explore_request import ExploreFiles

F = TypeVar("F", bound=Callable[..., Any])

_TO_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--csv", "csv_file", type=_TO_FILE, help="Layers to FILE."),
    click.option("--xlsx", "xlsx_file", type=_TO_FILE, help="All tables to FILE, for Excel."),
    click.option(
        "--netron", "netron_file", type=_TO_FILE, help="The model of --onnx with times, for Netron."
    ),
    click.option(
        "--model-explorer",
        "model_explorer_file",
        type=_TO_FILE,
        help="Times of the nodes of --onnx, for Model Explorer.",
    ),
    click.option("--svg", "svg_file", type=_TO_FILE, help="The plan as a graph to FILE."),
    click.option("--png", "png_file", type=_TO_FILE, help="The same as PNG."),
    click.option("--dot", "dot_file", type=_TO_FILE, help="The same as DOT, for any Graphviz."),
    click.option(
        "--png-scale",
        type=Finite(0, 8, min_open=True),
        help="Pixels a unit.  [default: 2, or 1 where that is too large]",
    ),
    click.option(
        "--color",
        type=click.Choice(["type", "precision", "time", "lint"]),
        default="type",
        show_default=True,
        help="Of the graph.",
    ),
    click.option(
        "--layout",
        type=click.Choice(["auto", "own", "dot"]),
        default="auto",
        show_default=True,
        help="enginescope's own, or Graphviz's; auto: Graphviz's for small plans, if installed.",
    ),
    click.option(
        "--details",
        type=click.Choice(["few", "usual", "all"]),
        default="usual",
        show_default=True,
        help="How much is written on layers and edges.",
    ),
    click.option("--beam", metavar="LAYER,N", help="Draw what is within N steps of a layer."),
    click.option(
        "--filter",
        multiple=True,
        metavar="WHAT",
        help="Draw what this means, the rest folded: type:T, precision:P, or words.",
    ),
    click.option("--highlight", multiple=True, metavar="WHAT", help="Frame what this means."),
    click.option(
        "--fold",
        type=click.Choice(["module", "block", "none"]),
        default="none",
        show_default=True,
        help="One box for each module of the ONNX names, or for blocks that repeat.",
    ),
    click.option(
        "--regions",
        type=click.Choice(["io", "forks", "all"]),
        default="io",
        show_default=True,
        help="Tensors drawn as boxes: inputs, outputs and memory used again; also forks; all.",
    ),
    click.option("--constants", is_flag=True, help="Draw constants too."),
    click.option(
        "--html",
        "html_file",
        type=_TO_FILE,
        help="Everything as one page to FILE; with what --gpu, --onnx and --build-log add.",
    ),
)
_DRAWING = (
    *("color", "layout", "details", "beam", "filter", "highlight", "fold", "regions", "constants"),
)


def file_options(function: F) -> F:
    """Add the options that write files."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def files_of(options: dict[str, Any]) -> ExploreFiles:
    """Return the files that the options name."""
    from enginescope.services.plans.explore_request import ExploreFiles

    names = [name for name in options if name.endswith("_file")]
    return ExploreFiles(**{name.removesuffix("_file"): options[name] for name in names})


def drawing_from(options: dict[str, Any]) -> Wish | None:
    """Return the options of the drawing that are on the command line."""
    from enginescope.services.plans.explore import drawing_of

    context = click.get_current_context()
    typed = (
        name
        for name in _DRAWING
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
    return drawing_of(**{name: options[name] for name in typed})
