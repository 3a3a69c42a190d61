"""Charts as PNG and SVG."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from enginescope.core.errors import EnginescopeError
from enginescope.core.optional import require
from enginescope.render.html.spec import Chart
from enginescope.render.html.theme import LIGHT, PICTURE_FONT, chart_config

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def recompressed(png: bytes, level: int = 9) -> bytes:
    """Return `png` with its image data deflated anew, other chunks as they are.

    The converter writes fast and large: flat charts come out at a third to a quarter.

    Args:
        png: A sound PNG file.
        level: Of zlib: 9 for the smallest; 6 takes a fifth of the time for hardly a percent.
    """
    before: list[bytes] = []
    after: list[bytes] = []
    packed = b""
    for kind, body in _chunks(png):
        if kind == b"IDAT":
            packed += body
        else:
            (after if packed else before).append(_chunk(kind, body))
    data = _chunk(b"IDAT", zlib.compress(zlib.decompress(packed), level))
    return b"".join((_SIGNATURE, *before, data, *after))


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += length + 12
    return found


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


#: Vega-Lite version asked of vl-convert; the page carries a later 6.x of its own.
_VEGA_LITE = "6.1"
_WIDTH = 760
_SCALE = 2.0


def png_bytes(chart: Chart) -> bytes:
    """Return a chart as PNG on white, 2 pixels a unit.

    Raises:
        MissingDependencyError: vl-convert is not installed.
        EnginescopeError: It refused the specification: a mistake of ours.
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

    Raises:
        MissingDependencyError: vl-convert is not installed.
        EnginescopeError: It refused the SVG: a mistake of ours.
    """
    converter = require("vl_convert", purpose="writing PNG", install="enginescope[plots]")
    try:
        png: bytes = converter.svg_to_png(text, scale=scale, ppi=72)
    except ValueError as error:
        raise EnginescopeError("cannot turn the SVG into a PNG", why=str(error)) from error
    return recompressed(png, level=6)
