"""Present a comparison: the screen, JSON, and files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.cli.options import write_output
from enginescope.cli.report_output import print_json

if TYPE_CHECKING:
    from enginescope.analysis.build_log.build_choices import ChoicePair
    from enginescope.records.verdict.named import NamedComparison
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts.compare import CompareResult


def write_csv(result: CompareResult, chosen: Chosen, path: Path | None) -> None:
    """Write pairs of layers, else plans, else verdicts."""
    if path is None:
        return
    if result.plans is not None:
        from enginescope.render.compare.compare_writers import compare_csv

        write_output(path, compare_csv(result.plans, chosen))
    elif result.measured is not None:
        from enginescope.render.verdicts.verdict_writers import verdict_csv

        write_output(path, verdict_csv(result.measured))


def write_markdown(result: CompareResult, chosen: Chosen, path: Path | None) -> None:
    """Write verdicts, then what explains the difference of the plans."""
    if path is None:
        return
    from enginescope.render.compare.compare_writers import compare_markdown

    write_output(path, compare_markdown(result.measured, result.plans, chosen).encode())


def write_page(result: CompareResult, chosen: Chosen, path: Path | None) -> None:
    """Write the page."""
    if path is None:
        return
    from enginescope.render.compare.compare_page import compare_page

    page = compare_page(result.plans, chosen, result.choices, measured=result.measured)
    write_output(path, page)


def present(result: CompareResult, chosen: Chosen, *, as_json: bool) -> None:
    """Print verdicts, then plans, then choices of builds."""
    if result.by_name is not None:
        _present_names(result.by_name, as_json=as_json)
        return
    if as_json:
        from enginescope.render.compare.compare_writers import compare_json

        print_json(compare_json(result.plans, chosen, result.choices, measured=result.measured))
        return
    from enginescope.render.base.text import show

    width = shutil.get_terminal_size().columns
    if result.measured is not None:
        from enginescope.render.verdicts.verdict_writers import verdict_text

        show(verdict_text(result.measured, width=width))
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
