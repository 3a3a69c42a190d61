"""The load test: what a stall leaves in the queries after it, and who is late."""

import threading
import time
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from enginescope.backends.loop import StepRecorder
from enginescope.backends.open_loop import LoadRecorder
from enginescope.core.errors import BackendError
from enginescope.records.run.load_and_contention import LoadRule

STALLED, STALL_S, GAP_MS = 5, 0.3, 10.0


def served(rule: LoadRule, *steps, closed_ms: tuple[float, ...] = (1.0,)) -> LoadRecorder:
    load = LoadRecorder([StepRecorder(step) for step in steps], rule, np.array(closed_ms))
    load.serve(lambda _: None)
    return load


def series(load: LoadRecorder) -> dict[str, np.ndarray]:
    return {one.metric: one.values_ms for one in load.samples()}


def stalling() -> Callable[[], None]:
    """Return a step that stalls once, for at least `STALL_S`."""
    calls = count()
    return lambda: time.sleep(STALL_S) if next(calls) == STALLED else None


def test_a_stall_shows_as_queueing_in_every_later_query() -> None:
    load = served(LoadRule(arrivals="constant", rate_per_s=1e3 / GAP_MS, queries=40), stalling())
    found, arrivals = series(load), load.samples()[0].start_ms
    assert arrivals.tolist() == [GAP_MS * at for at in range(40)]
    assert found["service"][STALLED] >= 1e3 * STALL_S
    for later in range(STALLED + 1, STALLED + int(1e3 * STALL_S / GAP_MS)):
        # it arrived during the stall, so it waited for what was left of it
        left_ms = 1e3 * STALL_S - GAP_MS * (later - STALLED)
        assert found["queueing"][later] >= left_ms
        assert found["latency"][later] >= left_ms
    closed = StepRecorder(stalling())
    closed.run(40)
    assert np.count_nonzero(closed.times_ms() >= 1e3 * STALL_S / 2) == 1  # what it omits


def test_latency_is_queueing_and_service() -> None:
    load = served(LoadRule(arrivals="poisson", rate_per_s=2_000, queries=200, seed=3), lambda: None)
    found = series(load)
    assert np.allclose(found["latency"], found["queueing"] + found["service"], atol=1e-6)
    assert (found["lateness"] >= 0).all()
    assert load.outcome().planned == len(load) == 200


def test_a_query_never_begins_before_it_arrives_nor_before_the_last_one_has_ended() -> None:
    test = served(
        LoadRule(arrivals="poisson", rate_per_s=500, queries=60), lambda: time.sleep(2e-3)
    )
    arrivals = test.samples()[0].start_ms
    ends = arrivals + series(test)["latency"]
    begins = ends - series(test)["service"]
    assert (begins >= arrivals - 1e-6).all()
    assert (begins[1:] >= ends[:-1] - 1e-6).all()


def test_several_workers_serve_at_the_same_time() -> None:
    both = threading.Barrier(2)
    load = served(LoadRule(arrivals="burst", queries=6, workers=2), *(2 * [lambda: both.wait(60)]))
    assert len(load) == 6  # one worker alone would wait at the barrier for ever


def test_the_rate_is_a_share_of_the_closed_loop() -> None:
    rule = LoadRule(arrivals="constant", share=0.5, queries=11, workers=2)
    outcome = served(rule, lambda: None, lambda: None, closed_ms=(2.0, 2.0, 8.0)).outcome()
    assert outcome.rate_per_s == pytest.approx(250.0)  # of the mean: what one worker gets done
    assert (outcome.closed_ms, outcome.closed_per_s) == (2.0, 250.0)


def test_what_is_not_served_in_time_is_counted(monkeypatch) -> None:
    monkeypatch.setattr("enginescope.backends.open_loop.GRACE_MS", 0.0)
    rule = LoadRule(arrivals="constant", rate_per_s=1_000, queries=100)
    outcome = served(rule, lambda: time.sleep(0.02)).outcome()
    assert outcome.unserved > 0
    assert outcome.planned == 100


def test_a_failed_query_is_counted_and_has_no_latency() -> None:
    calls, failing = count(), [3]

    def step() -> None:
        if next(calls) in failing:
            raise BackendError("endpoint", why="HTTP 503")

    load = served(LoadRule(arrivals="constant", rate_per_s=1_000, queries=10), step)
    outcome = load.outcome()
    assert (outcome.failed, len(load), outcome.unserved) == (1, 9, 0)
    assert outcome.error == "endpoint: HTTP 503"
    failing += range(10, 20)
    with pytest.raises(BackendError, match="503"):  # a test without answers fails
        served(LoadRule(arrivals="burst", queries=3), step)


@pytest.mark.parametrize("arrivals", ["burst", "closed"])
def test_a_bug_in_one_of_several_workers_ends_the_test(arrivals) -> None:
    happened = threading.Event()

    def bug() -> None:
        happened.set()
        raise ZeroDivisionError

    rule = LoadRule(arrivals=arrivals, queries=50, workers=2, samples_per_query=2)
    with pytest.raises(ZeroDivisionError):
        served(rule, lambda: happened.wait(60), bug)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_closed_query_ends_with_the_last_of_its_requests(workers) -> None:
    steps = [StepRecorder(lambda: time.sleep(1e-3)) for _ in range(workers)]
    rule = LoadRule(arrivals="closed", queries=5, samples_per_query=8, workers=workers)
    load = LoadRecorder(steps, rule, np.array([1.0]))
    load.serve(lambda _: None)
    assert [*map(len, steps)] == [5 * len(range(at, 8, workers)) for at in range(workers)]
    (latency,) = load.samples()
    assert (latency.values_ms >= 8 // workers).all()
    assert latency.start_ms[1] >= latency.values_ms[0]


def test_a_closed_loop_ends_with_its_duration() -> None:
    load = served(LoadRule(arrivals="closed", duration_ms=30.0), lambda: time.sleep(1e-3))
    assert load.outcome().unserved == 0
    assert load.samples()[0].start_ms[-1] <= 30.0
