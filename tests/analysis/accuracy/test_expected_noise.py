"""Limits from the rounded reference: tighter and looser than the row, never beyond the ceiling."""

from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy import error_limits
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import SideDiff
from enginescope.analysis.errors.error_moments import CHUNK
from enginescope.analysis.errors.output_tolerance import tolerance_named
from tests.analysis.answers import codes, side, tensor

GENERATOR = np.random.default_rng(0)
REFERENCE = [GENERATOR.standard_normal((1, 6, 30, 40)) for _ in range(2)]
#: Channel 4 is a hundred times noisier than the others.
SIZES = np.array([1e-4, 1e-4, 1e-4, 1e-4, 1e-2, 1e-4]).reshape(6, 1, 1)


def off_by(sizes: Any, seed: int = 1) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [values + sizes * generator.standard_normal(values.shape) for values in REFERENCE]


def judged(candidate: list[Any], rounded: list[Any] | None, row: str = "fp16") -> SideDiff:
    return side(REFERENCE, candidate, row, *([] if rounded is None else [rounded]))


def test_the_noise_is_that_of_numpy_on_whole_arrays() -> None:
    rounded = off_by(SIZES)
    (output,) = judged(off_by(SIZES, 2), rounded).outputs
    error = np.concatenate(rounded) - np.concatenate(REFERENCE)
    noise = output.expected_noise
    assert noise.rmse == pytest.approx(np.sqrt(np.square(error).mean()), rel=1e-12)
    assert noise.peak == np.abs(error).max()
    (by_channel,) = (each for each in noise.channels if each.axis == 1)
    expected = np.sqrt(np.square(error).mean(axis=(0, 2, 3)))
    np.testing.assert_allclose(by_channel.rmse, expected)
    np.testing.assert_array_equal(by_channel.peak, np.abs(error).max(axis=(0, 2, 3)))
    sizes = np.abs(np.concatenate(REFERENCE)).max(axis=(0, 2, 3))
    limits = np.maximum(
        error_limits.NOISE_FACTOR * expected, tolerance_named("fp16").resolution / 2 * sizes
    )
    np.testing.assert_allclose(output.channels.rmse_limit, limits, rtol=0.05)


def test_a_channel_is_judged_by_its_own_noise_up_to_the_ceiling() -> None:
    wrong = off_by(np.where(np.arange(6)[:, None, None] == 2, 4e-3, SIZES), 2)
    assert judged(wrong, None).passes
    found = judged(wrong, off_by(SIZES))
    assert codes(found) == {"channel-error"}
    (reason,) = found.outputs[0].reasons
    assert reason.evidence["channels"] == [2]
    assert "of the reference's spread" in reason.message  # the resolution is the limit here
    assert "on channel 2 of axis 1" in reason.message
    noisy = np.where(np.arange(6)[:, None, None] == 4, 0.1, SIZES)
    assert "channel-error" in codes(judged(off_by(noisy, 2), None))
    assert judged(off_by(noisy, 2), off_by(noisy)).passes
    assert judged(off_by(1e-4), REFERENCE).passes
    assert not judged(off_by(2e-2), REFERENCE).passes
    destroyed = [np.concatenate([values[:, :5], 0 * values[:, 5:]], axis=1) for values in REFERENCE]
    found = judged(destroyed, destroyed, "int8")
    assert "channel-error" in codes(found)
    assert found.outputs[0].channels.rmse_limit[5] <= error_limits.CEILING * 1.01 * np.sqrt(
        np.square(np.concatenate(REFERENCE)[:, 5]).mean()
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda values: np.where(values > 2, np.nan, values),
        lambda values: values[:, :5],
        lambda values: values.astype(np.int64),
    ],
)
def test_a_rounded_reference_that_cannot_be_compared_is_no_noise_of_0(spoil) -> None:
    (output,) = judged(off_by(SIZES, 2), [spoil(values) for values in REFERENCE]).outputs
    assert output.expected_noise is None
    assert output.reasons == judged(off_by(SIZES, 2), None).outputs[0].reasons


def test_a_sample_without_rounded_outputs_leaves_the_row() -> None:
    comparison = SideComparison("B", lambda _: tolerance_named("fp16"))
    for sample, values in enumerate(REFERENCE):
        rounded = () if sample else [[tensor(values)]]
        comparison.add(sample, "s", [tensor(values)], [tensor(values)], rounded)
    assert comparison.result().outputs[0].expected_noise is None
    rounded = off_by(SIZES)
    rounded[0][0, 0, 0, 0] = np.nan
    assert judged(off_by(SIZES, 2), rounded).outputs[0].expected_noise is None
    rounded = off_by(SIZES)
    rounded[1] = rounded[1][:, :5]
    assert judged(off_by(SIZES, 2), rounded).outputs[0].expected_noise is None
    comparison = SideComparison("B", lambda _: tolerance_named("tf32"))
    pair = [tensor(SCORES[0])], [tensor(SCORES[0])]
    comparison.add(0, "s", *pair, [pair[0], pair[0]])
    comparison.add(1, "s", *pair, [pair[0]])
    assert comparison.result().outputs[0].expected_noise is None


def test_elements_that_are_not_finite_have_no_noise() -> None:
    reference = np.array([[1.0, np.nan], [2.0, np.nan], [-1.0, np.nan], [np.inf, np.nan]])
    rounded = reference + 0.01 * np.array([[1.0], [-1.0], [3.0], [1.0]])
    noise = error_limits.NoiseSum()
    noise.add(tensor(reference), tensor(rounded))
    found = noise.result()
    assert found.rmse == pytest.approx(0.01 * np.sqrt(11 / 3))
    assert found.peak == pytest.approx(0.03)
    (columns,) = found.channels
    assert columns.rmse == (pytest.approx(found.rmse), None)
    assert columns.peak == (pytest.approx(0.03), None)
    reference = np.array([[1.0, np.nan], [2.0, 5.0]])
    noise = error_limits.NoiseSum()
    noise.add(tensor(reference), tensor(reference + np.array([0.5, 0.25])))
    assert noise.result().channels[0].peak == (0.5, 0.25)


def test_the_noise_of_every_chunk_counts_in_double_precision() -> None:
    reference = np.zeros(3 * CHUNK)
    rounded = reference.copy()
    rounded[:CHUNK], rounded[CHUNK : 2 * CHUNK], rounded[2 * CHUNK :] = 0.1, 0.3, 0.2
    noise = error_limits.NoiseSum()
    noise.add(tensor(reference), tensor(rounded))
    assert noise.result().rmse == pytest.approx(np.sqrt(0.14 / 3))
    assert noise.result().peak == pytest.approx(0.3)
    reference = np.append(np.full(CHUNK, np.nan), np.ones(8))
    noise = error_limits.NoiseSum()
    noise.add(tensor(reference), tensor(reference + 0.25))
    assert noise.result().rmse == pytest.approx(0.25)
    assert error_limits.NoiseSum().result() is None
    reference = np.full(5000, 300, np.float16)
    noise = error_limits.NoiseSum()
    noise.add(tensor(reference), tensor(reference + np.float16(0.25)))
    assert noise.result().rmse == pytest.approx(0.25)
    assert noise.result().peak == pytest.approx(0.25)


@pytest.mark.parametrize(("axis", "length"), [(1, 3), (2, 2), (2, 3)])
def test_the_noise_of_another_axis_or_length_is_not_known(axis, length) -> None:
    channels = error_limits.ChannelNoise(axis=1, rmse=(0.1, 0.2), peak=(0.3, 0.4))
    noise = error_limits.ExpectedNoise(rmse=0.1, peak=0.4, channels=(channels,))
    assert noise.along(axis, length) is None
    assert noise.along(1, 2) is channels


def test_the_widest_noise_is_the_largest_of_each_error_and_outputs_are_found_by_name() -> None:
    first, second = tensor([1.0], "first"), tensor([2.0], "second")
    assert error_limits.by_name([first, second]) == {"first": first, "second": second}
    assert error_limits.by_name(None) == {}
    both = [noise(1.0, 1.001, 3.0, None, 1.0), noise(2.0, 0.99, 2.0, None, 5.0)]
    assert error_limits.widest_noise(both) == noise(2.0, 0.99, 3.0, None, 5.0)
    assert error_limits.widest_noise([noise(1.0, None, 1.0)]) == noise(1.0, None, 1.0)
    assert error_limits.widest_noise([]) is None
    assert error_limits.widest_noise([noise(1.0, 1.0, 1.0), None]) is None


@pytest.mark.parametrize("reference", [np.arange(8), np.arange(8) > 3])
def test_integers_have_no_noise(reference) -> None:
    noise = error_limits.NoiseSum()
    noise.add(tensor(np.ones(8)), tensor(np.ones(8)))
    noise.add(tensor(reference), tensor(np.ones(8)))
    assert noise.result() is None


# Honest noise over several ways to round, and values that FP16 cannot hold.

SCORE_GENERATOR = np.random.default_rng(4)
SCORES = SCORE_GENERATOR.standard_normal((8, 1, 1000))


def noise(rmse: float, slope: float | None, *channels: float | None) -> error_limits.ExpectedNoise:
    along = error_limits.ChannelNoise(axis=1, rmse=channels, peak=channels)
    return error_limits.ExpectedNoise(rmse=rmse, peak=2 * rmse, slope=slope, channels=(along,))


def off(size: float, seed: int) -> Any:
    return SCORES + size * np.random.default_rng(seed).standard_normal(SCORES.shape)


def test_an_honest_engine_of_another_order_passes() -> None:
    """Its error is three times that of the nearest rounding, as where tensor cores drop bits."""
    nearest, dropped = off(7e-4, 1), off(2.1e-3, 2)
    for seed in range(3, 9):
        assert side(SCORES, off(2.1e-3, seed), "tf32", nearest, dropped).passes
    dead = np.where(np.arange(1000) == 7, 0.0, off(2.1e-3, 3))
    assert not side(SCORES, dead, "tf32", nearest, dropped).passes
    # One rounded copy of eight elements a channel, and an engine three times as noisy.
    pairs = ((off(2.1e-3, 20 + at), off(7e-4, at)) for at in range(12))
    assert sum(not side(SCORES, noisy, "tf32", near).passes for noisy, near in pairs) <= 1


@pytest.mark.parametrize("scale", [1e-5, 1e-8])
def test_values_below_the_smallest_of_fp16_underflow_and_that_is_said_first(scale) -> None:
    found = side(scale * SCORES, 0 * SCORES, "fp16", scale * SCORES * (1 + 1e-7))
    first, *others = found.outputs[0].reasons
    assert first.code == "underflow"
    assert "below FP16's smallest normal value of 6.1e-05" in first.message
    assert first.evidence == {"largest": scale * np.abs(SCORES).max()}
    assert others


def test_a_channel_that_underflows_is_named_first_and_other_precisions_do_not_underflow() -> None:
    reference = SCORES.copy()
    reference[..., 5] *= 1e-6
    wrong = reference.copy()
    wrong[..., 5] = 0
    first = side(reference, wrong, "fp16", reference).outputs[0].reasons[0]
    evidence = {"axis": 1, "channels": [5], "largest": np.abs(reference[..., 5]).max()}
    assert (first.code, first.evidence) == ("underflow", evidence)
    assert "channel 5 of axis 1" in first.message
    for row, scale in (("bf16", 1e-8), ("fp16", 1.0)):
        found = codes(side(scale * SCORES, 0 * SCORES, row, scale * SCORES))
        assert found
        assert "underflow" not in found
