"""The figures of depth against formulas written out pixel by pixel."""

import math
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.tasks.depth import DepthTask
from enginescope.core.errors import UsageError
from enginescope.formats.tensors.tensor_files import tensor_of

RNG = np.random.default_rng(7)


def answers(values: Any) -> tuple[Any, ...]:
    return (tensor_of("depth", np.asarray(values)),)


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
        score = scorer.add(answers(given[None, None]), target)
        for name, value in own.items():
            assert score.values[name] == pytest.approx(value, rel=1e-9)
        wanted.append(own)
    found = scorer.result().values
    for name in wanted[0]:
        mean = math.fsum(one[name] for one in wanted) / len(wanted)
        assert found[name] == pytest.approx(mean, rel=1e-9), name
    scorer = DepthTask({"align": "none"}).against_targets()
    few, many = np.full((2, 2), 1.0), np.full((20, 20), 1.0)
    scorer.add(answers(few * 2), few)
    scorer.add(answers(many * 1.0), many)
    found = scorer.result()
    assert found.values["abs_rel"] == pytest.approx(0.5)
    assert found.more["abs_rel_over_pixels"] == pytest.approx(4 / 404)
    assert found.more["rmse_over_pixels"] == pytest.approx(math.sqrt(4 / 404))


def test_median_scaling_hides_a_scale_and_maps_get_the_size_of_the_target() -> None:
    target = RNG.uniform(1, 9, (16, 16))
    scaled = DepthTask({}).against_targets()
    scaled.add(answers(target / 4), target)
    found = scaled.result()
    assert found.values["abs_rel"] == pytest.approx(0, abs=1e-12)
    assert found.more["factor_median"] == pytest.approx(4)
    plain = DepthTask({"align": "none"}).against_targets()
    plain.add(answers(target / 4), target)
    assert plain.result().values["abs_rel"] == pytest.approx(0.75)
    rows, columns = np.mgrid[0:30, 0:40]
    target = 1 + (rows + 0.5) / 30 + (columns + 0.5) / 40
    small_rows, small_columns = np.mgrid[0:15, 0:20]
    small = 1 + (small_rows + 0.5) / 15 + (small_columns + 0.5) / 20
    scorer = DepthTask({"align": "none"}).against_targets()
    scorer.add(answers(small), target)
    assert scorer.result().values["abs_rel"] < 0.001  # a plane, but for its repeated edges


@pytest.mark.parametrize("align", ["median", "scale-shift"])
def test_disparity_is_turned_over(align: str) -> None:
    target = RNG.uniform(1, 9, (16, 16))
    shift = 0.7 if align == "scale-shift" else 0.0
    given = answers(3 / target + shift)
    right = DepthTask({"holds": "disparity", "align": align}).against_targets()
    right.add(given, target)
    assert right.result().values["abs_rel"] == pytest.approx(0, abs=1e-9)
    wrong = DepthTask({}).against_targets()
    wrong.add(given, target)
    assert [one.code for one in wrong.result().notices] == ["W-DEPTH-OPPOSED"]


def test_what_cannot_be_stated_is_none_and_no_maps_are_refused() -> None:
    target = np.full((4, 4), 2.0)
    holed = np.full((4, 4), 2.0)
    holed[1, 1] = np.nan
    scorer = DepthTask({}).against_targets()
    assert scorer.add(answers(holed), np.zeros((4, 4))).left_out is not None
    scorer.add(answers(target), target)
    scorer.add(answers(holed), target)
    found = scorer.result()
    assert set(found.values.values()) == {None}
    assert [one.code for one in found.notices] == ["W-DEPTH-NOT-FINITE"]
    with pytest.raises(UsageError, match="no output is a map"):
        DepthTask({}).against_targets().add(answers(np.zeros(7)), np.ones((2, 2)))
    with pytest.raises(UsageError, match="no output is called"):
        DepthTask({"output": "depht"}).against_targets().add(
            answers(np.zeros((4, 4))), np.ones((2, 2))
        )


def test_agreement_is_of_maps_from_0_to_1_and_says_what_that_hides() -> None:
    theirs = RNG.uniform(2, 5, (2, 8, 8))
    ours = theirs.copy()
    ours[0, 3, 3] += 0.1
    scorer = DepthTask({}).against_reference()
    scorer.add(answers(1.5 * ours + 9), answers(theirs))
    found = scorer.result()
    unit = [(one - one.min()) / (one.max() - one.min()) for one in (*ours, *theirs)]
    errors = [np.abs(unit[0] - unit[2]), np.abs(unit[1] - unit[3])]
    assert found.values["mae"] == pytest.approx(np.mean([one.mean() for one in errors]))
    rmse = np.mean([math.sqrt((one**2).mean()) for one in errors])
    assert found.values["rmse"] == pytest.approx(rmse)
    assert found.values["max_error"] == pytest.approx(max(one.max() for one in errors))
    assert found.more["range_ratio_median"] == pytest.approx(1.5, rel=0.05)
    assert [one.code for one in found.notices] == ["W-DEPTH-RANGE"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"aline": "median"}, "did you mean align"),
        ({"align": "mean"}, "align=mean of depth: no such value"),
        ({"min_depth": "0"}, "logarithms"),
        ({"max_depth": "0.0001"}, "min_depth is"),
        ({"scale": "-1"}, "above 0"),
        ({"max_depth": "far"}, "max_depth"),
    ],
)
def test_options_are_checked(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        DepthTask(options)
    assert said in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("factor", [1.01, 1 / 1.01, 1.005])
def test_a_small_factor_on_the_maps_is_noticed(factor: float) -> None:
    theirs = RNG.uniform(2, 5, (8, 8))
    scorer = DepthTask({}).against_reference()
    scorer.add(answers(factor * theirs), answers(theirs))
    (notice,) = scorer.result().notices
    assert notice.code == "W-DEPTH-RANGE"
    assert f"{factor:.4g}" in notice.message


def test_rounding_to_fp16_is_no_factor_and_the_interval_is_student_s() -> None:
    for _ in range(50):
        theirs = RNG.uniform(2, 5, (32, 32))
        scorer = DepthTask({}).against_reference()
        scorer.add(answers(theirs.astype(np.float16)), answers(theirs))
        assert scorer.result().notices == ()
    scorer = DepthTask({"align": "none"}).against_targets()
    factors = [1 + one / 100 for one in range(1, 11)]
    for factor in factors:
        scorer.add(answers(np.full((4, 4), 2 * factor)), np.full((4, 4), 2.0))
    found = scorer.result().more
    errors = np.array(factors) - 1
    half = 2.262157 * errors.std(ddof=1) / math.sqrt(10)  # t of 9 degrees of freedom, 97.5 %
    assert found["abs_rel_low"] == pytest.approx(errors.mean() - half, rel=1e-5)
    assert found["abs_rel_high"] == pytest.approx(errors.mean() + half, rel=1e-5)
