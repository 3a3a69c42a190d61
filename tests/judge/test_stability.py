import json
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats.describe import LIMIT, outlier_scores
from enginescope.judge.stats.stability import drift, notices_of, two_modes
from enginescope.judge.stats.warmup import is_steady
from tests.judge.draws import ar1, two_levels


def notices(values) -> dict[str, Notice]:
    found = notices_of(Samples(metric="latency", values_ms=frozen(values)))
    by_code = {one.code: one for one in found}
    assert len(by_code) == len(found)
    return by_code


def quiet(seed: int, n: int = 1000) -> np.ndarray:
    return 5 + 0.05 * np.random.default_rng(seed).standard_normal(n)


def test_nothing_is_said_of_a_quiet_series_but_for_the_step_of_its_timer() -> None:
    assert [notices(quiet(seed)) for seed in range(20)] == [{}] * 20
    assert notices(np.zeros(10)) == {}
    found = notices(np.round(quiet(8), 1))["W-TIMER"]
    assert found.evidence == {"step_ms": pytest.approx(0.1), "share_pct": pytest.approx(2.0)}
    assert found.message == "the clock has steps of 0.1000 ms, 2.0 % of the median"
    found = notices(np.round(quiet(9) / 0.0625) * 0.0625)["W-TIMER"]
    assert found.evidence["step_ms"] == 0.0625
    assert "W-TIMER" not in notices(np.round(quiet(9), 2))


def test_few_dependent_and_unconverged_samples_are_told() -> None:
    found = notices(quiet(1, 40))["W-FEW-SAMPLES"]
    assert (found.message, found.evidence["n"]) == ("40 samples; measure at least 100", 40)
    assert notices([3.0])["W-FEW-SAMPLES"].message == "one sample; measure at least 100"
    few = notices(5 + 0.02 * ar1(np.random.default_rng(2), 2000, 0.99))["W-AUTOCORRELATED"]
    assert few.evidence["effective_n"] < 30
    assert few.message.startswith("strongly autocorrelated: 2,000 samples, effective sample size ")
    values = np.random.default_rng(3).lognormal(sigma=0.8, size=150)
    found = notices(values)["W-NOT-CONVERGED"]
    assert found.evidence["half_width_pct"] > 5
    assert found.evidence["low_ms"] < np.median(values) < found.evidence["high_ms"]
    assert "W-NOT-CONVERGED" not in notices(np.tile(quiet(3), 2))


def test_drift_two_levels_and_outliers_are_told_with_their_size() -> None:
    found = notices(quiet(4) * (1 + 0.06 * np.arange(1000) / 1000))["W-DRIFT"]
    first, last, change = (found.evidence[key] for key in ("first_ms", "last_ms", "change_pct"))
    assert change == pytest.approx(4, abs=0.4)
    assert change == pytest.approx(100 * (last / first - 1))
    assert 0 < found.evidence["noise_pct"] < 1
    assert "% above the first third's 5." in found.message
    falling = notices(quiet(4) * (1 - 0.06 * np.arange(1000) / 1000))["W-DRIFT"]
    assert "% below the first third's" in falling.message
    assert falling.evidence["change_pct"] < -3
    found = notices(4 * two_levels(np.random.default_rng(5), 2000))["W-BIMODAL"]
    assert found.evidence["gap_pct"] == pytest.approx(5, abs=0.2)
    low, high, share = (found.evidence[key] for key in ("low_ms", "high_ms", "share_high_pct"))
    assert share == pytest.approx(30, abs=3)
    assert found.evidence["gap_pct"] == pytest.approx(100 * (high / low - 1))
    assert found.message.startswith("latency is bimodal: 4.0")
    values = quiet(6, 2000)
    values[500] = 50.0
    assert not {"W-OUTLIERS", "I-OUTLIERS"} & set(notices(values))
    values[501:505] = 20.0
    some = notices(values)["I-OUTLIERS"]
    assert some.level == "info"
    assert some.evidence == {"count": 5, "share_pct": 0.25, "farthest_ms": 50.0}
    assert some.message == ("5 of 2,000 samples (0.25 %) are outliers, the farthest at 50.00 ms")
    values[600:630] = 9.0
    assert notices(values)["W-OUTLIERS"].level == "warning"


def test_slow_first_runs() -> None:
    values = quiet(7)
    values[0] = 10.0
    assert notices(values)["W-FIRST-RUNS"].message.startswith("the first sample is ")
    values[:3] = 10.0
    three = notices(values)["W-FIRST-RUNS"]
    median = float(np.median(values))
    assert three.evidence == {
        "count": 3,
        "first_ms": 10.0,
        "median_ms": median,
        "share_pct": pytest.approx(100 * 3 * (10 / median - 1) / values.size),
    }
    assert three.message == (
        "the first 3 samples are far above the median, the first at "
        f"{10 / median:.2f} × the median; a longer warm-up may help"
    )
    values[:3] = 1.0
    assert "W-FIRST-RUNS" not in notices(values)
    values[3] = 10.0
    assert "W-FIRST-RUNS" not in notices(values)


@pytest.mark.parametrize(
    ("warmup", "advice"),
    [
        (None, "a longer warm-up may help"),
        (np.empty(0), "the run had no warm-up; add one"),
        (np.full(50, 10.0), "the warm-up ended at 10.00 ms; make it longer"),
        (
            np.repeat([10.0, 5.0], 50),
            (
                "the warm-up had reached 5.000 ms, so a longer one does not help; "
                "look for other load at that moment"
            ),
        ),
    ],
    ids=["imported", "none", "too short", "enough"],
)
def test_slow_first_runs_name_their_cause(warmup: np.ndarray | None, advice: str) -> None:
    values = quiet(7)
    values[:3] = 10.0
    samples = Samples(metric="latency", values_ms=values, warmup_ms=warmup)
    (notice,) = (one for one in notices_of(samples) if one.code == "W-FIRST-RUNS")
    assert notice.message.endswith(f"× the median; {advice}")
    assert ("warmup_end_ms" in notice.evidence) is (warmup is not None and warmup.size > 0)


def test_the_end_of_a_warm_up_is_its_last_tenth_and_at_least_ten() -> None:
    values = quiet(7)
    values[:3] = 10.0

    def warmup_end_ms(*parts: tuple[int, float]) -> float:
        warmup = np.concatenate([np.full(count, level) for count, level in parts])
        samples = Samples(metric="latency", values_ms=values, warmup_ms=warmup)
        (notice,) = (one for one in notices_of(samples) if one.code == "W-FIRST-RUNS")
        return notice.evidence["warmup_end_ms"]

    assert warmup_end_ms((180, 9.0), (10, 5.0), (10, 7.0)) == 6.0
    assert warmup_end_ms((15, 9.0), (5, 5.0), (5, 7.0)) == 6.0
    values = quiet(7)
    values[0] = 1.15 * np.median(values)
    assert outlier_scores(values)[0] > LIMIT
    assert "W-FIRST-RUNS" not in notices(values)
    for figure in (notices, two_modes, drift, outlier_scores):
        with pytest.raises(UsageError, match="0 values"):
            figure([])


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=150), st.integers(-6, 6))
def test_any_samples_give_plain_evidence_in_any_unit(values: list[float], power: int) -> None:
    assert list(notices(values)) == list(notices(np.array(values) * 2.0**power))
    for one in notices(values).values():
        assert all(type(value) in (int, float) for value in one.evidence.values())
        assert json.dumps(one.evidence, allow_nan=False)
        assert "\n" not in one.message
        assert "nan" not in one.message


def test_recorded_traces(shared: Path) -> None:
    def codes(name: str) -> set[str]:
        text = (shared / name).read_text(encoding="utf-8")
        return set(notices([one["latencyMs"] for one in json.loads(text)]))

    assert codes("trt10-rtx3060/alexnet_fp16.timing.json") == {"W-AUTOCORRELATED"}
    assert codes("trt86-h200/depth_anything_small.timing.json") == set()
    resnet, mobilenet = (
        codes(f"trex-examples/{name}.engine.timing.json")
        for name in ("resnet18-a100-fp32", "mobilenet.qat.onnx")
    )
    assert resnet >= {"W-BIMODAL", "W-OUTLIERS"}
    assert mobilenet == {"W-FIRST-RUNS", "W-OUTLIERS"}


ONE_MODE = {
    "uniform": lambda rng, n: 1 + 0.1 * rng.random(n),
    "normal": lambda rng, n: 1 + 0.02 * rng.standard_normal(n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "exponential": lambda rng, n: 1 + 0.1 * rng.exponential(size=n),
    "t2": lambda rng, n: 10 + 0.1 * rng.standard_t(2, n),
    "quantised": lambda rng, n: np.round(1 + 0.02 * rng.standard_normal(n), 2),
    "two steps of a clock": lambda rng, n: 1 + 0.02 * (rng.random(n) < 0.4),
    "three steps of a clock": lambda rng, n: (
        np.round((1 + 0.02 * rng.standard_normal(n)) * 30) / 30
    ),
    "drifting": lambda rng, n: 1 + 0.1 * np.arange(n) / n + 0.002 * rng.standard_normal(n),
    "spikes": lambda rng, n: np.where(rng.random(n) < 0.05, 2, 1) + 0.01 * rng.standard_normal(n),
}


@pytest.mark.parametrize("n", [100, 1000, 10_000])
@pytest.mark.parametrize("kind", ONE_MODE)
def test_one_mode_is_not_two(kind: str, n: int) -> None:
    rng = np.random.default_rng(1)
    assert np.mean([two_modes(ONE_MODE[kind](rng, n)) is not None for _ in range(40)]) <= 0.05


@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_two_levels_are_found_and_described(n: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = two_modes(two_levels(rng, n))
        assert found.low == pytest.approx(1.0, abs=0.003)
        assert found.high == pytest.approx(1.05, abs=0.004)
        assert found.low < found.valley < found.high
        assert found.share_high == pytest.approx(0.3, abs=0.15)


def test_two_levels_ignore_order_unit_spikes_and_hairs() -> None:
    values = two_levels(np.random.default_rng(3), 1000)
    found, again = two_modes(values), two_modes(np.sort(values) * 1024)
    assert again.low == 1024 * found.low
    assert again.valley == pytest.approx(1024 * found.valley)
    rng = np.random.default_rng(4)
    values = np.where(rng.random(5000) < 0.01, 40.0, two_levels(rng, 5000))
    assert two_modes(values).high == pytest.approx(1.05, abs=0.003)
    for share in (0.05, 0.95):
        assert two_modes(two_levels(np.random.default_rng(5), 2000, share=share)) is None
    rng = np.random.default_rng(6)
    values = np.where(rng.random(2000) < 0.3, 1.003, 1.0) + 0.0002 * rng.standard_normal(2000)
    assert two_modes(values) is None
    assert two_modes(two_levels(np.random.default_rng(7), 99)) is None
    assert two_modes(np.full(500, 2.0)) is None


def noise(seed: int, n: int) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(n)


def test_a_ramp_and_a_fall_are_drift_and_noise_is_none() -> None:
    found = drift(5 * (1 + 0.06 * np.arange(900) / 900 + noise(1, 900)))
    assert found.change_pct == pytest.approx(4.0, abs=0.5)  # between the middles of the thirds
    assert found.first == pytest.approx(5 * 1.01, rel=0.003)
    assert found.last == pytest.approx(5 * 1.05, rel=0.003)
    assert 0 < found.noise_pct < 1
    found = drift(1 + 0.2 * np.exp(-np.arange(900) / 300) + noise(2, 900))
    assert found.change_pct < -8
    assert all(drift(1 + noise(seed, 300)) is None for seed in range(50))
    assert drift(1 + 0.01 * np.arange(3000) / 3000 + 0.1 * noise(4, 3000)) is None
    values = 1 + 0.02 * np.arange(60) / 60 + 0.3 * np.random.default_rng(5).standard_normal(60)
    assert abs(np.median(values[:20]) / np.median(values[-20:]) - 1) > 0.01
    assert drift(values) is None
    # A slow swing on a slope: what is left of it is a handful of effective samples.
    i = np.arange(400)
    assert drift(1 + 0.1 * i / 400 + 0.2 * np.sin(i / 400 * 2 * np.pi * 2.5)) is None
    assert (drift(np.arange(1.0, 30.0)), drift(np.zeros(100))) == (None, None)


@pytest.mark.parametrize(("late_slope", "noise_pct"), [(1, 0.02), (4, 0.08)])
def test_a_straight_or_broken_line_is_no_noise(late_slope: float, noise_pct: float) -> None:
    """What scatters about lines through the thirds is the noise, at the ends of the series too."""
    place = np.arange(900)
    line = 1 + 0.1 * (place + (late_slope - 1) * np.maximum(place - 450, 0)) / 900
    jitter = 0.0002 * np.random.default_rng(8).standard_normal(900)
    assert drift(line + jitter).noise_pct < noise_pct


def test_wandering_is_seldom_called_drift() -> None:
    rng = np.random.default_rng(3)
    assert np.mean([drift(1 + 0.03 * ar1(rng, 1500, 0.9)) is not None for _ in range(60)]) < 0.15


def test_scores_are_distances_in_median_absolute_deviations_or_steps() -> None:
    values = np.random.default_rng(1).lognormal(size=501)
    expected = (values - np.median(values)) / scipy.stats.median_abs_deviation(values)
    assert outlier_scores(values) == pytest.approx(expected)
    values = np.random.default_rng(2).normal(5, 0.1, 100_000)
    assert np.abs(outlier_scores(values)).max() < LIMIT
    values[77] = 9.0
    assert np.flatnonzero(np.abs(outlier_scores(values)) > LIMIT).tolist() == [77]
    values = np.array([5.0] * 60 + [5.1] * 20 + [4.9] * 19 + [8.0])
    scores = outlier_scores(values)
    assert (scores[60], scores[-1]) == (pytest.approx(1.0), pytest.approx(30.0))
    scores = outlier_scores([5.0] * 99 + [8.0])
    assert scores[-1] > LIMIT
    assert not scores[:99].any()
    assert outlier_scores([3.0] * 10).tolist() == [0.0] * 10


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60), st.integers(-8, 8))
def test_scores_do_not_depend_on_the_unit(values: list[int], power: int) -> None:
    series = np.array(values, dtype=float)
    assert outlier_scores(series * 2.0**power) == pytest.approx(outlier_scores(series))


def share_steady(draw) -> float:
    rng = np.random.default_rng(1)
    return float(np.mean([is_steady(draw(rng)) for _ in range(100)]))


@pytest.mark.parametrize("n", [10, 40, 300])
@pytest.mark.parametrize("spread", [0.002, 0.01])
def test_flat_noise_passes_at_once(spread: float, n: int) -> None:
    assert share_steady(lambda rng: 5 * (1 + spread * rng.standard_normal(n))) >= 0.85


def test_flat_noise_with_spikes_wandering_noise_and_a_start_up_long_over_pass() -> None:

    def draw(rng: np.random.Generator) -> np.ndarray:
        spikes = (rng.random(100) < 0.05) * rng.exponential(1, 100)
        return 1 + 0.01 * rng.standard_normal(100) + spikes

    assert share_steady(draw) >= 0.9
    assert share_steady(lambda rng: 1 + 0.02 * ar1(rng, 1000, 0.9)) >= 0.85
    done = 1 + np.exp(-np.arange(600) / 30)
    assert share_steady(lambda rng: done + 0.01 * rng.standard_normal(600)) >= 0.95


@pytest.mark.parametrize(("n", "time"), [(10, 20), (40, 20), (100, 100), (300, 100), (1000, 500)])
def test_a_start_up_that_still_falls_is_caught(n: int, time: float) -> None:
    falling = 1 + np.exp(-np.arange(n) / time)
    assert share_steady(lambda rng: falling + 0.01 * rng.standard_normal(n)) <= 0.05


def test_a_slow_rise_and_a_late_step_are_caught_and_equal_times_are_steady() -> None:
    rising = 1 + 0.1 * np.arange(400) / 400
    assert share_steady(lambda rng: rising + 0.01 * rng.standard_normal(400)) == 0.0
    assert not is_steady(np.append(np.full(75, 1.0), np.full(25, 0.9)))
    assert is_steady(np.full(10, 1_234_567, dtype=np.int64)) is True
    values = np.random.default_rng(2).lognormal(sigma=0.05, size=60)
    assert is_steady(values) == is_steady(values * 2.0**20)
    for values, why in (([], "warm-up times: 0 values"), ([1.0, np.inf], "sample 1 is inf")):
        with pytest.raises(UsageError, match=why):
            is_steady(values)


@given(st.lists(st.floats(0.5, 2), min_size=1, max_size=9))
def test_fewer_than_ten_are_never_steady(values: list[float]) -> None:
    assert is_steady(values) is False
