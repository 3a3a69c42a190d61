"""The figures of depth against formulas written out pixel by pixel."""

import math
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.tasks.depth import DepthTask
from enginescope.core.errors import UsageError
from tests.analysis.answers import scored, tensor

RNG = np.random.default_rng(7)
PLAIN = DepthTask({"align": "none"})


def by_hand(given: Any, wanted: Any, low: float, high: float) -> dict[str, float]:
    """Median scaling and the seven figures, one pixel at a time."""
    pixels = [
        (float(p), float(t))
        for p, t in zip(given.ravel(), wanted.ravel(), strict=True)
        if math.isfinite(t) and low <= t <= high
    ]
    middle = [sorted(column) for column in zip(*pixels, strict=True)]
    n = len(pixels)
    median = [(one[n // 2] if n % 2 else (one[n // 2 - 1] + one[n // 2]) / 2) for one in middle]
    scaled = [(min(max(p * median[1] / median[0], low), high), t) for p, t in pixels]
    ratios = [max(p / t, t / p) for p, t in scaled]
    return {
        "abs_rel": math.fsum(abs(p - t) / t for p, t in scaled) / n,
        "sq_rel": math.fsum((p - t) ** 2 / t for p, t in scaled) / n,
        "rmse": math.sqrt(math.fsum((p - t) ** 2 for p, t in scaled) / n),
        "rmse_log": math.sqrt(math.fsum((math.log(p) - math.log(t)) ** 2 for p, t in scaled) / n),
        "d1": sum(one < 1.25 for one in ratios) / n,
        "d2": sum(one < 1.5625 for one in ratios) / n,
        "d3": sum(one < 1.953125 for one in ratios) / n,
    }


def pictures(count: int) -> list[tuple[Any, Any]]:
    made = []
    for _ in range(count):
        wanted = RNG.uniform(0.5, 12, (24, 31))
        wanted[RNG.random(wanted.shape) < 0.1] = 0  # not known
        wanted[0, 0] = np.nan
        given = (0.3 * wanted * RNG.lognormal(0, 0.25, wanted.shape) + 0.01).astype(np.float32)
        made.append((np.nan_to_num(given, nan=1.0), wanted))
    return made


def test_means_over_pictures_are_those_written_out_by_pixel_or_picture() -> None:
    scorer = DepthTask({"max_depth": "10"}).against_targets()
    wanted = []
    for given, target in pictures(20):
        own = by_hand(given.astype(np.float64), target, 1e-3, 10)
        score = scorer.add((tensor(given[None, None]),), target)
        for name, value in own.items():
            assert score.values[name] == pytest.approx(value, rel=1e-9)
        wanted.append(own)
    found = scorer.result().values
    for name in wanted[0]:
        mean = math.fsum(one[name] for one in wanted) / len(wanted)
        assert found[name] == pytest.approx(mean, rel=1e-9), name
    few, many = np.full((2, 2), 1.0), np.full((20, 20), 1.0)
    found = scored(PLAIN, (few * 2, few), (many * 1.0, many))
    assert found.values["abs_rel"] == pytest.approx(0.5)
    assert found.more["abs_rel_over_pixels"] == pytest.approx(4 / 404)
    assert found.more["rmse_over_pixels"] == pytest.approx(math.sqrt(4 / 404))


def test_median_scaling_hides_a_scale_and_maps_get_the_size_of_the_target() -> None:
    target = RNG.uniform(1, 9, (16, 16))
    found = scored(DepthTask({}), (target / 4, target))
    assert found.values["abs_rel"] == pytest.approx(0, abs=1e-12)
    assert found.more["factor_median"] == pytest.approx(4)
    assert scored(PLAIN, (target / 4, target)).values["abs_rel"] == pytest.approx(0.75)
    rows, columns = np.mgrid[0:30, 0:40]
    target = 1 + (rows + 0.5) / 30 + (columns + 0.5) / 40
    small_rows, small_columns = np.mgrid[0:15, 0:20]
    small = 1 + (small_rows + 0.5) / 15 + (small_columns + 0.5) / 20
    # a plane, but for its repeated edges
    assert scored(PLAIN, (small, target)).values["abs_rel"] < 0.001


@pytest.mark.parametrize("align", ["median", "scale-shift"])
def test_disparity_is_turned_over(align: str) -> None:
    target = RNG.uniform(1, 9, (16, 16))
    pair = (3 / target + (0.7 if align == "scale-shift" else 0.0), target)
    right = scored(DepthTask({"holds": "disparity", "align": align}), pair)
    assert right.values["abs_rel"] == pytest.approx(0, abs=1e-9)
    assert [one.code for one in scored(DepthTask({}), pair).notices] == ["W-DEPTH-OPPOSED"]


def test_what_cannot_be_stated_is_none_and_no_maps_are_refused() -> None:
    target, holed = np.full((4, 4), 2.0), np.full((4, 4), 2.0)
    holed[1, 1] = np.nan
    scorer = DepthTask({}).against_targets()
    assert scorer.add((tensor(holed),), np.zeros((4, 4))).left_out is not None
    found = scored(DepthTask({}), (holed, np.zeros((4, 4))), (target, target), (holed, target))
    assert set(found.values.values()) == {None}
    assert [one.code for one in found.notices] == ["W-DEPTH-NOT-FINITE"]
    with pytest.raises(UsageError, match="no output is a map"):
        scored(DepthTask({}), (np.zeros(7), np.ones((2, 2))))
    with pytest.raises(UsageError, match="no output is called"):
        scored(DepthTask({"output": "depht"}), (np.zeros((4, 4)), np.ones((2, 2))))


def test_agreement_is_of_maps_from_0_to_1_and_says_what_that_hides() -> None:
    theirs = RNG.uniform(2, 5, (2, 8, 8))
    ours = theirs.copy()
    ours[0, 3, 3] += 0.1
    found = scored(DepthTask({}), (1.5 * ours + 9, theirs), is_reference=True)
    unit = [(one - one.min()) / (one.max() - one.min()) for one in (*ours, *theirs)]
    errors = [np.abs(unit[0] - unit[2]), np.abs(unit[1] - unit[3])]
    assert found.values["mae"] == pytest.approx(np.mean([one.mean() for one in errors]))
    rmse = np.mean([math.sqrt((one**2).mean()) for one in errors])
    assert found.values["rmse"] == pytest.approx(rmse)
    assert found.values["max_error"] == pytest.approx(max(one.max() for one in errors))
    assert found.more["range_ratio_median"] == pytest.approx(1.5, rel=0.05)
    assert [one.code for one in found.notices] == ["W-DEPTH-RANGE"]


def test_options_are_checked() -> None:
    wrong = {"did you mean align": {"aline": "median"}, "logarithms": {"min_depth": "0"}}
    wrong |= {"align=mean of depth: no such value": {"align": "mean"}, "above 0": {"scale": "-1"}}
    wrong |= {"min_depth is": {"max_depth": "0.0001"}, "max_depth": {"max_depth": "far"}}
    for said, options in wrong.items():
        with pytest.raises(UsageError) as caught:
            DepthTask(options)
        assert said in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("factor", [1.01, 1 / 1.01, 1.005])
def test_a_small_factor_on_the_maps_is_noticed(factor: float) -> None:
    theirs = RNG.uniform(2, 5, (8, 8))
    (notice,) = scored(DepthTask({}), (factor * theirs, theirs), is_reference=True).notices
    assert notice.code == "W-DEPTH-RANGE"
    assert f"{factor:.4g}" in notice.message


def test_rounding_to_fp16_is_no_factor_and_the_interval_is_student_s() -> None:
    for _ in range(50):
        theirs = RNG.uniform(2, 5, (32, 32))
        pair = (theirs.astype(np.float16), theirs)
        assert scored(DepthTask({}), pair, is_reference=True).notices == ()
    factors = [1 + one / 100 for one in range(1, 11)]
    two = np.full((4, 4), 2.0)
    found = scored(PLAIN, *((factor * two, two) for factor in factors)).more
    errors = np.array(factors) - 1
    half = 2.262157 * errors.std(ddof=1) / math.sqrt(10)  # t of 9 degrees of freedom, 97.5 %
    assert found["abs_rel_low"] == pytest.approx(errors.mean() - half, rel=1e-5)
    assert found["abs_rel_high"] == pytest.approx(errors.mean() + half, rel=1e-5)
