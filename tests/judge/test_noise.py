import math

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.judge.comparison.hodges_lehmann import paired_shift
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.run_to_run import POWER, scatter_of, smallest_difference


def test_the_scatter_of_normal_processes_in_any_unit() -> None:
    medians = 3.0 * np.exp(0.01 * np.random.default_rng(1).standard_normal(2_000))
    assert scatter_of(list(medians)) == pytest.approx(1.96 * 0.01, rel=0.05)
    medians = [1.0, 1.02, 0.99, 1.01]
    assert scatter_of(medians) == pytest.approx(scatter_of([1e3 * one for one in medians]))


@pytest.mark.parametrize("medians", [[1.0], [1.0, 0.0]])
def test_too_little_to_tell(medians) -> None:
    with pytest.raises(UsageError):
        scatter_of(medians)


def test_the_smallest_difference_is_found_as_often_as_said() -> None:
    noise = 0.01
    least = smallest_difference(noise * np.random.default_rng(2).standard_normal(2_000), 14)
    draw = np.random.default_rng(3)
    seen = [
        paired_shift(least + noise * draw.standard_normal(14), confidence=LOOK_CONFIDENCE).low > 0
        for _ in range(1_000)
    ]
    assert np.mean(seen) == pytest.approx(POWER, abs=0.05)
    differences = 0.01 * np.random.default_rng(4).standard_normal(20)
    some, many = (smallest_difference(differences, n) for n in (40, 160))
    assert many == pytest.approx(some / 2, rel=0.15)
    assert smallest_difference(differences, 240) == pytest.approx(many / math.sqrt(1.5))
    assert smallest_difference([0.01, -0.01, 0.02], 6) is None
    assert smallest_difference([0.0] * 8, LOOKS[0]) == 0.0
