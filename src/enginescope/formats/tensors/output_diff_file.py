"""``output_diff.json``: ours, and files of older scripts, as far as they are understood."""

import re
import sys
from typing import Any

from enginescope.core.record import Record

#: Keys under which scripts keep their outputs.
_HOLDERS = ("outputs", "tensors", "aggregate", "aggregated", "summary", "results", "per_output")
_FIGURE = re.compile(r"mae|mse|max_?abs|mean_?abs|abs_?(diff|err)|cosine|max_?diff", re.IGNORECASE)


class ForeignDifference(Record, frozen=True, kw_only=True):
    """What another tool found of one output: its own words and numbers."""

    output: str
    figures: tuple[tuple[str, float], ...]


def is_output_diff(value: Any) -> bool:
    """Whether the values of a JSON file are a comparison of answers."""
    return is_ours(value) or bool(foreign_differences(value))


def is_ours(value: Any) -> bool:
    """Whether enginescope wrote it."""
    return isinstance(value, dict) and {"sides", "reference", "num_samples"} <= value.keys()


def foreign_differences(value: Any) -> tuple[ForeignDifference, ...]:
    """Return the outputs of another tool's comparison: by name, with what its keys call figures."""
    if isinstance(value, dict):
        for key in _HOLDERS:
            found = foreign_differences(value[key]) if key in value else ()
            if found:
                return found
        return tuple(one for name, inner in value.items() for one in _difference(str(name), inner))
    if isinstance(value, list):
        named = [one for one in value if isinstance(one, dict) and "name" in one]
        return tuple(one for inner in named for one in _difference(str(inner["name"]), inner))
    return ()


def _difference(name: str, inner: Any) -> list[ForeignDifference]:
    if not isinstance(inner, dict):
        return []
    figures = tuple(
        (str(key), float(value))
        for key, value in inner.items()
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max  # whole numbers in JSON know no end
    )
    if not any(_FIGURE.search(key) for key, _ in figures):
        return []
    return [ForeignDifference(output=name, figures=figures)]
