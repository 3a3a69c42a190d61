import gc

import numpy as np
import pytest

from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats import autocorrelation
from enginescope.judge.stats.describe import describe
from enginescope.judge.stats.series import once_per_series
from enginescope.judge.stats.stability import notices_of


@pytest.fixture
def total():
    """A sum that is remembered, and the calls that were not."""
    calls = []

    @once_per_series
    def total(series, factor=1.0, other=None):
        calls.append(1)
        return factor * float(series.sum()) + (0 if other is None else float(other.sum()))

    return total, calls


def test_once_for_each_series_and_each_time_for_what_may_change(total) -> None:
    compute, calls = total
    one, two = frozen([1.0, 2.0]), frozen([1.0, 2.0])
    assert [compute(one), compute(one), compute(one, 2.0), compute(one, 2.0)] == [3, 3, 6, 6]
    assert compute(two) == 3
    assert compute(one, 1.0, two) == compute(one, 1.0, two) == 6
    assert len(calls) == 4
    values = np.array([1.0, 2.0])
    part = values[:1]
    part.setflags(write=False)
    assert (compute(values), compute(part)) == (3, 1)
    values[0] = 5.0
    assert (compute(values), compute(part)) == (7, 5)
    assert compute(frozen([0.0]), 1.0, values) == 7
    values[0] = 6.0
    assert compute(frozen([0.0]), 1.0, values) == 8


def test_nothing_is_remembered_of_samples_that_are_gone(total) -> None:
    compute, _ = total
    for value in range(100):  # arrays that are gone make room for others at the same place
        assert compute(frozen([float(value)])) == value
    gc.collect()
    known = compute.__closure__
    assert [len(cell.cell_contents) for cell in known if isinstance(cell.cell_contents, dict)] == [
        0
    ]


def test_the_notices_and_the_summary_of_a_run_share_their_interval(monkeypatch) -> None:
    calls = []
    real = autocorrelation.integrated_time
    monkeypatch.setattr(
        autocorrelation, "integrated_time", lambda values: calls.append(1) or real(values)
    )
    values = frozen(1 + np.random.default_rng(1).gamma(2, 0.1, 500))
    samples = Samples(metric="latency", values_ms=values)
    first = describe(samples)
    count = len(calls)
    notices_of(samples)
    again = len(calls)
    assert count > 0
    assert (describe(samples), notices_of(samples)) == (first, notices_of(samples))
    assert len(calls) == again
