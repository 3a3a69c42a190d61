"""A comparison of answers as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.validation.validation import Validation
from enginescope.core.record import replace
from enginescope.render.accuracy.task_section import task_section
from enginescope.render.accuracy.validate_phrases import (
    WorstAnswer,
    answer,
    bindings_text,
    called_apart,
    cosine_text,
    error_text,
)
from enginescope.render.base.figures import UNKNOWN, Figures
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.validation.validate_section import side_section
from enginescope.render.validation.validate_writers import output_diff_json, per_sample_json

#: Samples above which the page does not carry the figures of each.
_MOST_CARRIED = 500


def validate_page(found: Validation, worst: Sequence[WorstAnswer]) -> bytes:
    """Return the page.

    Args:
        worst: Values of each side's worst sample.
    """
    alone = len(found.sides) == 1
    apart, shared = called_apart(found)
    pairs = zip(found.sides, apart.sides, strict=True)
    sides = [
        replace(side_section(f"side-{at}", one, worst, alone=alone), label=short.label)
        for at, (one, short) in enumerate(pairs, start=1)
    ]
    files = {"output_diff.json": output_diff_json(found).decode()}
    if len(found.samples) <= _MOST_CARRIED:
        files["per_sample_diff.json"] = per_sample_json(found).decode()
    charts = [chart for side in sides for chart in side.charts]
    charts += [chart for side in sides if side.inside for chart in side.inside.charts]
    task = task_section(apart.task) if apart.task else None
    charts += [task.chart] if task and task.chart else []
    return page_bytes(
        "validate.html.j2",
        PageData(charts=charts_data(charts), files=files),
        parts=("sides", "answers"),
        title=answer(found),
        answer=answer(found),
        passes=found.passes,
        facts=facts_of(found, shared),
        sides=sides,
        task=task,
        overview=_overview(apart) if len(found.sides) > 1 else None,
        notices=found.notices,
        left_out=[]
        if len(files) > 1
        else [
            f"per_sample_diff.json has more than {_MOST_CARRIED} samples; see the file next to it."
        ],
        command=found.command,
    )


def facts_of(found: Validation, shared: str | None = None) -> tuple[tuple[str, str], ...]:
    """Return what the answers were compared with, as pairs of name and text.

    Args:
        shared: What names in tables leave out.
    """
    names = found.samples
    shown = "; ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
    rows = [
        ("Reference" if found.sides else "Model", found.reference),
        ("", found.reference_note or ""),
        ("Samples", f"{len(names):,}: {shown}"),
        ("Bindings", bindings_text(found) if found.inputs else ""),
        ("Sides", shared or ""),
        ("Made", _moment(found.created)),
    ]
    return tuple(row for row in rows if row[1])


def _moment(created: str | None) -> str:
    """Return ``2026-11-21 11:17:09 UTC``; nothing where it is not known."""
    return f"{created[:19].replace('T', ' ')} UTC" if created else ""


def _overview(found: Validation) -> Figures:
    """Return the sides in a table: each with the output farthest from its reference."""
    rows = []
    for side in found.sides:
        mark = "passes" if side.passes else "no outputs" if side.failure else "fails"
        worst = side.diff.worst if side.diff else None
        figures = worst.figures if worst else None
        rows.append(
            (
                side.label,
                mark,
                side.tolerance,
                worst.output if worst else UNKNOWN,
                error_text(figures.max_abs_error if figures else None),
                error_text(figures.error_to_spread if figures else None),
                cosine_text(figures.cosine if figures else None),
            )
        )
    return Figures(
        caption="Sides, each with the output and sample farthest from the reference",
        headers=("Side", "", "Limits", "Output", "Max |error|", "RMSE ÷ spread", "Cosine"),
        rows=tuple(rows),
        numbers=(4, 5, 6),
    )
