"""A chart and a plan's graph as a notebook shows them, and as files."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.render.base.data_table import UNKNOWN, xml_text
from enginescope.render.charts.tip_table import LEFT_OUT, NumberText
from enginescope.render.html.images import Chart, vega_spec
from enginescope.render.html.page_frame import live_script, script_json, vega_script

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Picture

_WIDTH = 760


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

        makers = {
            ".png": lambda: png_bytes(self.chart),
            ".svg": lambda: svg_text(self.chart).encode(),
            ".json": lambda: json.dumps(self.spec, indent=1).encode(),
        }
        return _saved(Path(path), makers, "a chart")

    def _repr_png_(self) -> bytes | None:
        try:
            return self._png
        except MissingDependencyError:
            return None

    def _repr_html_(self) -> str:
        try:
            still = picture(self._png, self.chart.title, width=_WIDTH)
            library = _library() if _brings_library() else ""
            shown = _live(still, "chart", vega_spec(self.chart), library)
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

        return png_bytes(self.chart, 1.25)  # twice of it is in each output

    def _table(self) -> str:
        table = self.chart.table
        if table is None:
            return ""
        head = "".join(f"<th>{escape(one)}</th>" for one in table.headers)
        rows = ("".join(f"<td>{escape(one)}</td>" for one in row) for row in table.rows)
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
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


def _saved(target: Path, makers: Mapping[str, Callable[[], bytes]], what: str) -> Path:
    make = makers.get(target.suffix.lower())
    if make is None:
        raise UsageError(f"cannot save {what} as {target.name}", hint=" or ".join(makers))
    write_atomic(target, make())
    return target


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
        makers = {".svg": lambda: self._picture.svg().encode(), ".png": self._picture.png}
        return _saved(Path(path), makers, "a graph")

    def _repr_png_(self) -> bytes | None:
        try:
            return self._picture.png(1.0)
        except (MissingDependencyError, UsageError):  # not installed, or too large for one
            return None

    def _repr_html_(self) -> str:
        words = f"Layers of {self._name} and what flows between them"
        png = self._repr_png_()
        still = picture(png, words) if png is not None else svg_picture(self._shown, words)
        return still if self._page is None else _live(still, "graph", self._page.decode())


#: The cell that brought the library, and which execution of it.
_BROUGHT: list[tuple[Any, int]] = []


def picture(data: bytes, words: str, *, width: int | None = None) -> str:
    """Return a PNG as an image of a fragment.

    Args:
        words: What is seen.
        width: In pixels of the page; by default the picture's own.
    """
    size = f" width='{width}'" if width else ""
    packed = base64.b64encode(data).decode()
    return (
        f"<img alt='{xml_text(words)}'{size} style='max-width:100%;max-height:60em' "
        f"src='data:image/png;base64,{packed}'>"
    )


def svg_picture(text: str, words: str) -> str:
    """Return an SVG as an image, so that ids and styles of several in a page cannot meet."""
    packed = base64.b64encode(text.encode()).decode()
    style = "max-width:100%;max-height:60em"
    return f"<img alt='{xml_text(words)}' style='{style}' src='data:image/svg+xml;base64,{packed}'>"


def _live(still: str, kind: str, content: Any, library: str = "") -> str:
    """Return a picture with what replaces it: a chart in Vega, or a page of a graph."""
    data = script_json(content)
    key = hashlib.sha256(f"{kind}{data}".encode()).hexdigest()[:16]
    return (
        f"<div data-enginescope='{key}'>{still}</div>"
        f"<script>{live_script().text}{library}enginescopeLive.{kind}('{key}', {data});</script>"
    )


@cache
def _library() -> str:
    """Return what makes Vega known to the outputs of a notebook, apart from any other Vega."""
    packed = base64.b64encode(gzip.compress(vega_script().text.encode(), 9, mtime=0)).decode()
    return (
        "window.enginescopeVega ??= (async () => {"
        f"const bytes = Uint8Array.from(atob('{packed}'), (one) => one.charCodeAt(0));"
        "const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));"
        "const text = await new Response(inflated).text(), before = globalThis.vega;"
        "new Function('define', 'module', 'exports', text)();"
        "const ours = globalThis.vega; globalThis.vega = before; return ours; })();"
        "document.dispatchEvent(new Event('enginescope-vega'));"
    )


def _brings_library() -> bool:
    """Return whether an output brings Vega: the first of a kernel, and of that cell run again.

    Outputs outside a notebook stand alone, so each brings it.
    """
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return True
    metadata = shell.get_parent().get("metadata", {}) if hasattr(shell, "get_parent") else {}
    now = metadata.get("cellId"), shell.execution_count
    is_again = bool(_BROUGHT) and now[0] == _BROUGHT[0][0] is not None and now != _BROUGHT[0]
    if _BROUGHT and not is_again:
        return False
    _BROUGHT[:] = [now]
    return True
