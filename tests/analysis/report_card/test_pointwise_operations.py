import pytest

from enginescope.analysis.report_card.layer_groups import (
    operations_of,
    pointwise_operations,
)
from tests.analysis.card_plans import layer, small_view, view_of

MAX = "auto const var0 = pwgen::iMax(arg0, literal0);"
SUM = "auto const var1 = pwgen::iPlus(var0, arg1);"


def pointwise(index: int, name: str, *operations: str, kind: str = "PointWise"):
    return layer(index, name, kind, [], [], attributes={"Operations": list(operations)})


def test_operations_from_the_plan_and_from_generated_names() -> None:
    assert operations_of(pointwise(0, "a", MAX, SUM, MAX)) == ("Max", "Plus", "Max")
    kgen = layer(0, "__myl_Res_myl9_1", "kgen", [], [], tactic_name="__myl_MulSumAdd_0x8622c4")
    assert operations_of(kgen) == ("Mul", "Sum", "Add")
    assert operations_of(layer(0, "__myl_Res_myl9_1", "kgen", [], [])) == ("Res",)
    assert operations_of(layer(0, "PWN(Relu_1)", "PointWise", [], [])) == ()


def test_time_is_that_of_the_layers_that_hold_it() -> None:
    view = view_of(
        pointwise(0, "a", MAX, SUM),
        pointwise(1, "b", MAX),
        pointwise(2, "dark"),
        layer(3, "conv", "Convolution", [], []),
        times={"a": 1.0, "b": 0.5, "dark": 0.25, "conv": 9.0},
    )
    found = {one.operation: one for one in pointwise_operations(view.facts)}
    assert list(found) == ["Max", "Plus", None]
    assert (found["Max"].layers, found["Max"].count, found["Max"].time_ms) == (2, 2, 1.5)
    assert found["Max"].even_ms == pytest.approx(1.0)
    assert (found["Plus"].time_ms, found["Plus"].even_ms) == (1.0, 0.5)
    assert (found[None].layers, found[None].time_ms) == (1, 0.25)
    even = sum(one.even_ms for one in found.values())
    assert even == pytest.approx(1.75)  # each pointwise layer once


def test_plans_without_any_and_without_times() -> None:
    assert pointwise_operations(small_view().facts) == ()
    (one,) = pointwise_operations(view_of(pointwise(0, "a", MAX)).facts)
    assert (one.time_ms, one.even_ms, one.count) == (None, None, 1)
