"""Charts as PNG and SVG."""

from __future__ import annotations

from typing import Any

from enginescope.core.errors import EnginescopeError
from enginescope.core.optional import require
from enginescope.render.charts.spec import Chart
from enginescope.render.png import recompressed
from enginescope.render.theme import LIGHT, PICTURE_FONT, chart_config

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
    converter = _converter()
    try:
        png: bytes = converter.vegalite_to_png(**_request(chart), scale=_SCALE)
    except ValueError as error:
        raise EnginescopeError(f"cannot draw {chart.key}", why=str(error)) from error
    return recompressed(png)


def svg_text(chart: Chart) -> str:
    """Return a chart as SVG on white; raises what `png_bytes` raises."""
    converter = _converter()
    try:
        svg: str = converter.vegalite_to_svg(**_request(chart))
    except ValueError as error:
        raise EnginescopeError(f"cannot draw {chart.key}", why=str(error)) from error
    return svg


def _converter() -> Any:
    return require("vl_convert", purpose="drawing plots", install="enginescope[plots]")


def _request(chart: Chart) -> dict[str, Any]:
    return {
        "vl_spec": {**chart.complete(width=_WIDTH), "padding": 18},
        "vl_version": _VEGA_LITE,
        "config": {**chart_config(LIGHT), "font": PICTURE_FONT},
    }


def svg_png(text: str, scale: float) -> bytes:
    """Return an SVG as PNG, `scale` pixels a unit.

    Raises
    ------
    MissingDependencyError
        vl-convert is not installed.
    EnginescopeError
        It refused the SVG: a mistake of ours.
    """
    converter = require("vl_convert", purpose="writing PNG", install="enginescope[plots]")
    try:
        png: bytes = converter.svg_to_png(text, scale=scale, ppi=72)
    except ValueError as error:
        raise EnginescopeError("cannot turn the SVG into a PNG", why=str(error)) from error
    return recompressed(png, level=6)
