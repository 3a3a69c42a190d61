"""Present a comparison: the screen, JSON, and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from enginescope.cli.messages import is_verbose
from enginescope.cli.report_output import present_answer

if TYPE_CHECKING:
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts.compare import CompareResult


def present(
    result: CompareResult, chosen: Chosen, options: Mapping[str, Any], *steps: tuple[str, str]
) -> None:
    """Write the files that were asked for, then print verdicts, plans, and choices of builds."""
    from enginescope.render.compare.compare_answer import compare_answer, compare_csv, compare_json
    from enginescope.render.compare.compare_page import compare_page, compare_slide
    from enginescope.render.html.slide import Slide, slide_png
    from enginescope.render.verdicts.named_answer import named_answer

    plans, choices, measured = result.plans, result.choices, result.measured
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
        html=lambda: compare_page(plans, chosen, choices, measured=measured),
        card=lambda: slide_png(compare_slide(plans, chosen.threshold_pct, measured)),
    )
