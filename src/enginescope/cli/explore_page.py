"""The plan as a page: ``enginescope explore --html``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from enginescope.cli.outputs import write_output

if TYPE_CHECKING:
    from enginescope.cli.explore_exports import Explored
    from enginescope.cli.explore_more import More
    from enginescope.model.run import Run
    from enginescope.render.page_subject import PageSubject

F = TypeVar("F", bound=Callable[..., Any])


def page_option(function: F) -> F:
    """Add the option that asks for the page."""
    option = click.option(
        "--html",
        "html_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Everything as one page to FILE; with what --gpu, --onnx and --build-log add.",
    )
    return option(function)


def write_page(explored: Explored, asked: dict[str, Any]) -> None:
    """Write the page where it was asked for.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    path = asked["html_file"]
    if path is None:
        return
    from enginescope.analysis.exploration import view_of
    from enginescope.render.page import report_page

    run = explored.source.as_run()
    subject = page_subject(run, explored.more)
    if run.plan is not None:
        subject.view.plan_view = view_of(explored.found, run.plan, run.profile)
    write_output(path, report_page([subject]))


def page_subject(run: Run, more: More) -> PageSubject:
    """Return a run as the page sees it, with what was read beside it."""
    from enginescope.analysis.run_view import RunView
    from enginescope.render.page_subject import PageSubject

    view = RunView(msgspec.structs.replace(run, notices=(*run.notices, *more.notices)))
    return PageSubject(
        view,
        gpu=more.view.gpu if more.view else None,
        onnx=more.view.onnx if more.view else None,
        story=more.story,
    )
