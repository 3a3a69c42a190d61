import re

from enginescope.records.tensor import DataType
from enginescope.render.base.palette import (
    OTHER,
    PRECISIONS,
    family_color,
    precision_color,
    type_family,
)


def test_every_precision_has_a_colour_of_its_own() -> None:
    assert len(set(PRECISIONS.values())) == len(PRECISIONS)
    assert all(re.fullmatch(r"#[0-9A-F]{6}", color) for color in PRECISIONS.values())
    assert set(PRECISIONS) - {"TF32"} <= {one.value for one in DataType}
    assert precision_color(None) == OTHER


def test_the_same_work_has_the_same_colour_whoever_names_it() -> None:
    assert type_family("Convolution") == type_family("Conv") == type_family("QLinearConv")
    assert type_family("CaskConvolution") == type_family("Conv")
    assert type_family("QLinearAdd") == type_family("Add") == "element by element"
    assert type_family("MatrixMultiply") == type_family("Gemm") == type_family("MatMul")
    assert type_family("Reformat") == type_family("Transpose") == "moving data"
    assert type_family(None) == type_family("Frobnicate") == "other"
    assert family_color("other") == family_color(None) == OTHER
