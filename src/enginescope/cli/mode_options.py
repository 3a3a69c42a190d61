"""Options that say how requests are issued, and how engines are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from enginescope.cli.options import DURATION_MS
from enginescope.records.run.job import Mode

F = TypeVar("F", bound=Callable[..., Any])

_THREE = {"on": True, "off": False, "auto": None}

_OPTIONS = (
    click.option(
        "--mode",
        "mode_kind",
        type=click.Choice(["latency", "throughput"]),
        help=(
            "Issue one request at a time, or enqueue queries ahead as trtexec does (trt, trtexec)."
        ),
    ),
    click.option(
        "--graph",
        type=click.Choice(list(_THREE)),
        default="auto",
        show_default=True,
        help="Use a CUDA graph; auto: if the engine can be captured.",
    ),
    click.option(
        "--transfers",
        type=click.Choice(["on", "off"]),
        help="Include copies of inputs and outputs in the timed span.  [default: on]",
    ),
    click.option(
        "--spin/--no-spin",
        default=None,
        help="Busy-wait for the GPU, or block until it signals.  [default: spin]",
    ),
    click.option(
        "--streams",
        type=click.IntRange(1, 64),
        help="Number of inference streams in throughput mode.",
    ),
    click.option("--idle", type=DURATION_MS, help="Pause on the host between two queries."),
    click.option("--cold", is_flag=True, help="Flush the L2 cache before each timed query."),
    click.option(
        "--rotate", type=click.IntRange(1, 1024), help="Number of input sets to rotate through."
    ),
    click.option(
        "--profile-index", type=click.IntRange(0), help="Select the optimization profile to run."
    ),
)


def mode_options(function: F) -> F:
    """Add what steers how requests are issued."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def mode_of(options: dict[str, Any]) -> Mode:
    """Return the mode that the options describe."""
    kind = options["mode_kind"]
    transfers = options["transfers"]
    return Mode(
        kind=kind,
        in_flight=2 if kind == "throughput" else 1,
        transfers=None if transfers is None else transfers == "on",
        cuda_graph=_THREE[options["graph"]],
        spin_wait=options["spin"],
        streams=options["streams"],
        idle_ms=options["idle"],
        cold=options["cold"] or None,
        rotate=options["rotate"],
    )
