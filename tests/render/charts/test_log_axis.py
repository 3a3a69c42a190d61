import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.render.charts.distribution import log_axis


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e15), min_size=1, max_size=20))
def test_every_value_is_inside(values) -> None:
    low, high = log_axis(values)["scale"]["domain"]
    assert low < min(values)
    assert max(values) < high


@pytest.mark.parametrize("values", [[2.5e-107, 1.0], [5e-324, 1.7e308]])
def test_a_range_beyond_all_measure_stays_within_numbers(values) -> None:
    low, high = log_axis(values)["scale"]["domain"]
    assert 0 < low <= min(values)
    assert max(values) <= high < math.inf


@pytest.mark.parametrize(
    ("values", "labels"), [([1e-3, 1e5], {"0.01", "1", "10000"}), ([5.0], {"4.6", "5", "5.4"})]
)
def test_wide_and_narrow_axes_have_labels(values, labels) -> None:
    converter = pytest.importorskip("vl_convert")
    x = {"field": "x", "type": "quantitative", **log_axis(values)}
    rows = [{"x": value} for value in values]
    spec = {"width": 500, "data": {"values": rows}, "mark": "point", "encoding": {"x": x}}
    svg = converter.vegalite_to_svg(spec, vl_version="6.1")
    assert all(f">{label}<" in svg for label in labels), svg
