"""The files of a comparison of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.jsonio import write_atomic

if TYPE_CHECKING:
    from enginescope.analysis.validation import Validation


def write_files(found: Validation, output: Path) -> None:
    """Write ``output_diff.json`` and ``per_sample_diff.json``."""
    from enginescope.render.validate_data import output_diff_json, per_sample_json

    write_atomic(output / "output_diff.json", output_diff_json(found))
    write_atomic(output / "per_sample_diff.json", per_sample_json(found))
