"""A drawing as PNG, and how large one may be."""

from __future__ import annotations

import re

from enginescope.core.errors import UsageError
from enginescope.render.html.images import svg_png

#: Pixels of one side that viewers show, and of the whole: 4 bytes of memory each.
MOST_SIDE, MOST_PIXELS = 32_767, 100_000_000
#: Dots per unit of the drawing where it is small enough for them.
SHARP = 2.0
_SIZE = re.compile(r'<svg [^>]*\bwidth="(\d+)" height="(\d+)"')


def graph_png(text: str, scale: float | None = None) -> bytes:
    """Return an SVG of ours as PNG.

    Args:
        text: From `svg`, with a theme of its own: a PNG cannot follow its viewer's.
        scale: Pixels a unit; unless given, 2 or, where that is too large, 1.

    Raises:
        UsageError: It would have too many pixels; says how many, and what to do.
        MissingDependencyError: vl-convert is not installed.
    """
    found = _SIZE.search(text)
    assert found is not None, "not an SVG of ours"
    width, height = int(found[1]), int(found[2])
    if scale is None:
        scale = SHARP if _fits(width, height, SHARP) else 1.0
    if not _fits(width, height, scale):
        raise UsageError(
            f"a PNG of {width * scale:,.0f} × {height * scale:,.0f} pixels is too large",
            why=f"at most {MOST_SIDE:,} a side and {MOST_PIXELS // 10**6:,} million pixels in all",
            hint="--svg FILE has no limit; --fold, --beam LAYER,N and --filter WHAT draw less",
        )
    return svg_png(text, scale)


def _fits(width: int, height: int, scale: float) -> bool:
    sides = width * scale, height * scale
    return max(sides) <= MOST_SIDE and sides[0] * sides[1] <= MOST_PIXELS
