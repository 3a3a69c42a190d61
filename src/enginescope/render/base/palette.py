"""Colors that keep their meaning everywhere, and the look of charts, light and dark.

No color carries a meaning alone. Precisions and series are the eight colors of Okabe and Ito,
"Color Universal Design" (2008), and the gray that R's palette of that name adds. Kinds of work have
colors of their own, after Paul Tol's muted scheme (2021), so that no color of a page means a type
here and a precision there. Amounts are viridis, which Vega knows by name.
"""

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from enginescope.core.record import Record

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

#: For pictures that are measured here and shown elsewhere: these are equally wide, and one of them
#: is on nearly every machine.
PICTURE_FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"


class Theme(Record, frozen=True):
    """Colors of a surface and what is drawn on it."""

    name: str
    background: str
    ink: str
    soft: str
    line: str
    accent: str


LIGHT = Theme("light", "#ffffff", ink="#1b1f27", soft="#5b6472", line="#e3e6eb", accent="#0072B2")
DARK = Theme("dark", "#14171c", ink="#e8eaee", soft="#a0a8b5", line="#2c323c", accent="#56B4E9")


#: Pixels by which a label of an x axis may leave the plotting area.
LABEL_BOUND = 18


def chart_config(theme: Theme, *, background: str | None = None) -> dict[str, Any]:
    """Return the configuration for `theme`; the background is the theme's unless given."""
    words = {
        "labelColor": theme.soft,
        "titleColor": theme.soft,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    lines = {"domainColor": theme.line, "gridColor": theme.line, "tickColor": theme.line}
    return {
        "background": background or theme.background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**lines, **words, "titlePadding": 10, "labelFlush": False},
        "axisXQuantitative": {"labelBound": LABEL_BOUND},
        "axisXTemporal": {"labelBound": LABEL_BOUND, "labelSeparation": 8},
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
        "legend": {**words, "orient": "bottom"},
        **{mark: {"color": theme.accent} for mark in ("bar", "area", "line", "point")},
        "rule": {"color": theme.ink},
        "text": {"color": theme.ink, "fontSize": 12},
        "style": {
            "accent-band": {"color": theme.accent, "opacity": 0.3},
            "folded": {"color": theme.soft},
            "halo": {"stroke": theme.background, "strokeWidth": 3, "strokeJoin": "round"},
        },
    }


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
    return max(4, int(width / (0.55 * size)))  # a letter of Arial is so wide on average


BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
ORANGE = "#E69F00"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"

#: Less time and more, the sides of a comparison: hues that no precision has.
BETTER, WORSE = "#1A8A7D", "#B5452C"
SIDES = ("#6B7B94", "#C2458F", YELLOW, SKY, PURPLE, GREY)

#: For what is not known, or has no color of its own.
OTHER = "#7A869A"
#: Viridis at nine places, dark to light.
AMOUNT_STOPS = (
    *("#440154", "#472C7A", "#3B518B", "#2C718E", "#21908D"),
    *("#27AD81", "#5CC863", "#AADC32", "#FDE725"),
)

PRECISIONS = {
    "FP32": BLUE,
    "TF32": SKY,
    "FP16": ORANGE,
    "BF16": YELLOW,
    "INT8": GREEN,
    "FP8": PURPLE,
    "FP4": VERMILLION,
    "INT4": GREY,
}

#: Kind of work -> its color and the layer types and operators that do it.
_FAMILIES = {
    "convolution": ("#7B68C8", "conv deconv"),
    "matrix multiply": (
        "#CC6677",
        "gemm matmul matrixmultiply matrix_multiply fullyconnected fusedmatmul fusedgemm",
    ),
    "moving data": (
        "#999933",
        "reformat shuffle transpose reshape cast nocopy concat concatenation slice split gather",
    ),
    "pooling, resize": ("#44AA99", "pool pooling averagepool maxpool globalaveragepool resize"),
    "element by element": (
        "#DDCC77",
        """elementwise pointwise pointwisev2 add mul sub div relu sigmoid clip gelu erf activation
        tanh pow sqrt unary quantizelinear dequantizelinear scale""",
    ),
    "reduce, normalize": (
        "#AA4499",
        """softmax softmaxv2 reduce reducemean normalization layernormalization batchnormalization
        simplifiedlayernormalization skiplayernormalization""",
    ),
    "fused": ("#B58A63", "kgen myelin foreignnode attention multiheadattention"),
}
_FAMILY_OF = {name: family for family, (_, names) in _FAMILIES.items() for name in names.split()}


def precision_color(precision: str | None) -> str:
    """Return the fixed color of a precision by its name."""
    return PRECISIONS.get(precision or "", OTHER)


@lru_cache(maxsize=1024)  # the layers of a large plan are of a few types
def type_family(layer_type: str | None) -> str:
    """Return the kind of work a layer type or operator does; ``"other"`` when not known."""
    name = (layer_type or "").lower().removeprefix("qlinear")
    if name in _FAMILY_OF:
        return _FAMILY_OF[name]
    parts = ("conv", "gemm", "matmul", "pool", "reformat", "softmax", "myelin")
    return next((_FAMILY_OF[part] for part in parts if part in name), "other")


def family_color(family: str | None) -> str:
    """Return the color of a kind of work, the same in every picture."""
    return _FAMILIES[family][0] if family in _FAMILIES else OTHER


def channels_of(color: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#RRGGBB``."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def ink_on(color: str) -> str:
    """Return black or white, whichever has more contrast with ``#RRGGBB`` (WCAG 2.2)."""
    channels = [one / 255 for one in channels_of(color)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
