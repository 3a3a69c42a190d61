"""Honest noise over several ways to round, and values that FP16 cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy.error_limits import ChannelNoise, ExpectedNoise, widest_noise
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import SideDiff
from enginescope.analysis.errors.output_tolerance import tolerance_named
from tests.analysis.answers import tensor

GENERATOR = np.random.default_rng(4)
SCORES = GENERATOR.standard_normal((8, 1, 1000))


def noise(rmse: float, slope: float | None, *channels: float | None) -> ExpectedNoise:
    along = ChannelNoise(axis=1, rmse=channels, peak=channels)
    return ExpectedNoise(rmse=rmse, peak=2 * rmse, slope=slope, channels=(along,))


def judged(reference: Any, candidate: Any, *orders: Any, row: str = "tf32") -> SideDiff:
    comparison = SideComparison("B", lambda _: tolerance_named(row))
    for at, values in enumerate(reference):
        rounded = [[tensor(order[at])] for order in orders]
        comparison.add(at, "s", [tensor(values)], [tensor(candidate[at])], rounded)
    return comparison.result()


def off(size: float, seed: int) -> Any:
    return SCORES + size * np.random.default_rng(seed).standard_normal(SCORES.shape)


def test_the_widest_noise_is_the_largest_of_each_error() -> None:
    both = [noise(1.0, 1.001, 3.0, None, 1.0), noise(2.0, 0.99, 2.0, None, 5.0)]
    widest = widest_noise(both)
    assert widest == noise(2.0, 0.99, 3.0, None, 5.0)
    assert widest_noise([noise(1.0, None, 1.0)]) == noise(1.0, None, 1.0)
    assert widest_noise([]) is None
    assert widest_noise([noise(1.0, 1.0, 1.0), None]) is None


def test_an_honest_engine_of_another_order_passes() -> None:
    """Its error is three times that of the nearest rounding, as where tensor cores drop bits."""
    nearest, dropped = off(7e-4, 1), off(2.1e-3, 2)
    for seed in range(3, 9):
        assert judged(SCORES, off(2.1e-3, seed), nearest, dropped).passes
    dead = np.where(np.arange(1000) == 7, 0.0, off(2.1e-3, 3))
    assert not judged(SCORES, dead, nearest, dropped).passes


def test_no_channel_of_1000_fails_by_chance_alone() -> None:
    """One rounded copy of eight elements a channel, and an engine three times as noisy."""
    failed = [not judged(SCORES, off(2.1e-3, 20 + at), off(7e-4, at)).passes for at in range(12)]
    assert sum(failed) <= 1


def test_a_sample_that_lacks_an_order_leaves_the_noise_unknown() -> None:
    comparison = SideComparison("B", lambda _: tolerance_named("tf32"))
    pair = [tensor(SCORES[0])], [tensor(SCORES[0])]
    comparison.add(0, "s", *pair, [pair[0], pair[0]])
    comparison.add(1, "s", *pair, [pair[0]])
    assert comparison.result().outputs[0].expected_noise is None


@pytest.mark.parametrize("scale", [1e-5, 1e-8])
def test_values_below_the_smallest_of_fp16_underflow_and_that_is_said_first(scale) -> None:
    lost = 0 * SCORES
    found = judged(scale * SCORES, lost, scale * SCORES * (1 + 1e-7), row="fp16")
    first, *others = found.outputs[0].reasons
    assert first.code == "underflow"
    assert "below FP16's smallest normal value of 6.1e-05" in first.message
    assert others


def test_a_channel_that_underflows_is_named_first() -> None:
    reference = SCORES.copy()
    reference[..., 5] *= 1e-6
    wrong = reference.copy()
    wrong[..., 5] = 0
    first = judged(reference, wrong, reference, row="fp16").outputs[0].reasons[0]
    assert first.code == "underflow"
    assert first.evidence["channels"] == [5]
    assert "channel 5 of axis 1" in first.message


def test_other_precisions_and_larger_values_do_not_underflow() -> None:
    for row, scale in (("bf16", 1e-8), ("fp16", 1.0)):
        found = judged(scale * SCORES, 0 * SCORES, scale * SCORES, row=row)
        codes = {reason.code for reason in found.outputs[0].reasons}
        assert codes
        assert "underflow" not in codes
