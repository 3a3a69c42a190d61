from enginescope.analysis.report_card.layer_groups import type_tables
from tests.analysis.card_plans import small_view


def test_types_with_their_slowest_layers_and_own_fields() -> None:
    conv, reformat, product = type_tables(small_view(), top=1)
    assert (conv.group.key, conv.group.layers) == ("Convolution", 2)
    assert [row.layer.name for row in conv.slowest] == ["conv"]
    assert conv.fields == ("Kernel", "Stride", "Groups")
    assert reformat.fields == ("Origin",)
    assert product.fields == ()


def test_inert_layers_are_no_type() -> None:
    tables = type_tables(small_view(timed=False))
    assert {one.group.key for one in tables} == {"Convolution", "Reformat", "gemm"}
    assert [row.layer.name for row in tables[0].slowest] == ["conv", "depthwise"]
