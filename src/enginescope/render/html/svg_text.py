"""Pieces of SVG that figures put together themselves are made of."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from enginescope.render.html.theme import LIGHT, PICTURE_FONT

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
