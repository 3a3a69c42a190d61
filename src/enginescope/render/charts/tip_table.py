"""The table behind a picture: what its tooltips say, a row for each mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.judge.units import format_significant
from enginescope.render.base.figures import UNKNOWN
from enginescope.render.html.images import ChartTable

NOT_KNOWN = "not known"
#: How the row begins that stands for those left out.
LEFT_OUT = "… "


class NumberText(str):
    """A number as it is shown, with the number itself."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, value: float, digits: int = 4) -> NumberText:
        text = super().__new__(cls, format_significant(value, digits))
        text.value = value
        return text


def table_of_tips(rows: Sequence[Mapping[str, object]], tips: Mapping[str, str]) -> ChartTable:
    """Return the rows under the titles of their tooltips; a long table says how many are left out.

    Args:
        tips: Fields and their titles, as in `tooltip`.
    """
    headers = tuple(f"{title[:1].upper()}{title[1:]}".removesuffix("#") for title in tips.values())
    shown = [tuple(_cell(row[field]) for field in tips) for row in rows[:250]]
    if len(rows) > len(shown):
        shown.append((f"{LEFT_OUT}{len(rows) - len(shown):,} more", *("" for _ in headers[1:])))
    return ChartTable(headers=headers, rows=tuple(shown))


def _cell(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return NumberText(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
