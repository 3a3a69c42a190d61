"""Compared outputs in a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.validation.validation import Validation
from enginescope.notebook.html.fragment import data_table, fact_list, fragment, notice_list
from enginescope.render.accuracy.validate_phrases import (
    OUTPUT_HEADERS,
    answer,
    output_row,
    reason_texts,
)


def validation_html(validation: Validation) -> str:
    """Return the result, and a table with a row for each output of each side."""
    reference = validation.reference
    if validation.reference_note:
        reference += f": {validation.reference_note}"
    skipped = f"; {len(validation.skipped):,} skipped" if validation.skipped else ""
    return fragment(
        answer(validation),
        fact_list((("reference", reference), ("samples", f"{len(validation.samples):,}{skipped}"))),
        data_table(
            "Outputs",
            ("side", *OUTPUT_HEADERS, "why"),
            _rows(validation),
            numbers=OUTPUT_HEADERS[2:],
        ),
        notice_list(validation.notices),
    )


def _rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    for side in validation.sides:
        if side.diff is None:
            why = side.failure or "the inputs are not the reference's"
            yield (side.label, "", "✗", *[""] * len(OUTPUT_HEADERS[2:]), why)
        for output in side.diff.outputs if side.diff else ():
            yield (side.label, *output_row(output), "; ".join(reason_texts(output)))
