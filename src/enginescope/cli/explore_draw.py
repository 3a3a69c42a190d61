"""The plan as a picture: the options of ``enginescope explore`` that draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.explore_more import needed_plan
from enginescope.cli.options import note
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.model.plan import Plan
    from enginescope.model.timing import Profile

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--svg",
        "svg_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The plan as a graph to FILE.",
    ),
    click.option("--beam", metavar="LAYER,N", help="Draw what is within N steps of a layer."),
    click.option(
        "--color",
        "coloring",
        type=click.Choice(["type", "precision"]),
        default="type",
        show_default=True,
        help="Of the graph.",
    ),
)


def draw_options(function: F) -> F:
    """Add the options of the drawing."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def drawn_files(asked: dict[str, Any]) -> tuple[Path | None, ...]:
    """Return the files that the drawing goes to, to be checked before anything is read."""
    return (asked["svg_file"],)


def check_drawing(asked: dict[str, Any]) -> None:
    """Raise where options of the drawing are given and no file to draw to.

    Raises
    ------
    UsageError
        Names the option.
    """
    if asked["beam"] and asked["svg_file"] is None:
        raise UsageError("--beam", why="it is of the drawing", hint="--svg FILE")


def draw_plan(plan: Plan | None, profile: Profile | None, asked: dict[str, Any]) -> None:
    """Write the graph where it was asked for.

    Raises
    ------
    UsageError
        There is no plan, the beam names no layer, or the file cannot be written.
    """
    if asked["svg_file"] is None:
        return
    from enginescope.analysis.attribution import attribute
    from enginescope.analysis.plan_graph import plan_graph
    from enginescope.analysis.plan_graph_part import named, neighbourhood, parse_beam
    from enginescope.render.graph.drawing import draw
    from enginescope.render.graph.svg import SvgLook, svg

    whole = plan_graph(needed_plan(plan, "--svg"))
    part = None
    if asked["beam"]:
        name, radius = parse_beam(asked["beam"])
        part = neighbourhood(whole, named(whole, name), radius)
    attribution = attribute(plan, profile) if plan is not None and profile is not None else None
    drawing = draw(part.graph if part is not None else whole, attribution)
    path = asked["svg_file"]
    try:
        path.write_text(svg(drawing, SvgLook(coloring=asked["coloring"]), part), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from error
    note(f"written: {path}")
