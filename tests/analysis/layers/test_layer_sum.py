import numpy as np
import pytest

from enginescope.analysis.layers.layer_sum import LayerSum, WholeRequest, layer_sum
from enginescope.judge.samples import Array
from enginescope.records.plan.plan import LayerTiming, Profile, batch_sums


def test_without_times_there_is_no_sum() -> None:
    assert layer_sum(None, None) is None
    untimed = Profile(source="trtexec", layers=(LayerTiming(index=0, name="a"),))
    assert layer_sum(untimed, None) is None


def test_without_a_whole_there_is_no_ratio() -> None:
    profile = Profile(
        source="trtexec", layers=(LayerTiming(index=0, name="a", mean_ms=2.0),), whole_ms=2.5
    )
    found = layer_sum(profile, None)
    assert found == LayerSum(sum_ms=2.0, pass_whole_ms=2.5)
    assert found.ratio is None
    assert found.difference_ms is None


def test_ratio_and_difference() -> None:
    found = LayerSum(sum_ms=4.6, whole_ms=4.0, whole_metric="latency")
    assert found.ratio == pytest.approx(1.15)
    assert found.difference_ms == pytest.approx(0.6)


def test_a_whole_of_nothing_has_no_ratio() -> None:
    assert LayerSum(sum_ms=1.0, whole_ms=0.0, whole_metric="latency").ratio is None


def profile_of(times: Array, resolution_ms: tuple[float, float] = (0.0, 0.0)) -> Profile:
    layers = tuple(
        LayerTiming(
            index=at,
            name=f"layer {at}",
            mean_ms=float(layer.mean()),
            median_ms=float(np.median(layer)),
        )
        for at, layer in enumerate(times.T)
    )
    return Profile(
        source="onnxruntime",
        layers=layers,
        iterations=len(times),
        batch_sums_ms=batch_sums(times),
        resolution_ms=resolution_ms,
    )


def test_interrupted_iterations_do_not_move_the_sum() -> None:
    rng = np.random.default_rng(0)
    times = 0.02 + 0.001 * rng.standard_normal((200, 10))
    times[rng.random(times.shape) < 0.03] += 10.0  # a tenth of a second's slice, now and then
    found = layer_sum(profile_of(times), WholeRequest("latency", 5.0, 0.19))
    assert found is not None
    assert found.statistic == "median"
    assert found.sum_ms == pytest.approx(0.2, rel=0.01)
    assert (found.whole_ms, found.iterations) == (0.19, 200)


def test_the_interval_of_the_sum_covers() -> None:
    rng = np.random.default_rng(1)
    hits = []
    for _ in range(300):
        iteration = 1 + 0.02 * rng.standard_normal((120, 1))  # what all layers of one share
        times = 0.02 * iteration * rng.lognormal(0.0, 0.1, (120, 8))
        interval = layer_sum(profile_of(times), None).interval
        hits.append(interval.low <= 8 * 0.02 <= interval.high)
    assert np.mean(hits) >= 0.93


def test_the_steps_of_the_clock_are_in_the_interval() -> None:
    times = np.floor(np.full((120, 5), 3.7)) * 0.001
    found = layer_sum(profile_of(times, (0.0, 0.001)), None)
    assert found.sum_ms == pytest.approx(0.015)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.015, 0.020))


def test_few_iterations_have_no_interval_and_averages_neither() -> None:
    few = layer_sum(profile_of(np.full((59, 3), 1.0)), None)
    assert (few.sum_ms, few.interval) == (3.0, None)
    imported = Profile(
        source="trtexec", layers=(LayerTiming(index=0, name="a", mean_ms=2.0, median_ms=1.0),)
    )
    found = layer_sum(imported, WholeRequest("gpu_compute", 4.0, 3.0))
    assert (found.sum_ms, found.statistic, found.whole_ms) == (2.0, "mean", 4.0)
    assert found.interval is None
