"""Tooltips over rows in which some numbers are not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.core.units import format_significant
from enginescope.render.html.images import Spec, tooltip

_UNKNOWN = "—"


def with_tips(rows: Sequence[Spec], titles: Mapping[str, str]) -> tuple[list[Spec], list[Spec]]:
    """Return the rows and the tooltip over them.

    Vega writes a number that is missing as 0; where any is, the numbers of that field become texts
    in a field of their own.

    Args:
        titles: As in `tooltip`.
    """
    fields: dict[str, str] = {}
    unknown = []
    for field, title in titles.items():
        if any(row[field] is None for row in rows):
            unknown.append(field)
            fields[f"{field}_text"] = title.removesuffix("#")
        else:
            fields[field] = title
    texts = [{f"{one}_text": _text(row[one]) for one in unknown} for row in rows]
    told = [{**row, **text} for row, text in zip(rows, texts, strict=True)]
    return told, tooltip(**fields)


def _text(value: object) -> str:
    if value is None:
        return _UNKNOWN
    return format_significant(value, 6) if isinstance(value, (int, float)) else str(value)
