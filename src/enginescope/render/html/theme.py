"""The look of charts, light and dark, as Vega-Lite configuration.

Pieces of SVG that figures put together themselves are made of.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from enginescope.core.record import Record

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

#: For pictures that are measured here and shown elsewhere: these are equally wide, and one of them
#: is on nearly every machine.
PICTURE_FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"


class Theme(Record, frozen=True, kw_only=True):
    """Colors of a surface and what is drawn on it."""

    name: str
    background: str
    ink: str
    soft: str
    line: str
    accent: str


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#1b1f27",
    soft="#5b6472",
    line="#e3e6eb",
    accent="#0072B2",
)
DARK = Theme(
    name="dark",
    background="#14171c",
    ink="#e8eaee",
    soft="#a0a8b5",
    line="#2c323c",
    accent="#56B4E9",
)


def chart_config(theme: Theme, *, background: str | None = None) -> dict[str, Any]:
    """Return the configuration for `theme`; the background is the theme's unless given."""
    return {
        "background": background or theme.background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "domainColor": theme.line,
            "gridColor": theme.line,
            "tickColor": theme.line,
            "labelColor": theme.soft,
            "titleColor": theme.soft,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titlePadding": 10,
        },
        "title": {
            "anchor": "start",
            "color": theme.ink,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": theme.soft,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
        },
        "legend": {
            "labelColor": theme.soft,
            "titleColor": theme.soft,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "bottom",
        },
        "bar": {"color": theme.accent},
        "area": {"color": theme.accent},
        "line": {"color": theme.accent},
        "point": {"color": theme.accent},
        "rule": {"color": theme.ink},
        "text": {"color": theme.ink, "fontSize": 12},
        "style": {
            "accent-band": {"color": theme.accent, "opacity": 0.3},
            "folded": {"color": theme.soft},
            "halo": {"stroke": theme.background, "strokeWidth": 3, "strokeJoin": "round"},
        },
    }


#: Width of a letter of Arial on average, in sizes of the font.
_LETTER = 0.55


def document(width: float, height: float, parts: Sequence[str]) -> str:
    """Return an SVG on white."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    box = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ground = f'<rect width="100%" height="100%" fill="{LIGHT.background}"/>'
    return f"<svg {spaces} {size} {box}>{ground}{''.join(parts)}</svg>"


def words(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 12,
    is_soft: bool = False,
    is_bold: bool = False,
    anchor: str = "start",
) -> str:
    """Return a line of text whose baseline is at `y`."""
    color = LIGHT.soft if is_soft else LIGHT.ink
    weight = ' font-weight="600"' if is_bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    face = f"font-family={quoteattr(PICTURE_FONT)}"
    return f'<text {place} {face} font-size="{size}" fill="{color}"{weight}>{escape(text)}</text>'


def picture(x: float, y: float, size: tuple[float, float], png: bytes) -> str:
    """Return a PNG at a place, width × height."""
    data = base64.b64encode(png).decode()
    place = f'x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}"'
    return f'<image {place} preserveAspectRatio="none" xlink:href="data:image/png;base64,{data}"/>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a hairline."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{LIGHT.line}" stroke-width="1"/>'


def letters(width: float, size: float) -> int:
    """Return how many letters have room."""
    return max(4, int(width / (_LETTER * size)))
