import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.report_card.layer_groups import amount_bins, is_even_range


def widths(values: list[float], *, binary: bool = False) -> list[float]:
    return [each.high - each.low for each in amount_bins(values, binary=binary) if each.high]


def test_zeros_have_a_bin_of_their_own() -> None:
    first, *rest = amount_bins([0, 0, 3, 5, 1024], binary=True)
    assert (first.low, first.high, first.count, first.total) == (0, 0, 2, 0)
    assert sum(each.count for each in rest) == 3
    assert amount_bins([]) == ()
    assert [each.count for each in amount_bins([0.0])] == [1]


def test_edges_are_round() -> None:
    edges = [each.low for each in amount_bins([0.0012, 0.5, 3.0])]
    assert edges[:6] == [0.001, 0.0016, 0.0025, 0.004, 0.0063, 0.01]
    assert [each.low for each in amount_bins([4.1, 16.9])] == [float(low) for low in range(4, 17)]
    powers = [each.low for each in amount_bins([100, 10_000_000], binary=True)]
    assert all(math.log2(low).is_integer() for low in powers)
    even = [each.low for each in amount_bins([4096, 9000], binary=True)]
    assert even[:3] == [4096, 4608, 5120]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ratio", [1.02, 1.6, 2.4, 4.25, 6.9])
def test_values_within_a_decade_have_few_bins_of_one_width(ratio: float, binary: bool) -> None:
    """105 layers of 4.0 to 17.0 µs had 75 bins, most of them empty, in three widths."""
    for least in (0.0040003, 0.19, 3.0, 4096.0):
        found = widths([least, least * ratio], binary=binary)
        assert 8 <= len(found) <= 24
        assert found == pytest.approx([found[0]] * len(found), rel=1e-6)
        assert is_even_range([least, least * ratio])


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ratio", [7.1, 30, 1e3, 1e5, 1e9])
def test_logarithmic_bins_grow_by_nearly_one_ratio(ratio: float, binary: bool) -> None:
    for least in (0.0040003, 3.0, 4096.0):
        bins = amount_bins([least, least * ratio], binary=binary)
        found = widths([least, least * ratio], binary=binary)
        assert all(narrow < wide for narrow, wide in itertools.pairwise(found))
        ratios = [each.high / each.low for each in bins]
        assert max(ratios) < 1.06 * min(ratios)
        assert not is_even_range([least, least * ratio])


def test_an_even_distribution_is_no_comb() -> None:
    rng = random.Random(3)
    for values in (
        [rng.uniform(3, 18) for _ in range(20_000)],
        [math.exp(rng.uniform(0, 4)) for _ in range(20_000)],
    ):
        counts = [each.count for each in amount_bins(values)][1:-1]
        assert max(counts) < 1.4 * min(counts)


@settings(deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e12)), max_size=60), st.booleans())
def test_every_value_is_in_one_bin(values, binary) -> None:
    bins = amount_bins(values, binary=binary)
    assert sum(each.count for each in bins) == len(values)
    assert sum(each.total for each in bins) == pytest.approx(sum(values))
    real = [each for each in bins if each.high]
    assert all(each.low < each.high for each in real)
    assert all(a.high == b.low for a, b in itertools.pairwise(real))
    positive = [value for value in values if value > 0]
    if positive:
        assert 0 < real[0].low <= min(positive)
        assert max(positive) < real[-1].high
        assert real[0].count
        assert real[-1].count
