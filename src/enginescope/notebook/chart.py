"""A chart as a notebook shows it, and as a file.

A plan's graph as a notebook shows it, and as a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.charts.tip_table import LEFT_OUT, NumberText

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Picture
    from enginescope.render.html.images import Chart


_WIDTH = 760
#: Pixels a unit of a picture that stands in for a chart: twice of it is in each output.
_STILL_SCALE = 1.25


class ChartDisplay:
    """A chart.

    In a notebook it is drawn with hover and zoom; where scripts do not run, such as on a code host,
    a picture stands in its place. Its table is below. Nothing is loaded from a network. Pictures
    need ``pip install 'enginescope[plots]'``; without it the table is shown.
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    def __repr__(self) -> str:
        """Return one line with the title."""
        return f"<ChartDisplay {self.chart.key}: {self.chart.title}>"

    @property
    def spec(self) -> dict[str, Any]:
        """The chart in Vega-Lite, for any tool that draws it."""
        return self.chart.complete(width=_WIDTH)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table behind the picture, one dictionary a row.

        Columns of numbers hold numbers, unrounded where the chart has them so, and ``None`` for
        what is not known. A long table has its first rows alone.
        """
        table = self.chart.table
        if table is None:
            return []
        rows = [row for row in table.rows if not row[0].startswith(LEFT_OUT)]
        columns = [_numbers(column) for column in zip(*rows, strict=True)]
        return [dict(zip(table.headers, row, strict=True)) for row in zip(*columns, strict=True)]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the chart to `path`: ``.png``, ``.svg``, or ``.json`` in Vega-Lite.

        Raises:
            UsageError: Another ending.
            MissingDependencyError: Pictures need vl-convert.
        """
        from enginescope.render.html.images import png_bytes, svg_text

        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".png":
            data = png_bytes(self.chart)
        elif kind == ".svg":
            data = svg_text(self.chart).encode()
        elif kind == ".json":
            data = json.dumps(self.spec, indent=1).encode()
        else:
            raise UsageError(f"cannot save a chart as {target.name}", hint=".png, .svg or .json")
        write_atomic(target, data)
        return target

    def _repr_png_(self) -> bytes | None:
        try:
            return self._png
        except MissingDependencyError:
            return None

    def _repr_html_(self) -> str:
        from enginescope.notebook.live import live_chart, picture
        from enginescope.render.html.images import vega_spec

        try:
            still = picture(self._png, self.chart.title, width=_WIDTH)
            shown = live_chart(still, vega_spec(self.chart))
        except MissingDependencyError as error:
            title = f"<figcaption><b>{escape(self.chart.title)}</b></figcaption>"
            return (
                f"<figure>{title}<p>{escape(f'{error}; {error.hint}')}</p>{self._table()}</figure>"
            )
        table = f"<details><summary>Table</summary>{self._table()}</details>"
        return f"<figure style='margin:0'>{shown}{table if self.chart.table else ''}</figure>"

    @cached_property
    def _png(self) -> bytes:
        from enginescope.render.html.images import png_bytes

        return png_bytes(self.chart, _STILL_SCALE)

    def _table(self) -> str:
        table = self.chart.table
        if table is None:
            return ""
        head = "".join(f"<th>{escape(one)}</th>" for one in table.headers)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>" for row in table.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def displays(charts: Iterable[Chart | None]) -> dict[str, ChartDisplay]:
    """Return the charts that there are by their keys."""
    return {chart.key: ChartDisplay(chart) for chart in charts if chart is not None}


def _numbers(column: Sequence[str]) -> list[Any]:
    """Return a column's numbers where all that is known of it are numbers, else its texts."""
    numbers: list[Any] = []
    for cell in column:
        if cell in ("", UNKNOWN):
            numbers.append(None)
            continue
        if isinstance(cell, NumberText):
            numbers.append(cell.value)
            continue
        text = cell.replace(",", "").replace("−", "-")
        try:
            numbers.append(int(text) if text.lstrip("-").isdecimal() else float(text))
        except ValueError:
            return list(column)
    return numbers


class GraphDisplay:
    """A plan's layers and what flows between them.

    In a notebook it is a graph to walk in; where scripts do not run, and for a part of a plan, a
    picture. Nothing is loaded from a network.

    Args:
        name: Of the plan.
        page: The graph to walk in, as a page; ``None``: a picture alone.

    Raises:
        UsageError: What is asked for cannot be drawn.
    """

    def __init__(self, name: str, picture: Picture, page: bytes | None = None) -> None:
        self._name = name
        self._picture = picture
        self._page = page
        self._shown = picture.svg(is_light=True)

    def __repr__(self) -> str:
        """Return one line that names the plan."""
        return f"<GraphDisplay {self._name}>"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to `path`: ``.svg`` or ``.png``.

        Raises:
            UsageError: Another ending.
            MissingDependencyError: A PNG needs vl-convert; the message says how to get it.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            data = self._picture.svg().encode()
        elif kind == ".png":
            data = self._picture.png()
        else:
            raise UsageError(f"cannot save a graph as {target.name}", hint=".svg or .png")
        write_atomic(target, data)
        return target

    def _repr_png_(self) -> bytes | None:
        try:
            return self._picture.png(1.0)
        except (MissingDependencyError, UsageError):  # not installed, or too large for one
            return None

    def _repr_html_(self) -> str:
        from enginescope.notebook.live import live_graph, picture, svg_picture

        words = f"Layers of {self._name} and what flows between them"
        png = self._repr_png_()
        still = picture(png, words) if png is not None else svg_picture(self._shown, words)
        return live_graph(still, self._page) if self._page is not None else still
