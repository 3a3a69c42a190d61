"""The plan as a page: ``enginescope explore --html``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from enginescope.cli.options import note
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.cli.plan_sources import PlanSource
    from enginescope.formats.onnx_graph import OnnxGraph
    from enginescope.model.build_story import BuildStory
    from enginescope.model.notice import Notice
    from enginescope.model.run import Run

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


def write_page(source: PlanSource, asked: dict[str, Any], *, plan_profile: int) -> None:
    """Write the page where it was asked for.

    Raises
    ------
    UsageError
        The GPU is not known, or the file cannot be written.
    FormatError
        The model or the log cannot be read.
    """
    path = asked["html_file"]
    if path is None:
        return
    from enginescope.analysis.gpu_limits import limits_of
    from enginescope.analysis.run_view import RunView
    from enginescope.core.jsonio import write_atomic
    from enginescope.render.page import report_page
    from enginescope.render.page_subject import PageSubject

    run = _of_profile(source.as_run(), plan_profile)
    story, notices = _story(asked["build_log"])
    run = msgspec.structs.replace(run, notices=(*run.notices, *notices))
    subject = PageSubject(
        RunView(run),
        gpu=limits_of(asked["gpu"]) if asked["gpu"] else None,
        onnx=_graph(run, asked["onnx"]),
        story=story,
    )
    try:
        write_atomic(path, report_page([subject]))
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from error
    note(f"written: {path}")


def _of_profile(run: Run, index: int) -> Run:
    """Return the run with the layers and times of one optimisation profile, if it has several."""
    from enginescope.analysis.plan_profile import (
        of_plan_profile,
        plan_profiles,
        times_of_plan_profile,
    )

    if run.plan is None or not plan_profiles(run.plan):
        return run
    times = times_of_plan_profile(run.profile, index) if run.profile else None
    return msgspec.structs.replace(run, plan=of_plan_profile(run.plan, index), profile=times)


def _graph(run: Run, path: Path | None) -> OnnxGraph | None:
    if path is None or run.plan is None:
        return None
    from enginescope.formats.onnx_graph import read_onnx_graph

    inputs = (one.tensor for one in run.plan.inputs)
    return read_onnx_graph(path, {one.name: one.shape for one in inputs if one.shape is not None})


def _story(path: Path | None) -> tuple[BuildStory | None, tuple[Notice, ...]]:
    if path is None:
        return None, ()
    from enginescope.formats.build_log import build_story_of

    return build_story_of(path.read_bytes(), path.name)
