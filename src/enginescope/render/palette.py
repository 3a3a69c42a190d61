"""Colours that keep their meaning everywhere. No colour carries it alone.

Categories are the eight colours of Okabe and Ito, "Color Universal Design" (2008), and the grey
that R's palette of that name adds; amounts are viridis, which Vega knows by name.
"""

from __future__ import annotations

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

_FAMILIES = (
    (BLUE, "conv deconv"),
    (ORANGE, "gemm matmul matrixmultiply matrix_multiply fullyconnected fusedmatmul fusedgemm"),
    (VERMILLION, "reformat shuffle transpose reshape cast nocopy concat concatenation slice split"),
    (GREEN, "pool pooling averagepool maxpool globalaveragepool resize"),
    (SKY, "elementwise pointwise add mul sub div relu sigmoid clip gelu erf activation tanh pow"),
    (PURPLE, "softmax reduce normalization layernormalization batchnormalization reducemean"),
    (YELLOW, "kgen myelin foreignnode attention"),
)
_TYPES = {name: color for color, names in _FAMILIES for name in names.split()}


def precision_color(precision: str | None) -> str:
    """Return the fixed colour of a precision by its name."""
    return PRECISIONS.get(precision or "", OTHER)


def type_color(layer_type: str | None) -> str:
    """Return the colour of a layer type: that of its family, the same in every picture."""
    name = (layer_type or "").lower()
    if name in _TYPES:
        return _TYPES[name]
    return next(
        (_TYPES[part] for part in ("conv", "gemm", "pool", "reformat") if part in name), OTHER
    )
