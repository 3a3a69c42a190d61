"""Shifts of few values, held against enumeration and SciPy."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.hodges_lehmann import (
    _rank_sum_counts,
    _signed_rank_counts,
    paired_shift,
    processes_needed,
    rounds_needed,
    unpaired_shift,
)

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=20, unique=True)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_signed_ranks_are_those_of_all_signs(n) -> None:
    sums = Counter(
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in product((False, True), repeat=n)
    )
    wanted = [sums[one] / 2**n for one in range(n * (n + 1) // 2 + 1)]
    assert np.allclose(_signed_rank_counts(n), wanted)


@pytest.mark.parametrize(("m", "n"), [(1, 5), (4, 4), (5, 3), (3, 9)])
def test_rank_sums_are_those_of_all_orders(m, n) -> None:
    sums = Counter(sum(one) - m * (m - 1) // 2 for one in combinations(range(m + n), m))
    whole = sum(sums.values())
    assert np.allclose(_rank_sum_counts(m, n), [sums[one] / whole for one in range(m * n + 1)])


def test_rank_sums_of_many_stay_exact_and_too_few_have_no_interval() -> None:
    counts = _rank_sum_counts(40, 40)
    assert counts.min() > 0
    assert np.allclose(counts, counts[::-1], rtol=1e-12)
    assert counts.sum() == pytest.approx(1, abs=1e-12)
    assert unpaired_shift([1, 2, 3], [5, 6, 7], confidence=0.95).low is None
    assert unpaired_shift([1, 2, 3, 4], [5, 6, 7, 8], confidence=0.95)[1:] == (1, 7)
    with pytest.raises(UsageError, match="0 values"):
        paired_shift([], confidence=0.95)
    with pytest.raises(UsageError, match="nan"):
        unpaired_shift([1.0], [float("nan")], confidence=0.95)


@pytest.mark.parametrize(("k", "confidence"), [(6, 0.95), (7, 0.984), (8, 0.99)])
def test_the_fewest_rounds_span_all_values_and_fewer_have_no_interval(k, confidence) -> None:
    found = paired_shift(np.arange(k, dtype=float), confidence=confidence)
    assert (found.low, found.high) == (0, k - 1)
    fewer = paired_shift(np.arange(k - 1, dtype=float), confidence=confidence)
    assert (fewer.low, fewer.value) == (None, pytest.approx((k - 2) / 2))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99, 0.99375, 0.9999])
def test_what_ranks_need_is_the_fewest_that_have_an_interval(confidence) -> None:
    rounds, processes = rounds_needed(confidence), processes_needed(confidence)
    values = np.arange(float(rounds + processes))
    assert paired_shift(values[:rounds], confidence=confidence).low is not None
    assert paired_shift(values[: rounds - 1 or 1], confidence=confidence).low is None or rounds == 1
    a, fewer = values[:processes], values[: processes - 1 or 1]
    assert unpaired_shift(a, a, confidence=confidence).low is not None
    assert unpaired_shift(fewer, fewer, confidence=confidence).low is None or processes == 1


@given(VALUES, VALUES)
def test_signs_or_sides_exchanged_turn_the_interval_over(a, b) -> None:
    there, back = (paired_shift(sign * np.array(a), confidence=0.95) for sign in (1, -1))
    assert there.value == pytest.approx(-back.value)
    assert there.low == pytest.approx(-back.high)
    there, back = unpaired_shift(a, b, confidence=0.95), unpaired_shift(b, a, confidence=0.95)
    assert there.low == pytest.approx(-back.high)


def test_the_interval_is_what_the_test_does_not_reject() -> None:
    values = np.random.default_rng(3).normal(1, 1, 12)
    found = paired_shift(values, confidence=0.95)
    for shift, inside in ((found.low + 1e-6, True), (found.low - 1e-6, False)):
        p = scipy.stats.wilcoxon(values - shift, method="exact").pvalue
        assert bool(p > 0.05) is inside
    draw = np.random.default_rng(4)
    a, b = draw.normal(0, 1, 9), draw.normal(1, 2, 11)
    found = unpaired_shift(a, b, confidence=0.95)
    for shift, inside in ((found.high - 1e-6, True), (found.high + 1e-6, False)):
        p = scipy.stats.mannwhitneyu(b - shift, a, method="exact").pvalue
        assert bool(p > 0.05) is inside


@pytest.mark.parametrize("kind", ["normal", "heavy"])
def test_it_covers(kind) -> None:
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(1500, 10)) if kind == "normal" else draw.standard_t(1.5, (1500, 10))
    found = [paired_shift(row, confidence=0.95) for row in rows]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.94 < covered < 0.985  # ranks are whole: 10 rounds can hold 95.1 %
