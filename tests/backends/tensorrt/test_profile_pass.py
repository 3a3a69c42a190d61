"""Layer times: behind the gate, as trtexec takes them, and where the gate cannot be had."""

from time import monotonic

import numpy as np
import pytest

from enginescope.analysis.claims.layer_claims import event_cost, layer_times
from enginescope.backends.tensorrt.libraries import load
from enginescope.backends.tensorrt.run import inference_stream
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.judge.samples import Interval
from enginescope.records.run.job import Mode
from tests.backends.tensorrt.driving import codes, job, measure, opened, with_engine
from tests.fakes.models import non_zero


@pytest.fixture(autouse=True)
def _brief(monkeypatch) -> None:
    monkeypatch.setattr("enginescope.backends.tensorrt.profile_pass.ENOUGH_MS", 1.0)


def profiled(path, engines, mode="gated"):
    return measure(with_engine(job(path, layer_profile=True, profile_mode=mode), engines))


@pytest.mark.parametrize("version", ["8.6.0", "10.16.1", "11.4.0"])
def test_own_times_add_up_to_the_gated_engine(use, perceptron, engines, version, capfd) -> None:
    use(version, FAKE_TENSORRT_COMPUTE_US="200", FAKE_TENSORRT_EVENT_US="3")
    found = profiled(perceptron, engines)
    assert "setProfiler" not in "".join((*capfd.readouterr(), *map(str, found.notices)))
    raw = found.profile
    assert (raw.mode, raw.has_own_times) == ("gated", False)
    assert raw.gated_ms == pytest.approx(0.2, rel=1e-3)
    reported_ms = sum(one.median_ms for one in raw.layers)
    assert reported_ms == pytest.approx(0.2 + 0.003 * len(raw.layers), rel=1e-3)
    own = layer_times(raw)
    assert own.sum_ms == pytest.approx(raw.gated_ms)
    assert [one.raw_ms for one in own.layers] == [one.median_ms for one in raw.layers]
    assert layer_times(own) is own
    assert "W-UNGATED" not in codes(found)


def test_trtexec_takes_them_without_a_gate(use, perceptron, engines) -> None:
    use(FAKE_TENSORRT_EVENT_US="3")
    found = profiled(perceptron, engines, "trtexec").profile
    assert (found.mode, found.gated_ms) == ("trtexec", None)
    assert [one.time_ms for one in layer_times(found).layers] == [
        one.median_ms for one in found.layers
    ]


def test_a_driver_without_the_wait_is_said(use, perceptron, engines) -> None:
    use(fault="no_stream_waits")
    found = profiled(perceptron, engines)
    assert found.profile.mode == "trtexec"
    (notice,) = (one for one in found.notices if one.code == "W-UNGATED")
    assert "CUDA_ERROR_NOT_SUPPORTED" in notice.message


def test_an_engine_that_waits_at_enqueue_is_not_gated(use, tmp_path, engines, monkeypatch) -> None:
    use()
    monkeypatch.setattr(inference_stream, "LIMIT_S", 0.05)
    started = monotonic()
    found = profiled(non_zero(tmp_path / "non_zero.onnx"), engines)
    assert found.profile.mode == "trtexec"
    (notice,) = (one for one in found.notices if one.code == "W-UNGATED")
    assert "was not enqueued within 0.05 s" in notice.message
    assert monotonic() - started < 30


def test_what_is_enqueued_waits_for_the_gate_which_a_failed_enqueue_opens(
    use, perceptron, engines
) -> None:
    fake = use()
    one = with_engine(job(perceptron), engines)
    with opened(one, Mode(kind="latency", cuda_graph=False)) as session:
        stream = session.lanes[0].compute_stream
        event = session.cuda.event(spin=True)
        gate = inference_stream.Gate(load().driver, session.cuda, stream)
        with gate.closed():
            fake.cuda.cudaEventRecord(event, stream)
            mark = fake.device.events[int(event)]
            assert mark.at_ns is None
        session.cuda.wait(stream, "waiting")
        assert mark.at_ns is not None
        gate = inference_stream.Gate(load().driver, session.cuda, stream)
        with pytest.raises(BackendError), gate.closed():
            raise BackendError("enqueueing")
        session.cuda.wait(stream, "waiting")  # would never end
        assert not gate.was_late


def test_each_layer_pays_for_its_event_and_the_rest_adds_up() -> None:
    for times, whole, cost in (
        ([3.0, 3.0, 3.0], 6.0, 1.0),
        ([5.0, 1.0], 3.0, 2.0),  # the second is nothing but its event
        ([1.0, 2.0], 4.0, 0.0),
        ([], 1.0, 0.0),
    ):
        assert event_cost(times, whole) == pytest.approx(cost)
    generator = np.random.default_rng(5)
    for _ in range(200):
        times = generator.exponential(0.005, generator.integers(1, 60))
        whole = times.sum() * generator.uniform(0.05, 1.0)
        cost = event_cost(times, whole)
        assert np.maximum(times - cost, 0).sum() == pytest.approx(whole)


def test_own_times_have_intervals_of_both_passes(use, perceptron, engines) -> None:
    use()
    raw = profiled(perceptron, engines).profile
    interval = Interval(low=0.9, high=1.1)
    rows = tuple(replace(one, median_ms=1.0, mean_ms=1.0, interval=interval) for one in raw.layers)
    count = len(rows)
    given = replace(
        raw,
        layers=rows,
        gated_ms=0.5 * count,
        gated_interval=Interval(low=0.4 * count, high=0.6 * count),
        whole_ms=1.0 * count,
    )
    own = layer_times(given).layers[0]
    assert own.time_ms == pytest.approx(0.5)
    assert (own.interval.low, own.interval.high) == pytest.approx((0.3, 0.7))
    # 0.1 ms between the events of two layers: so much of a launch is hidden where there are none
    spaced = layer_times(replace(given, whole_ms=1.1 * count)).layers[0]
    assert (spaced.interval.low, spaced.interval.high) == pytest.approx((0.3, 0.8))
