"""``validate --task``: figures of a task, against targets or the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import Parsed
from enginescope.cli.validate_options import preprocessing_of
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.validation_task import AskedTask

F = TypeVar("F", bound=Callable[..., Any])


def parse_limit(text: str) -> tuple[str, float]:
    """Return ``METRIC:NUMBER``."""
    name, colon, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not colon or not name or not math.isfinite(value):
        raise UsageError(f"{text!r} is not METRIC:NUMBER", hint="as in abs_rel:0.12 or top1:75")
    return name, value


_OPTIONS = (
    click.option(
        "--task",
        metavar="NAME[?KEY=VALUE&…]",
        help="Also the figures of a task: depth, classification, segmentation, detection.",
    ),
    click.option(
        "--images",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Samples: pictures, or folders with pictures in them and below.",
    ),
    click.option(
        "--targets",
        type=click.Path(path_type=Path),
        help="What is right, by base name.  [default: the reference's answers]",
    ),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        type=Parsed("METRIC:NUMBER", parse_limit),
        help="The worst figure of the task that is accepted.",
    ),
)


def task_options(function: F) -> F:
    """Add what a task needs."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def asked_task(options: dict[str, Any]) -> AskedTask | None:
    """Return the task that the options ask for; ``None`` where they ask for none.

    Raises
    ------
    UsageError
        Targets or limits without a task, or what the task does not know.
    """
    if not options["task"]:
        for name, option in (("targets", "--targets"), ("limits", "--limit")):
            if options[name]:
                raise UsageError(option, why="there is no task", hint="--task depth, …")
        return None
    from enginescope.validation_task import AskedTask

    return AskedTask(
        options["task"], options["targets"], options["limits"], preprocessing_of(options)
    )
