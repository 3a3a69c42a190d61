"""Charts as PNG."""

from __future__ import annotations

from enginescope.core.errors import EnginescopeError
from enginescope.core.optional import require
from enginescope.render.charts.spec import Chart
from enginescope.render.png import recompressed
from enginescope.render.theme import LIGHT, chart_config

#: Vega-Lite version asked of vl-convert; the page carries a later 6.x of its own.
_VEGA_LITE = "6.1"
_WIDTH = 760
_SCALE = 2.0


def png_bytes(chart: Chart) -> bytes:
    """Return a chart as PNG on white, 2 pixels a unit.

    Raises
    ------
    MissingDependencyError
        vl-convert is not installed.
    EnginescopeError
        It refused the specification: a mistake of ours.
    """
    converter = require("vl_convert", purpose="writing PNG plots", install="enginescope[plots]")
    spec = {**chart.complete(width=_WIDTH), "padding": 18}
    try:
        png: bytes = converter.vegalite_to_png(
            vl_spec=spec, vl_version=_VEGA_LITE, config=chart_config(LIGHT), scale=_SCALE
        )
    except ValueError as error:
        raise EnginescopeError(f"cannot draw {chart.key}", why=str(error)) from error
    return recompressed(png)
