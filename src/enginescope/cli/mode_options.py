"""Options that say how requests are issued, and how engines are built."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from enginescope.cli.options import DURATION_MS
from enginescope.core.errors import UsageError
from enginescope.model.job import Mode

F = TypeVar("F", bound=Callable[..., Any])

#: Backends that run engines, with their optimisation profiles.
_ON_ENGINES = frozenset({"trt", "trtexec"})
_THREE = {"on": True, "off": False, "auto": None}

_OPTIONS = (
    click.option(
        "--mode",
        "mode_kind",
        type=click.Choice(["latency", "throughput"]),
        help="One request at a time, or queries enqueued ahead as trtexec does (trt, trtexec).",
    ),
    click.option(
        "--graph",
        type=click.Choice(list(_THREE)),
        default="auto",
        show_default=True,
        help="CUDA graph; auto: where the engine can be captured.",
    ),
    click.option(
        "--transfers",
        type=click.Choice(["on", "off"]),
        help="Copies of inputs and outputs inside the timed span.  [default: on]",
    ),
    click.option("--spin/--no-spin", default=None, help="Wait busily.  [default: spin]"),
    click.option("--streams", type=click.IntRange(1, 64), help="Inference streams (throughput)."),
    click.option("--idle", type=DURATION_MS, help="Pause of the host between two queries."),
    click.option("--cold", is_flag=True, help="Flush the L2 cache before each timed query."),
    click.option("--rotate", type=click.IntRange(1, 1024), help="Sets of inputs, in turn."),
    click.option("--profile-index", type=click.IntRange(0), help="Optimisation profile to run."),
)


def mode_options(function: F) -> F:
    """Add what steers how requests are issued."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def mode_of(options: dict[str, Any]) -> Mode:
    """Return the mode that the options describe.

    Raises
    ------
    UsageError
        Streams where requests go one at a time.
    """
    kind = options["mode_kind"]
    if options["streams"] and kind != "throughput":
        raise UsageError(
            "--streams", why="in latency mode one request is in flight", hint="--mode throughput"
        )
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


def with_profile(backends: Sequence[str], index: int | None) -> list[str]:
    """Return backends with ``--profile-index`` as an option of those that run engines.

    Raises
    ------
    UsageError
        None of them does, or one has the option already.
    """
    if index is None:
        return list(backends)
    found = [_with_option(one, "profile_index", str(index)) for one in backends]
    if found == list(backends):
        raise UsageError(
            "--profile-index", why=f"{', '.join(backends)} runs no engine", hint="--on trt"
        )
    return found


def _with_option(backend: str, key: str, value: str) -> str:
    if re.split("[:?]", backend)[0] not in _ON_ENGINES:
        return backend
    if f"{key}=" in backend:
        raise UsageError(f"--on {backend}", why="--profile-index says it too")
    return f"{backend}{'&' if '?' in backend else '?'}{key}={value}"
