import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.render.charts.distribution import log_axis


def test_a_wide_axis_names_powers_and_a_narrow_one_what_lies_between() -> None:
    assert log_axis([1e-3, 1e5])["axis"]["values"] == [10.0**power for power in range(-3, 6)]
    assert log_axis([2.0, 9.0])["axis"]["values"] == [2, 3, 4, 5, 6, 8, 10]


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e15), min_size=1, max_size=20))
def test_every_value_is_inside_and_some_are_named(values) -> None:
    found = log_axis(values)
    low, high = found["scale"]["domain"]
    assert low < min(values)
    assert max(values) < high
    ticks = found["axis"]["values"]
    assert 1 <= len(ticks) <= 9
    assert all(low <= one <= high for one in ticks)


def test_one_value() -> None:
    assert log_axis([5.0])["axis"]["values"] == pytest.approx([4.4, 4.6, 4.8, 5, 5.2, 5.4, 5.6])


@pytest.mark.parametrize("values", [[2.5e-107, 1.0], [5e-324, 1.7e308]])
def test_a_range_beyond_all_measure_has_few_ticks_within(values) -> None:
    found = log_axis(values)
    low, high = found["scale"]["domain"]
    assert 0 < low <= min(values)
    assert max(values) <= high < math.inf
    assert 1 <= len(found["axis"]["values"]) <= 9
    assert all(low <= one <= high for one in found["axis"]["values"])
