"""What ``enginescope explore`` adds when asked: limits, nodes, the build's story."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import note
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.plan_view import PlanView
    from enginescope.model.plan import Plan
    from enginescope.model.timing import Profile
    from enginescope.render.build_story_text import RowTable

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
#: Columns that the figures of a table leave to names.
_FIGURES = 40

_OPTIONS = (
    click.option("--gpu", metavar="NAME", help="Each layer against this GPU's limits."),
    click.option("--onnx", type=_FILE, help="The model it was built from: what its nodes cost."),
    click.option("--build-log", type=_FILE, help="Verbose log of the build: the build's story."),
)


def more_options(function: F) -> F:
    """Add what can be asked for beside the plan's own tables."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def check_more(asked: dict[str, Any], *, as_json: bool) -> None:
    """Raise where options do not go together.

    Raises
    ------
    UsageError
        Tables for the terminal beside ``--json``.
    """
    extra = next((key for key in ("gpu", "onnx", "build_log") if asked[key]), None)
    if as_json and extra:
        option = f"--{extra.replace('_', '-')}"
        raise UsageError(f"--json with {option}", why="its tables are for the terminal only")


def more_tables(
    plan: Plan | None, profile: Profile | None, asked: dict[str, Any], *, top: int, width: int
) -> Iterator[RowTable]:
    """Yield the tables that were asked for.

    Raises
    ------
    UsageError
        The GPU is not known, or there is no plan to hold against it or the model.
    FormatError
        The model or the log cannot be read.
    """
    names = max(24, width - _FIGURES)
    if asked["gpu"] or asked["onnx"]:
        from enginescope.render.limit_rows import node_rows, roofline_rows

        view = _view(plan, profile, asked)
        for table in (
            roofline_rows(view, limit=top, name_width=names),
            node_rows(view, limit=top, name_width=names),
        ):
            if table is not None:
                yield table
    if asked["build_log"]:
        from enginescope.formats.build_log import build_story_of
        from enginescope.render.build_story_text import build_story_rows

        path = asked["build_log"]
        story, notices = build_story_of(path.read_bytes(), path.name)
        yield from build_story_rows(story, limit=top, name_width=max(24, names // 2))
        for one in notices:
            note(f"{one.message} ({one.code})")


def _view(plan: Plan | None, profile: Profile | None, asked: dict[str, Any]) -> PlanView:
    from enginescope.analysis.plan_view import PlanView

    needed = needed_plan(plan, "--gpu" if asked["gpu"] else "--onnx")
    graph = None
    if asked["onnx"]:
        from enginescope.formats.onnx_graph import read_onnx_graph

        inputs = (one.tensor for one in needed.inputs)
        shapes = {one.name: one.shape for one in inputs if one.shape is not None}
        graph = read_onnx_graph(asked["onnx"], shapes)
    return PlanView(needed, profile, gpu=asked["gpu"], onnx=graph)


def needed_plan(plan: Plan | None, option: str) -> Plan:
    """Return the plan.

    Raises
    ------
    UsageError
        There are layer times only; names the option that needs more.
    """
    if plan is None:
        raise UsageError(option, why="there are layer times and no plan to hold them against")
    return plan
