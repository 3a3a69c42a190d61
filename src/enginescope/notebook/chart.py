"""A chart as a notebook shows it, and as a file.

A plan's graph as a notebook shows it, and as a file.
"""

from __future__ import annotations

import base64
import json
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.jsonio import write_atomic

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Picture
    from enginescope.render.html.images import Chart


_WIDTH = 760


class ChartDisplay:
    """A chart.

    In a notebook it is a picture with its table below, plain HTML that needs no script and no
    network. The picture needs ``pip install 'enginescope[plots]'``; without it the table is shown.
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

    def rows(self) -> list[dict[str, str]]:
        """Return the table behind the picture, one dictionary a row."""
        table = self.chart.table
        return [dict(zip(table.headers, row, strict=True)) for row in table.rows] if table else []

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

    def _repr_html_(self) -> str:
        from enginescope.render.html.images import svg_text

        try:
            picture = self._picture(svg_text(self.chart))
        except MissingDependencyError as error:
            title = f"<figcaption><b>{escape(self.chart.title)}</b></figcaption>"
            return (
                f"<figure>{title}<p>{escape(f'{error}; {error.hint}')}</p>{self._table()}</figure>"
            )
        table = f"<details><summary>Table</summary>{self._table()}</details>"
        return f"<figure style='margin:0'>{picture}{table if self.chart.table else ''}</figure>"

    def _picture(self, svg: str) -> str:
        # As an image, so that ids and styles of several charts in a page cannot meet.
        data = base64.b64encode(svg.encode()).decode()
        title = escape(self.chart.title, quote=True)
        return f"<img alt='{title}' style='max-width:100%' src='data:image/svg+xml;base64,{data}'>"

    def _table(self) -> str:
        table = self.chart.table
        if table is None:
            return ""
        head = "".join(f"<th>{escape(one)}</th>" for one in table.headers)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>" for row in table.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class GraphDisplay:
    """A picture of a plan's layers and what flows between them.

    In a notebook it is an image that needs no script and no network.

    Args:
        name: Of the plan.

    Raises:
        UsageError: What is asked for cannot be drawn.
    """

    def __init__(self, name: str, picture: Picture) -> None:
        self._name = name
        self._picture = picture
        self._shown = picture.svg(theme="light")

    def __repr__(self) -> str:
        """Return one line that names the plan."""
        return f"<GraphDisplay {self._name}>"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to `path`: ``.svg``, ``.png``, or ``.dot``.

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
        elif kind == ".dot":
            data = self._picture.dot().encode()
        else:
            raise UsageError(f"cannot save a graph as {target.name}", hint=".svg, .png or .dot")
        write_atomic(target, data)
        return target

    def _repr_html_(self) -> str:
        from enginescope.render.base.data_table import xml_text

        # As an image, so that ids and styles of several pictures in a page cannot meet.
        data = base64.b64encode(self._shown.encode()).decode()
        words = xml_text(f"Layers of {self._name} and what flows between them")
        style = "max-width:100%;max-height:60em"
        return f"<img alt='{words}' style='{style}' src='data:image/svg+xml;base64,{data}'>"
