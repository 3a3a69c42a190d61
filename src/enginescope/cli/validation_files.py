"""The files of a comparison of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.jsonio import write_atomic

if TYPE_CHECKING:
    from enginescope.analysis.validation import Validation
    from enginescope.validation_run import ValidationRun


def write_files(found: Validation, doing: ValidationRun, output: Path) -> None:
    """Write ``output_diff.json``, ``per_sample_diff.json`` and ``validate.html``."""
    from enginescope.render.answer_panels import WorstAnswer
    from enginescope.render.validate_data import output_diff_json, per_sample_json
    from enginescope.render.validate_page import validate_page

    worst = []
    for side in found.sides:
        one = side.diff.worst if side.diff else None
        if one is None or one.figures is None:
            continue
        reference, candidate = doing.values_of(side.label, one.sample, one.output)
        worst.append(
            WorstAnswer(
                side=side.label,
                sample=one.sample,
                name=one.name,
                reference=reference,
                candidate=candidate,
            )
        )
    write_atomic(output / "output_diff.json", output_diff_json(found))
    write_atomic(output / "per_sample_diff.json", per_sample_json(found))
    write_atomic(output / "validate.html", validate_page(found, worst))
