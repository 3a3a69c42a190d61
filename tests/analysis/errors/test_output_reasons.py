"""Each reason for which an output fails: its limit, its message and its evidence."""

import numpy as np
import pytest

from enginescope.analysis.accuracy.output_diff import OutputReason
from enginescope.analysis.accuracy.output_verdict import Compared, is_negligible, reasons_of
from enginescope.analysis.errors.element_errors import compare_elements
from enginescope.analysis.errors.output_tolerance import tolerance_named
from tests.analysis.answers import codes, cross_wave, limits, reason, side, tensor, wave


def test_values_that_are_not_finite_are_counted_by_kind() -> None:
    reference = [np.ones((2, 600)) * wave(600) for _ in range(2)]
    candidate = [values.copy() for values in reference]
    candidate[1][0, 3] = np.inf
    candidate[1][1, 5:7] = np.nan
    reference[1][1, 9] = np.nan
    evidence = {"nan": 2, "infinite": 1, "finite_only_here": 1}
    assert reason(side(reference, candidate, "fp16"), "not-finite") == OutputReason(
        code="not-finite",
        message="2 NaN, 1 infinite, 1 finite only here of 2,400 elements, "
        "the first at [0, 3] of sample 1",
        evidence={**evidence, "first_sample": 1, "first_index": [0, 3]},
    )
    candidate = [reference[0].copy()]
    candidate[0][1, 0] = np.nan
    text = "1 NaN of 1,200 elements, the first at [1, 0] of sample 0"
    assert reason(side(reference[:1], candidate, "fp16"), "not-finite").message == text


def test_a_peak_is_a_part_of_the_spread_and_names_its_sample_and_index() -> None:
    """FP16 allows an RMSE of 1 % of the spread, and 25 % and its resolution for one element."""
    found = side([wave(100)], [wave(100) + 0.5], "fp16")
    error, peak = reason(found, "error"), reason(found, "peak")
    assert error.message == "RMSE is 0.5 of the reference's spread, at most 0.01 wanted"
    assert error.evidence == pytest.approx({"value": 0.5, "limit": 0.01, "scale": 1.0})
    assert found.outputs[0].error_limit == pytest.approx(0.01)
    ten = side([10 * wave(100)], [10 * wave(100) + 5], "fp16")
    assert reason(ten, "peak").message.startswith("largest error is 0.5 of the reference's spread")
    text = "largest error is 0.5 of the reference's spread, at most 0.252 wanted"
    assert peak.message == f"{text}, at [0] of sample 0"
    assert peak.evidence["limit"] == pytest.approx(0.252)
    reference = [wave(4000).reshape(2, 2000) for _ in range(3)]
    candidate = [values.copy() for values in reference]
    candidate[2][1, 17] += 0.3
    peak = reason(side(reference, candidate, "fp16"), "peak")
    assert set(peak.evidence) == {"value", "limit", "scale", "sample", "index"}
    assert peak.evidence["value"] == pytest.approx(0.3)
    assert peak.evidence["scale"] == pytest.approx(1.0)
    assert (peak.evidence["sample"], peak.evidence["index"]) == (2, [1, 17])
    candidate[2][1, 17] -= 0.1
    assert "peak" not in codes(side(reference, candidate, "fp16"))


def test_an_error_beyond_the_noise_is_a_multiple_of_the_noise() -> None:
    rounded = wave(10_000) + 0.002 * cross_wave(10_000)
    rounded[0] += 0.098 * np.sign(rounded[0] - wave(10_000)[0])
    found = side([wave(10_000)], [wave(10_000) + 0.9], "fp16", [rounded])
    noise = found.outputs[0].expected_noise
    assert noise.peak == pytest.approx(0.1)
    usual = np.sqrt(0.002**2 + (0.1**2 - 0.002**2) / 10_000)
    assert noise.rmse == pytest.approx(usual)
    assert reason(found, "error").message == (
        "RMSE is 391 × that of honest FP16, at most 8.0 × wanted: 0.9"
    )
    assert reason(found, "error").evidence["limit"] == pytest.approx(8 * 1.03 * usual)
    text = "largest error is 0.9 of the reference's spread, at most 0.802 wanted"
    assert reason(found, "peak").message == f"{text}, at [0] of sample 0"


def test_channels_beyond_their_limits_are_named_with_the_worst() -> None:
    values = np.repeat(wave(200)[:, None], 3, axis=1)
    wrong = values + np.array([0.0, 0.5, 0.8])
    found = side([values, values], [values + np.array([0.0, 0.5, 0.1]), wrong], "fp16")
    error, peak = reason(found, "channel-error"), reason(found, "channel-peak")
    rmse = float(np.sqrt((0.1**2 + 0.8**2) / 2))
    where = "on channels 1–2 of axis 1 (worst of 2: 2)"
    assert (
        error.message
        == f"RMSE is {rmse:.3g} of the reference's spread, at most 0.05 wanted {where}"
    )
    evidence = {"axis": 1, "channels": [1, 2], "count": 2, "worst": 2, "sample": 1}
    figures = {"value": rmse, "limit": 0.05, "scale": 1.0}
    assert error.evidence == evidence | {name: pytest.approx(figures[name]) for name in figures}
    # 25 % of the scale, 15 % more for 400 elements, and the resolution
    assert peak.evidence["limit"] == pytest.approx(0.25 * 1.15 + 0.002)
    assert peak.evidence["value"] == pytest.approx(0.8)
    text = f"largest error is 0.8 of the reference's spread, at most 0.289 wanted {where}"
    assert peak.message == text
    found = side([values], [values + np.array([0.0, 0.0, 0.8])], "fp16")
    assert reason(found, "channel-error").message.endswith("wanted on channel 2 of axis 1")
    values = np.repeat(wave(400)[:, None], 70, axis=1)
    evidence = reason(side([values], [values + 0.5], "fp16"), "channel-error").evidence
    assert (evidence["channels"], evidence["count"]) == (list(range(64)), 70)


def test_the_noise_of_each_channel_is_named_for_that_channel() -> None:
    values = np.repeat(wave(400)[:, None], 3, axis=1)
    rounded = values + np.array([0.001, 0.002, 0.004]) * cross_wave(400)[:, None]
    found = side([values], [values + np.array([0.0, 0.0, 0.4])], "fp16", [rounded])
    text = "RMSE is 97 × that of honest FP16, at most 8.0 × wanted: 0.4 on channel 2 of axis 1"
    assert reason(found, "channel-error").message == text
    text = "largest error is 0.4 of the reference's spread, at most 0.289 wanted on channel 2 of "
    assert reason(found, "channel-peak").message == f"{text}axis 1"
    coarse = values + np.array([0.001, 0.002, 0.2]) * cross_wave(400)[:, None]
    found = side([values], [values + np.array([0.0, 0.0, 2.0])], "fp16", [coarse])
    text = "largest error is 10 × that of honest FP16, at most "
    assert reason(found, "channel-peak").message.startswith(text)


def test_an_output_of_few_values_was_rounded_to_8_bits() -> None:
    reference = np.linspace(-1, 1, 2000)
    many = np.unique(reference.astype(np.float16)).size
    assert side([reference], [np.round(reference, 2)], "fp16").outputs[0].reasons == (
        OutputReason(
            code="few-values",
            message=f"the output has 201 different values and the reference has at least {many:,} "
            "in FP16: it was rounded to 8 bits",
            evidence={"values": 201, "reference": many},
        ),
    )
    hidden = 5e-4 * (reference + 1)
    assert "few-values" not in codes(side([hidden], [np.round(hidden, 5)], "fp16"))


def test_mismatches_beyond_a_users_share_fail() -> None:
    reference = np.full(1000, 2.0)
    wrong = reference.copy()
    wrong[:30] += 0.8
    wrong[30:60] += 0.6  # within 0.5 + 0.1 × 2
    found = side([reference], [wrong], limits(rtol=0.1, atol=0.5, mismatch_pct=2.0))
    assert found.outputs[0].reasons == (
        OutputReason(
            code="mismatch",
            message="30 of 1,000 elements (3 %) are off by more than 0.5 + 0.1 × |reference|, "
            "2 % may be",
            evidence={"pct": 3.0, "limit_pct": 2.0},
        ),
    )
    assert side([reference], [wrong], limits(rtol=0.1, atol=0.5, mismatch_pct=3.0)).passes
    wrong = wave(1000)
    wrong[:30] += 0.1
    found = side([wave(1000)], [wrong], limits("fp16", mismatch_pct=2.0))
    assert reason(found, "mismatch").message == (
        "30 of 1,000 elements (3 %) are off by more than 0.03 × spread + 0.03 × |reference|, "
        "2 % may be"
    )


def test_integers_that_differ_are_counted() -> None:
    values = np.arange(2000)
    wrong = values.copy()
    wrong[:20] += 1
    assert side([values], [wrong], "int8").outputs[0].reasons == (
        OutputReason(
            code="unequal",
            message="20 of 2,000 elements (1 %) are not equal, 0 % may be",
            evidence={"pct": 1.0, "limit_pct": 0.0},
        ),
    )
    assert side([values], [wrong], limits(mismatch_pct=1.0)).passes
    assert codes(side([values], [wrong], limits(mismatch_pct=0.9))) == {"unequal"}


@pytest.mark.parametrize("values", [np.arange(8) > 3, np.array(list("abcdefgh"))])
def test_truth_values_and_texts_are_equal_or_not_whatever_the_tolerance(values) -> None:
    assert codes(side([values], [values[::-1]], limits(atol=5.0))) == {"unequal"}
    assert side([values], [values], limits(atol=5.0)).passes


def test_complex_numbers_are_judged_by_their_parts_and_a_users_tolerance_alone_decides() -> None:
    values = (wave(200) + 1j * cross_wave(200)).astype(np.complex64)
    assert side([values], [values], "fp16").passes
    assert "error" in codes(side([values], [values + 0.5j], "fp16"))
    assert codes(side([values], [values + 0.5j], limits(atol=0.1))) == {"mismatch"}
    assert side([values], [values + 0.5j], limits(atol=0.6)).passes
    assert side([wave(100)], [0.5 * wave(100)], limits(atol=0.6)).passes


def test_equality_is_exact_and_small_values_below_0_are_not_excused() -> None:
    none = np.full(8, np.nan)
    errors = compare_elements(tensor(none), tensor(none), tolerance_named("fp16"))
    assert reasons_of(Compared(errors), tolerance_named("fp16"), "float") == ()
    values = np.repeat(wave(200)[:, None], 3, axis=1)
    assert side([values], [values], "exact").passes
    assert codes(side([values], [values + 1e-12], "exact")) >= {"error", "peak", "channel-error"}
    values = 1e-4 * wave(400)
    assert "error" in codes(side([values], [values + 5e-5], "fp16"))


@pytest.mark.parametrize(
    ("row", "low", "high", "places", "within", "beyond"),
    [
        ("fp16", -10.0, 1.0, False, 4e-6, 6e-6),
        ("fp16", -1.0, 10.0, False, 4e-6, 6e-6),
        ("fp16", -0.5, 0.0, False, 2e-7, 4e-7),
        ("fp16", 0.0, 0.125, False, 4e-7, 6e-7),
        ("fp16", 0.0, 1.0, True, 1.9e-3, 2.1e-3),
        ("fp16", 0.0, 1.1, True, 0.0, 1.9e-3),
        ("fp16", -0.1, 1.0, True, 0.0, 1.9e-3),
        ("exact", -1.0, 1.0, False, 0.0, 1e-12),
    ],
)
def test_another_summation_order_is_negligible(row, low, high, places, within, beyond) -> None:
    """Up to 5e-7 of the range; of probabilities in the wrong places, up to the resolution."""
    reference, tolerance = np.array([low, 0.0, high]), tolerance_named(row)
    for error, expected in ((within, True), (beyond, False)):
        candidate = tensor(reference + np.array([0.0, error, 0.0]))
        found = compare_elements(tensor(reference), candidate, tolerance)
        assert is_negligible(found, tolerance, places=places) is expected, error


def test_the_worst_channel_is_that_farthest_beyond_its_own_limit() -> None:
    values = np.repeat(wave(4000)[:, None], 3, axis=1)
    wrong = values.copy()
    wrong[17, 1] += 0.3
    found = codes(side([values], [wrong], "fp16"))
    assert "channel-peak" in found
    assert "channel-error" not in found
    values = np.array([1.0, 100.0, 1.0]) * wave(400)[:, None]
    found = side([values], [values + np.array([0.5, 10.0, 0.0])], "fp16")
    evidence = reason(found, "channel-error").evidence
    assert (evidence["channels"], evidence["worst"]) == ([0, 1], 0)
    values = np.repeat(wave(400)[:, None], 3, axis=1)
    values[:, 1] = np.nan
    assert side([values], [values], "fp16").passes
    for dtype, row in ((np.int64, "int8"), (np.float64, limits(atol=1.0))):
        none = np.zeros((0, 4), dtype)  # has no share of mismatches
        assert codes(side([none], [none], row)) == {"nothing-compared"}
