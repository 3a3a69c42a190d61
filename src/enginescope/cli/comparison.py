"""Options and output that verbs share which compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.messages import is_verbose, words
from enginescope.cli.options import Finite, Parsed, add_options, option
from enginescope.cli.report_output import present_answer
from enginescope.cli.verb import refuse_typed
from enginescope.core.errors import UsageError
from enginescope.judge.comparison.looks import LOOKS, MOST_ROUNDS, THRESHOLD_PCT

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts.compare import CompareResult


F = TypeVar("F", bound=Callable[..., Any])


def parse_keys(text: str) -> tuple[str, ...]:
    """Return the keys of conditions, which commas separate."""
    from enginescope.analysis.verdicts.comparability import differences

    keys = tuple(one.strip() for one in text.split(",") if one.strip())
    differences((), (), across=keys)
    return keys


across_option = option(
    "--across",
    "Allow these conditions to differ, such as gpu,driver. Other differences make sides "
    "incomparable.",
    Parsed("KEY,…", parse_keys),
    default=(),
    show_default=False,
)


def rounds_option(usual: int | str, most: int = MOST_ROUNDS, when: str = "") -> Callable[[F], F]:
    """Add ``--rounds``, up to `most`; `usual` is what is taken without it."""
    return option(
        "--rounds",
        f"Maximum number of rounds{when}.  [default: {usual}]",
        click.IntRange(LOOKS[0], most),
    )


def continue_option(what: str) -> Callable[[F], F]:
    """Add ``--continue``; `what` is continued."""
    return option("--continue continues", f"Measure more rounds of {what}.", is_flag=True)


#: Add what `bench` takes to compare its jobs.
bench_compare_options = add_options(
    option(
        "--compare",
        "Compare the jobs: interleave fresh processes until the result is clear.",
        is_flag=True,
    ),
    rounds_option(LOOKS[-1], when=" with --compare"),
    continue_option("the newest comparison of these jobs, with --compare"),
    option(
        "--threshold threshold_pct",
        f"Ignore smaller differences with --compare.  [default: {THRESHOLD_PCT:g}]",
        Finite(0, 100, min_open=True),
        metavar="PERCENT",
    ),
    across_option,
)


def check_bench_options(models: Sequence[Path], options: dict[str, Any]) -> None:
    """Raise `UsageError` where there is nothing to compare, or something only for ``--compare``."""
    hint = "enginescope bench A.onnx B.onnx --compare"
    if options["compare"] and not models:
        raise UsageError("--compare without models", hint=hint)
    if not options["compare"]:
        names = ("rounds", "threshold_pct", "across", "continues")
        refuse_typed("without --compare", *names, hint=hint)


def _outputs_step(measured: MeasuredComparison) -> Iterator[tuple[str, str]]:
    """Yield how to check the outputs of a side of another precision or file than the first one."""
    a, b = (side.runs[0].job for side in measured.sides[:2])
    other = a.backend if a.subject.path == b.subject.path else a.subject.path
    differs = "precision" in {one.key for one in measured.pairs[0].meant} or other is not a.backend
    if differs and b.subject.path and other:
        command = ("validate", b.subject.path, "--on", b.backend, "--reference", other)
        yield "check the outputs", words("enginescope", *command)


def present(
    result: CompareResult, chosen: Chosen, options: Mapping[str, Any], *steps: tuple[str, str]
) -> None:
    """Write the files that were asked for, then print verdicts, plans, and choices of builds."""
    from enginescope.render.compare.compare_answer import compare_answer, compare_csv, compare_json
    from enginescope.render.compare.compare_page import compare_page, compare_slide
    from enginescope.render.html.answer_page import Slide, slide_png
    from enginescope.render.verdicts.named_answer import named_answer

    plans, choices, measured = result.plans, result.choices, result.measured
    steps = (*(_outputs_step(measured) if measured else ()), *steps)
    if result.by_name is not None:
        named = named_answer(result.by_name)
        card = Slide(answer=named.answer)
        present_answer(named, options, *steps, card=lambda: slide_png(card))
        return
    present_answer(
        compare_answer(plans, chosen, choices, measured=measured),
        options,
        *steps,
        is_whole=is_verbose(),
        json=lambda: compare_json(plans, chosen, choices, measured=measured),
        csv=lambda: compare_csv(plans, chosen, measured),
        html=lambda: compare_page(plans, chosen, choices, measured=measured, steps=steps),
        card=lambda: slide_png(compare_slide(plans, chosen.threshold_pct, measured)),
    )
