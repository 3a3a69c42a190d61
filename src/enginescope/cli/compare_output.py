"""What a comparison leaves: the screen, JSON, and files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.cli.outputs import write_output
from enginescope.core.record import Record

if TYPE_CHECKING:
    from enginescope.analysis.build_choices import ChoicePair
    from enginescope.analysis.comparison import Comparison
    from enginescope.analysis.measured_sides import MeasuredComparison
    from enginescope.render.compare_tables import Chosen


class Compared(Record, frozen=True, kw_only=True, eq=False):
    """All that was compared, as far as it is there.

    Attributes
    ----------
    measured : MeasuredComparison or None
        ``None`` where a side has no samples.
    plans : Comparison or None
        ``None`` where a side has no plan.
    choices : tuple of ChoicePair or None
        Of two build logs.
    chosen : Chosen
        Layers and rows to show.
    """

    measured: MeasuredComparison | None
    plans: Comparison | None
    choices: tuple[ChoicePair, ...] | None
    chosen: Chosen


def write_csv(found: Compared, path: Path | None) -> None:
    """Write pairs of layers, else plans, else verdicts."""
    if path is None:
        return
    if found.plans is not None:
        from enginescope.render.compare_data import compare_csv

        write_output(path, compare_csv(found.plans, found.chosen))
    elif found.measured is not None:
        from enginescope.render.verdict_data import verdict_csv

        write_output(path, verdict_csv(found.measured))


def write_markdown(found: Compared, path: Path | None) -> None:
    """Write verdicts, then what explains the difference of the plans."""
    if path is None:
        return
    from enginescope.render.compare_markdown import compare_markdown

    write_output(path, compare_markdown(found.measured, found.plans, found.chosen).encode())


def write_page(found: Compared, path: Path | None) -> None:
    """Write the page."""
    if path is None:
        return
    from enginescope.render.compare_page import compare_page

    page = compare_page(found.plans, found.chosen, found.choices, measured=found.measured)
    write_output(path, page)


def present(found: Compared, *, as_json: bool) -> None:
    """Print verdicts, then plans, then choices of builds."""
    if as_json:
        from enginescope.render.compare_data import compare_json

        sys.stdout.buffer.write(
            compare_json(found.plans, found.chosen, found.choices, measured=found.measured)
        )
        sys.stdout.flush()
        return
    from enginescope.render.text import show

    width = shutil.get_terminal_size().columns
    if found.measured is not None:
        from enginescope.render.verdict_text import verdict_text

        show(verdict_text(found.measured, width=width))
    if found.plans is not None:
        from enginescope.render.compare_text import compare_text

        show(compare_text(found.plans, found.chosen, width=width))
    if found.choices is not None:
        _present_choices(found, found.choices, width)


def _present_choices(found: Compared, choices: tuple[ChoicePair, ...], width: int) -> None:
    from enginescope.render.build_story_text import comparison_rows
    from enginescope.render.text import show, table

    one = comparison_rows(choices, limit=found.chosen.top, name_width=max(24, width // 3))
    print(one.title)
    show(table(one.headers, one.rows, right=one.right))
    print(f"{one.note}\n" if one.note else "")
