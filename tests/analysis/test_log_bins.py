import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.log_bins import log_bins


def test_values_of_nothing_have_a_bin_of_their_own() -> None:
    first, *rest = log_bins([0, 0, 3, 5, 1024], binary=True)
    assert (first.low, first.high, first.count, first.total) == (0, 0, 2, 0)
    assert sum(one.count for one in rest) == 3
    assert log_bins([]) == ()
    assert [one.count for one in log_bins([0.0])] == [1]


def test_edges_are_round() -> None:
    edges = {one.low for one in log_bins([0.001, 0.5, 3.0])}
    assert edges <= {step * 10.0**power for step in (1, 2, 5) for power in range(-3, 1)} | {
        0.001,
        0.002,
        0.005,
        0.01,
        0.02,
        0.05,
        0.1,
        0.2,
        0.5,
    }
    powers = [one.low for one in log_bins([100, 10_000_000], binary=True)]
    assert all(math.log2(one).is_integer() for one in powers)


def test_narrow_values_still_have_several_bins() -> None:
    assert len(log_bins([1.0 + at / 100 for at in range(60)])) >= 8


@settings(deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e12)), max_size=60), st.booleans())
def test_every_value_is_in_one_bin(values, binary) -> None:
    bins = log_bins(values, binary=binary)
    assert sum(one.count for one in bins) == len(values)
    assert sum(one.total for one in bins) == pytest.approx(sum(values))
    real = [one for one in bins if one.high]
    assert all(one.low < one.high for one in real)
    assert all(a.high == b.low for a, b in itertools.pairwise(real))
    positive = [one for one in values if one > 0]
    if positive:
        assert real[0].low <= min(positive)
        assert max(positive) < real[-1].high
        assert real[0].count
        assert real[-1].count
