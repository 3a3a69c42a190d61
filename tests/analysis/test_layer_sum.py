import pytest

from enginescope.analysis.layer_sum import LayerSum, layer_sum
from enginescope.model.timing import LayerTiming, Profile


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
