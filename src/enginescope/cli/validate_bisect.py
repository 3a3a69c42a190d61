"""``validate --bisect`` and ``--suggest-precision``: where an error starts, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from enginescope.analysis.validation import Validation
    from enginescope.cli.validation_progress import ValidationProgress
    from enginescope.validation_run import Plan

F = TypeVar("F", bound=Callable[..., Any])


def bisect_options(function: F) -> F:
    """Add the options of looking into the sides."""
    for add in (
        click.option("--bisect", is_flag=True, help="Find where inside the model an error starts."),
        click.option(
            "--suggest-precision",
            "suggests",
            is_flag=True,
            help="Find what to keep in FP32: builds and measures proposals.  Implies --bisect.",
        ),
        click.option(
            "--marks",
            type=click.IntRange(1),
            help="Tensors marked at once.  [default: all; 32 where each try is a build]",
        ),
    ):
        function = add(function)
    return function


def looked_into(
    found: Validation, plan: Plan, progress: ValidationProgress, options: dict[str, Any]
) -> Validation:
    """Return the comparison with what was found inside the sides, as far as it was asked for."""
    if not _asked(options):
        return found
    from enginescope.bisect_sides import with_insides

    return with_insides(
        found,
        plan,
        progress.watch,
        marks=options["marks"],
        suggests_precision=options["suggests"],
    )


def _asked(options: dict[str, Any]) -> bool:
    return bool(options["bisect"] or options["suggests"])


def check_options(plan: Plan, options: dict[str, Any]) -> None:
    """Raise `UsageError` where what was asked for cannot be done, before anything runs."""
    from enginescope.core.errors import UsageError

    general = plan.asked.in_place_of_rows()
    if plan.tolerance and general and not _asked(options):  # inside, outputs have other names
        raise UsageError(
            f"--tolerance and --{general}",
            why=f"--{general} for all outputs leaves nothing to --tolerance {plan.tolerance}",
            hint=f"one of them, or --{general} OUTPUT:NUMBER for single outputs",
        )
    if options["marks"] and not _asked(options):
        raise UsageError("--marks", why="it is said of --bisect")
    if _asked(options):
        from enginescope.bisect_sides import check_bisectable

        check_bisectable(plan)
