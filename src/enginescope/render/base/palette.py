"""Colors that keep their meaning everywhere. No color carries it alone.

Categories are the eight colors of Okabe and Ito, "Color Universal Design" (2008), and the gray
that R's palette of that name adds; amounts are viridis, which Vega knows by name.
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

#: For what is not known, or has no color of its own.
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

#: Kind of work -> its color and the layer types and operators that do it.
_FAMILIES = {
    "convolution": (BLUE, "conv deconv"),
    "matrix multiply": (
        ORANGE,
        "gemm matmul matrixmultiply matrix_multiply fullyconnected fusedmatmul fusedgemm",
    ),
    "moving data": (
        VERMILLION,
        "reformat shuffle transpose reshape cast nocopy concat concatenation slice split gather",
    ),
    "pooling, resize": (GREEN, "pool pooling averagepool maxpool globalaveragepool resize"),
    "element by element": (
        SKY,
        """elementwise pointwise pointwisev2 add mul sub div relu sigmoid clip gelu erf activation
        tanh pow sqrt unary quantizelinear dequantizelinear scale""",
    ),
    "reduce, normalize": (
        PURPLE,
        """softmax softmaxv2 reduce reducemean normalization layernormalization batchnormalization
        simplifiedlayernormalization skiplayernormalization""",
    ),
    "fused": (YELLOW, "kgen myelin foreignnode attention multiheadattention"),
}
_FAMILY_OF = {name: family for family, (_, names) in _FAMILIES.items() for name in names.split()}
_PARTS = ("conv", "gemm", "matmul", "pool", "reformat", "softmax", "myelin")


def precision_color(precision: str | None) -> str:
    """Return the fixed color of a precision by its name."""
    return PRECISIONS.get(precision or "", OTHER)


@lru_cache(maxsize=1024)  # the layers of a large plan are of a few types
def type_family(layer_type: str | None) -> str:
    """Return the kind of work a layer type or operator does; ``"other"`` when not known."""
    name = (layer_type or "").lower().removeprefix("qlinear")
    if name in _FAMILY_OF:
        return _FAMILY_OF[name]
    return next((_FAMILY_OF[part] for part in _PARTS if part in name), "other")


def family_color(family: str | None) -> str:
    """Return the color of a kind of work, the same in every picture."""
    return _FAMILIES[family][0] if family in _FAMILIES else OTHER


def type_color(layer_type: str | None) -> str:
    """Return the color of a layer type: that of the kind of work it does."""
    return family_color(type_family(layer_type))
