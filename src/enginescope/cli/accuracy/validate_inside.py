"""Options of ``validate``: figures of a task, and what to find out inside a side that fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from enginescope.cli.options import Parsed
from enginescope.core.errors import UsageError

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


def bisect_options(function: F) -> F:
    """Add the options of looking into the sides."""
    for add in (
        click.option("--bisect", is_flag=True, help="Find where inside the model an error starts."),
        click.option(
            "--suggest-precision",
            is_flag=True,
            help="Find what to keep in FP32: builds and measures proposals.  Implies --bisect.",
        ),
        click.option(
            "--marks",
            type=click.IntRange(1),
            help="Tensors marked at once.  [default: all; 32 where each try is a build]",
        ),
        click.option(
            "--extract",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Write the node at which the error starts, with its inputs and a script that "
            "shows the failure, into an empty folder.  Needs --bisect.",
        ),
    ):
        function = add(function)
    return function
