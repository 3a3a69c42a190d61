"""The plan as a picture: the options of ``enginescope explore`` that draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from enginescope.cli.explore_more import needed_plan
from enginescope.cli.options import Finite, note
from enginescope.cli.outputs import write_output
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.plan_source import PlanSource

F = TypeVar("F", bound=Callable[..., Any])

_TO_FILE = click.Path(dir_okay=False, path_type=Path)

_OPTIONS = (
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
        "coloring",
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
        "filters",
        multiple=True,
        metavar="WHAT",
        help="Draw what this means, the rest folded: type:T, precision:P, or words.",
    ),
    click.option(
        "--highlight", "highlights", multiple=True, metavar="WHAT", help="Frame what this means."
    ),
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
)
#: Options that need a file to draw to, by the name of their value.
_OF_DRAWING = (
    *("png_scale", "coloring", "layout", "details", "beam", "filters", "highlights", "regions"),
    "constants",
    "fold",
)
_FILES = {"svg_file": "--svg", "png_file": "--png", "dot_file": "--dot"}


def draw_options(function: F) -> F:
    """Add the options of the drawing."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def drawn_files(asked: dict[str, Any]) -> tuple[Path | None, ...]:
    """Return the files that the drawing goes to, to be checked before anything is read."""
    return tuple(asked[key] for key in _FILES)


def check_drawing(asked: dict[str, Any]) -> None:
    """Raise where options of the drawing are given and no file to draw to.

    Raises
    ------
    UsageError
        Names the option.
    """
    if any(drawn_files(asked)):
        if asked["png_scale"] is not None and asked["png_file"] is None:
            raise UsageError("--png-scale", why="it is of the PNG", hint="--png FILE")
        return
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if (
            name in _OF_DRAWING
            and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ):
            raise UsageError(
                option.opts[0],
                why="it is of the drawing",
                hint="--svg FILE, --png FILE or --dot FILE",
            )


def draw_plan(source: PlanSource, asked: dict[str, Any]) -> None:
    """Write the graph where it was asked for.

    Raises
    ------
    UsageError
        There is no plan, what is sought in it is not there, or a file cannot be written.
    MissingDependencyError
        A PNG or Graphviz is asked for and not installed.
    """
    first = next((option for key, option in _FILES.items() if asked[key] is not None), None)
    if first is None:
        return
    plan = needed_plan(source.plan, first)
    from enginescope.render.graph.picture import Picture, Wish

    wish = Wish(**{key: asked[key] for key in Wish.__struct_fields__})
    picture = Picture(plan, source.profile, wish, device=next(iter(source.devices), None))
    makers: dict[str, Callable[[], bytes]] = {
        "svg_file": lambda: picture.svg().encode(),
        "png_file": lambda: picture.png(asked["png_scale"]),
        "dot_file": lambda: picture.dot().encode(),
    }
    for key, make in makers.items():
        if asked[key] is not None:
            write_output(asked[key], make())
    for notice in picture.notices:
        note(f"{notice.message} ({notice.code})")
