"""Present a comparison: the screen, JSON, and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from enginescope.cli.messages import is_verbose
from enginescope.cli.report_output import present_report

if TYPE_CHECKING:
    from enginescope.analysis.build_log.build_choices import ChoicePair
    from enginescope.records.verdict.named import NamedComparison
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts.compare import CompareResult


def present(result: CompareResult, chosen: Chosen, options: Mapping[str, Any]) -> None:
    """Write the files that were asked for, then print verdicts, plans, and choices of builds."""
    if result.by_name is not None:
        _present_names(result.by_name, as_json=options["as_json"])
        return
    from enginescope.render.compare.compare_page import compare_page, compare_slide
    from enginescope.render.compare.compare_writers import (
        compare_csv,
        compare_json,
        compare_markdown,
    )
    from enginescope.render.html.slide import slide_png

    plans, measured = result.plans, result.measured
    present_report(
        result,
        options,
        document=lambda _: compare_json(plans, chosen, result.choices, measured=measured),
        screen=lambda _: _show(result, chosen),
        csv=lambda _: compare_csv(plans, chosen, measured),
        markdown=lambda _: compare_markdown(measured, plans, chosen),
        html=lambda _: compare_page(plans, chosen, result.choices, measured=measured),
        card=lambda _: slide_png(compare_slide(plans, chosen.threshold_pct, measured)),
    )


def _show(result: CompareResult, chosen: Chosen) -> None:
    from enginescope.render.base.text import screen_width, show

    width = screen_width()
    if result.measured is not None:
        from enginescope.render.verdicts.verdict_writers import verdict_text

        show(verdict_text(result.measured, width=width, is_whole=is_verbose()))
    if result.plans is not None:
        from enginescope.render.compare.compare_writers import compare_text

        show(compare_text(result.plans, chosen, measured=result.measured, width=width))
    if result.choices is not None:
        _present_choices(result.choices, chosen, width)


def _present_names(found: NamedComparison, *, as_json: bool) -> None:
    from enginescope.cli.report_output import print_data
    from enginescope.render.base.text import show, stacked
    from enginescope.render.verdicts.named_text import named_table

    if as_json:
        print_data(found)
        return
    for line in stacked([named_table(found)])[:-1]:
        show(line)


def _present_choices(choices: tuple[ChoicePair, ...], chosen: Chosen, width: int) -> None:
    from enginescope.render.base.text import show, table
    from enginescope.render.plans.build_text import comparison_rows

    one = comparison_rows(choices, limit=chosen.top, name_width=max(24, width // 3))
    print(one.title)
    show(table(one.headers, one.rows, right=one.numbers))
    print(f"{one.note}\n" if one.note else "")
