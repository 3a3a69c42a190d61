"""Colours that keep their meaning everywhere. No colour carries it alone.

Precisions and series are the eight colours of Okabe and Ito, "Color Universal Design" (2008), and
the grey that R's palette of that name adds. Kinds of work have colours of their own, after Paul
Tol's muted scheme (2021), so that no colour of a page means a type here and a precision there.
Amounts are viridis, which Vega knows by name.
"""

from __future__ import annotations

from functools import lru_cache

BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
ORANGE = "#E69F00"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"

#: For what is not known, or has no colour of its own.
OTHER = "#7A869A"
AMOUNTS = "viridis"

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

#: Kind of work -> its colour and the layer types and operators that do it.
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
    "reduce, normalise": (
        "#AA4499",
        """softmax softmaxv2 reduce reducemean normalization layernormalization batchnormalization
        simplifiedlayernormalization skiplayernormalization""",
    ),
    "fused": ("#B58A63", "kgen myelin foreignnode attention multiheadattention"),
}
_FAMILY_OF = {name: family for family, (_, names) in _FAMILIES.items() for name in names.split()}
_PARTS = ("conv", "gemm", "matmul", "pool", "reformat", "softmax", "myelin")


def precision_color(precision: str | None) -> str:
    """Return the fixed colour of a precision by its name."""
    return PRECISIONS.get(precision or "", OTHER)


@lru_cache(maxsize=1024)  # the layers of a large plan are of a few types
def type_family(layer_type: str | None) -> str:
    """Return the kind of work a layer type or operator does; ``"other"`` when not known."""
    name = (layer_type or "").lower().removeprefix("qlinear")
    if name in _FAMILY_OF:
        return _FAMILY_OF[name]
    return next((_FAMILY_OF[part] for part in _PARTS if part in name), "other")


def family_color(family: str | None) -> str:
    """Return the colour of a kind of work, the same in every picture."""
    return _FAMILIES[family][0] if family in _FAMILIES else OTHER


def type_color(layer_type: str | None) -> str:
    """Return the colour of a layer type: that of the kind of work it does."""
    return family_color(type_family(layer_type))


def ink_on(color: str) -> str:
    """Return black or white, whichever has more contrast with ``#RRGGBB`` (WCAG 2.2)."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
