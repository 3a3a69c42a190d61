"""What every chart has in common."""

from __future__ import annotations

from textwrap import wrap
from typing import Any, TypeAlias

from enginescope.core.record import Record

#: A Vega-Lite specification without size and configuration.
Spec: TypeAlias = dict[str, Any]

#: Characters of a subtitle's line that a picture has room for.
_LINE = 120
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


class ChartTable(Record, frozen=True, kw_only=True):
    """What a picture shows, for readers of tables."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Chart(Record, frozen=True, kw_only=True):
    """One picture.

    Attributes:
        key: ``"latency_hist"``, …; the name of its file and its element.
        title: What is seen.
        subtitle: Lines that qualify it.
        spec: Vega-Lite, without title, size and configuration.
        table: ``None`` where the page has the same figures in a table anyway.
        height: Pixels of the plotting area; of each, where there are several above each other.
        is_wide: Whether it takes the page's whole width; else two of them may stand beside each
            other.
    """

    key: str
    title: str
    spec: Spec
    subtitle: tuple[str, ...] = ()
    table: ChartTable | None = None
    height: int = 260
    is_wide: bool = False

    def complete(self, *, width: int | str = "container", titled: bool = True) -> Spec:
        """Return the specification with its size, and its title unless `titled` is false."""
        lines = [line for one in self.subtitle for line in wrap(one, _LINE)]
        title = {"title": {"text": self.title, "subtitle": lines}} if titled else {}
        if "vconcat" in self.spec:  # pictures above each other have a size each
            size = {"width": width, "height": self.height}
            stacked = [{**size, **one} for one in self.spec["vconcat"]]
            return {"$schema": SCHEMA, **title, "vconcat": stacked}
        size = {"width": width, "height": self.height}
        fit = {"autosize": {"type": "fit-x", "contains": "padding"}} if width == "container" else {}
        return {"$schema": SCHEMA, **title, **size, **fit, **self.spec}


def quantity(field: str, title: str, **more: Any) -> Spec:
    """Return a quantitative channel; the title carries the unit."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def tooltip(**titles: str) -> list[Spec]:
    """Return tooltip fields, ``field="title"``; numbers show six significant figures."""
    return [
        {"field": field, "title": title.removesuffix("#")}
        | ({"type": "quantitative", "format": ",.6~g"} if title.endswith("#") else {})
        for field, title in titles.items()
    ]
