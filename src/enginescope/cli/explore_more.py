"""What ``enginescope explore`` adds when asked: limits, nodes, the build's story."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from enginescope.cli.options import note
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.plan_view import PlanView
    from enginescope.model.build_story import BuildStory
    from enginescope.model.notice import Notice
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


class More(NamedTuple):
    """What was read of what was asked for beside the plan.

    Attributes
    ----------
    view : PlanView or None
        Where a GPU or a model was named, with these.
    story : BuildStory or None
    notices : tuple of Notice
    """

    view: PlanView | None = None
    story: BuildStory | None = None
    notices: tuple[Notice, ...] = ()


def more_options(function: F) -> F:
    """Add what can be asked for beside the plan's own tables."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_more(plan: Plan | None, profile: Profile | None, asked: dict[str, Any]) -> More:
    """Read what was asked for beside the plan.

    Raises
    ------
    UsageError
        The GPU is not known, or there is no plan to hold against it or the model.
    FormatError
        The model or the log cannot be read.
    """
    view, story = None, None
    notices: tuple[Notice, ...] = ()
    if asked["gpu"] or asked["onnx"]:
        view = _view(plan, profile, asked)
        notices += _match_notices(view, asked["onnx"])
    if asked["build_log"]:
        from enginescope.formats.build_log import build_story_of

        path = asked["build_log"]
        story, said = build_story_of(path.read_bytes(), path.name)
        notices += said
    return More(view, story, notices)


def note_more(more: More) -> None:
    """Say on standard error what weakens it, where standard output has no words for it."""
    for one in more.notices:
        note(f"{one.message} ({one.code})")


def more_tables(more: More, *, top: int, width: int) -> Iterator[RowTable]:
    """Yield the tables of what was read, for the terminal."""
    names = max(24, width - _FIGURES)
    if more.view is not None:
        from enginescope.render.limit_rows import node_rows, roofline_rows

        for table in (
            roofline_rows(more.view, limit=top, name_width=names),
            node_rows(more.view, limit=top, name_width=names),
        ):
            if table is not None:
                yield table
    if more.story is not None:
        from enginescope.render.build_story_text import build_story_rows

        yield from build_story_rows(more.story, limit=top, name_width=max(24, names // 2))


def more_data(more: More) -> dict[str, Any]:
    """Return what was read, for the JSON document: ``roofline``, ``onnx``, ``build``."""
    from enginescope.render.explore_more_data import build_data, onnx_data, roofline_data

    made: dict[str, Any] = {}
    if more.view is not None and more.view.gpu is not None:
        made["roofline"] = roofline_data(more.view)
    if more.view is not None and more.view.onnx is not None:
        made["onnx"] = onnx_data(more.view)
    if more.story is not None:
        made["build"] = build_data(more.story)
    return made


def _view(plan: Plan | None, profile: Profile | None, asked: dict[str, Any]) -> PlanView:
    from enginescope.analysis.plan_view import PlanView
    from enginescope.formats.onnx_graph import onnx_graph_of_plan

    needed = needed_plan(plan, "--gpu" if asked["gpu"] else "--onnx")
    graph = onnx_graph_of_plan(needed, asked["onnx"]) if asked["onnx"] else None
    return PlanView(needed, profile, gpu=asked["gpu"], onnx=graph)


def _match_notices(view: PlanView, model: Path | None) -> tuple[Notice, ...]:
    from enginescope.analysis.onnx_match import onnx_match_notice

    if model is None or view.onnx_map is None:
        return ()
    found = onnx_match_notice(view.plan, view.onnx_map, model.name)
    return (found,) if found else ()


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
