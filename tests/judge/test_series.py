from __future__ import annotations

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.stats.series import as_series


def test_a_series_comes_back_as_float64() -> None:
    found = as_series([1, 2, 3])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named_by_its_place(bad: float) -> None:
    with pytest.raises(UsageError, match="sample 2 is"):
        as_series([1.0, 2.0, bad, 4.0, bad])


def test_two_dimensions_are_refused() -> None:
    with pytest.raises(UsageError, match="2 dimensions"):
        as_series(np.ones((2, 2)))


def test_too_few_values_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="warm-up: 3 values, and 4 are needed") as caught:
        as_series([1.0, 2.0, 3.0], name="warm-up", at_least=4)
    assert caught.value.hint
