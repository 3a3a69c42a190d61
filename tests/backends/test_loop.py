import gc
import itertools
import weakref

import numpy as np
import pytest

from enginescope.backends import loop, stepwise
from enginescope.backends.base import Feeds, Measured, ProgressSink
from enginescope.backends.fake import FakeSession
from enginescope.backends.loop import Step, StepRecorder
from enginescope.core.errors import BackendError
from enginescope.judge.samples import Samples
from enginescope.probe.host import peak_rss_bytes
from enginescope.records.plan.plan import Profile
from enginescope.records.progress import Progress
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload
from enginescope.records.run.run import StopReport, WarmUpReport


class Clock:
    """A clock that only the step moves: what is timed is known exactly."""

    def __init__(self, monkeypatch, durations_ms) -> None:
        self.now_ns = 0
        self.calls = 0
        self._durations = durations_ms
        monkeypatch.setattr(loop, "perf_counter_ns", lambda: self.now_ns)

    def step(self) -> None:
        self.calls += 1
        self.now_ns += round(next(self._durations) * 1e6)


def steady(monkeypatch, ms: float = 1.0) -> Clock:
    noise = np.random.default_rng(0).normal(1, 0.001, 100_000)
    return Clock(monkeypatch, itertools.cycle(float(one) for one in ms * noise))


def timed_loop(step: Step, rule: StopRule, sink: ProgressSink) -> tuple[StopReport, Samples]:
    series = StepRecorder(step)
    return loop.timed_loop(series, rule, sink), series.samples()[0]


def warm_up(step: Step, rule: WarmUp, sink: ProgressSink) -> tuple[WarmUpReport, np.ndarray]:
    series = StepRecorder(step)
    return loop.warm_up(series, rule, sink), series.samples()[0].values_ms


def ignore(_: Progress) -> None:
    """Report nothing."""


def test_exactly_so_many_iterations(monkeypatch) -> None:
    clock = steady(monkeypatch)
    report, samples = timed_loop(clock.step, StopRule(iterations=137), ignore)
    assert report.rule == "iterations"
    assert len(samples) == report.iterations == 137
    assert clock.calls > 137  # those after a pause are not timed


def test_each_sample_is_one_step_and_nothing_else(monkeypatch) -> None:
    durations = [11.0, 50.0, 20.0, 70.0]
    clock = Clock(monkeypatch, itertools.cycle(durations))
    _, samples = timed_loop(clock.step, StopRule(iterations=8), ignore)
    np.testing.assert_allclose(samples.values_ms, durations * 2)
    np.testing.assert_allclose(samples.start_ms, np.cumsum([0.0, *durations, *durations])[:8])


def test_duration_waits_for_a_count_and_reports_progress(monkeypatch) -> None:
    seen: list[Progress] = []
    report, samples = timed_loop(steady(monkeypatch).step, StopRule(duration_ms=2_000), seen.append)
    assert {one.phase for one in seen} == {"steady_state"}
    assert [one.samples for one in seen] == sorted(one.samples for one in seen)
    assert seen[-1].median_ms == pytest.approx(1.0, rel=0.01)
    assert seen[-1].limit_ms == 2_000
    assert report.rule == "duration"
    assert 2_000 <= report.duration_ms < 2_000 + 2 * loop.CHUNK_MS
    assert len(samples) == pytest.approx(report.duration_ms, rel=0.04)  # less untimed calls
    rule = StopRule(duration_ms=100, min_iterations=50)
    report, samples = timed_loop(steady(monkeypatch, 10.0).step, rule, ignore)
    assert report.rule == "duration"
    assert len(samples) >= 50


def test_precision_waits_for_count_and_time(monkeypatch) -> None:
    report, samples = timed_loop(steady(monkeypatch).step, StopRule(), ignore)
    assert report.rule == "precision"
    assert report.half_width_pct is not None
    assert report.half_width_pct <= 0.5
    assert len(samples) >= 100
    assert report.duration_ms >= StopRule().min_time_ms


def test_noise_and_slow_models_run_into_limits_but_get_their_samples(monkeypatch) -> None:
    noise = np.random.default_rng(1).lognormal(0, 2, 100_000)
    clock = Clock(monkeypatch, itertools.cycle(float(one) for one in noise))
    report, _ = timed_loop(clock.step, StopRule(precision_pct=0.01, max_time_ms=3_000), ignore)
    assert report.rule == "max_time"
    assert report.duration_ms >= 3_000
    clock = steady(monkeypatch, 200.0)
    report, samples = timed_loop(clock.step, StopRule(max_time_ms=5_000), ignore)
    assert report.rule in ("max_time", "precision")
    assert len(samples) >= 100  # 20 s, although 5 s were the wish
    clock = steady(monkeypatch, 1_000.0)
    report, samples = timed_loop(clock.step, StopRule(max_time_ms=2_000), ignore)
    assert report.rule == "hard_limit"
    assert len(samples) < 20


def test_garbage_collection_is_off_inside_and_restored(monkeypatch) -> None:
    states = []
    clock = steady(monkeypatch)

    def step() -> None:
        states.append(gc.isenabled())
        clock.step()

    assert gc.isenabled()
    timed_loop(step, StopRule(iterations=3), ignore)
    assert states
    assert not any(states)
    assert gc.isenabled()

    def fail() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        timed_loop(fail, StopRule(iterations=3), ignore)
    assert gc.isenabled()


def test_warm_up_reaches_time_and_count(monkeypatch) -> None:
    report, times = warm_up(
        steady(monkeypatch).step, WarmUp(time_ms=100, iterations=500, limit_ms=5_000), ignore
    )
    assert report.ended_by == "steady"
    assert report.iterations == len(times) >= 500
    assert report.duration_ms >= 100


def test_warm_up_goes_on_until_steady(monkeypatch) -> None:
    falling = itertools.chain((3.0 - 2.0 * i / 400 for i in range(400)), itertools.repeat(1.0))
    clock = Clock(monkeypatch, falling)
    report, _ = warm_up(clock.step, WarmUp(time_ms=100, iterations=3, limit_ms=60_000), ignore)
    assert report.ended_by == "steady"
    assert report.iterations > 400


def test_warm_up_gives_up_or_is_none(monkeypatch) -> None:
    clock = Clock(monkeypatch, (1.0 + 0.01 * i for i in itertools.count()))
    report, _ = warm_up(clock.step, WarmUp(time_ms=100, limit_ms=1_000), ignore)
    assert report.ended_by == "limit"
    assert report.duration_ms >= 1_000
    # none is asked for
    clock = steady(monkeypatch)
    report, times = warm_up(clock.step, WarmUp(time_ms=0, iterations=0), ignore)
    assert (report.iterations, report.ended_by, clock.calls, times.size) == (0, "fixed", 0, 0)


def test_between_chunks_only_the_last_samples_are_looked_at(monkeypatch) -> None:
    seen = []
    real = StepRecorder.times_ms

    def spy(series, last=None):
        seen.append(real(series, last).size)
        return real(series, last)

    monkeypatch.setattr(StepRecorder, "times_ms", spy)
    _, samples = timed_loop(steady(monkeypatch, 0.02).step, StopRule(duration_ms=1_000), ignore)
    assert len(samples) > 40_000
    assert max(seen[:-2]) <= 20_000
    assert seen[-1] == len(samples)


class Pausing:
    """Requests after a pause are slower: 0.3 ms in all, each call half as much as the last."""

    def __init__(self, monkeypatch, ms: float) -> None:
        self.clock = Clock(monkeypatch, itertools.repeat(ms))
        self.slow_ms = 0.0
        self.pause()

    def pause(self, *_: object) -> None:
        self.slow_ms = 0.3

    def step(self) -> None:
        extra = self.slow_ms / 2 if self.slow_ms > 0.001 else 0.0
        self.slow_ms -= extra
        self.clock.now_ns += round(extra * 1e6)
        self.clock.step()


@pytest.mark.parametrize("ms", [0.006, 0.06, 1.0, 5.0, 9.0])
def test_no_timed_call_follows_a_pause(monkeypatch, ms) -> None:
    requests = Pausing(monkeypatch, ms)
    warming, series = StepRecorder(requests.step), StepRecorder(requests.step)
    loop.warm_up(warming, WarmUp(time_ms=200, iterations=3), requests.pause)
    requests.pause()
    loop.timed_loop(series, StopRule(duration_ms=500), requests.pause, warming)
    assert series.times_ms().max() < 1.05 * ms


def test_a_warm_up_sets_the_size_of_the_first_timed_chunk(monkeypatch) -> None:
    clock = steady(monkeypatch)
    warming, series = StepRecorder(clock.step), StepRecorder(clock.step)
    loop.warm_up(warming, WarmUp(time_ms=200, iterations=3), ignore)
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("a collection before the timed loop"))
    looks: list[int] = []
    rule = StopRule(duration_ms=500)
    loop.timed_loop(series, rule, lambda progress: looks.append(progress.samples), warming)
    assert looks[0] == pytest.approx(100, rel=0.02)


def test_untimed_calls_cost_little_and_slow_requests_get_none(monkeypatch) -> None:
    clock = steady(monkeypatch, 30.0)
    _, samples = timed_loop(clock.step, StopRule(duration_ms=3_000), ignore)
    assert clock.calls == len(samples)
    for ms, duration_ms, most in ((0.006, 1_000, 0.03), (1.0, 3_000, 0.03), (9.0, 3_000, 0.11)):
        clock = steady(monkeypatch, ms)
        _, samples = timed_loop(clock.step, StopRule(duration_ms=duration_ms), ignore)
        assert clock.calls <= (1 + most) * len(samples)


JOB = Job(
    subject=Subject(name="nothing", kind="synthetic"),
    backend=BackendSpec(name="fake", options={"latency_us": "20"}),
    workload=Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=5)),
)


def measured_with(profile_pass, open_session=FakeSession) -> Measured:
    feeds = Feeds(arrays={"x": np.zeros((1, 3, 8, 8), np.float32)}, batch=1)
    return stepwise.measure(JOB, open_session, lambda _: feeds, lambda _: None, profile_pass)


@pytest.mark.parametrize("error", [BackendError("profiling", why="disk full"), MemoryError("full")])
def test_a_failed_layer_pass_keeps_what_is_measured(error) -> None:
    def fail(job, arrays):
        raise error

    measured = measured_with(fail)
    assert len(measured.samples[0]) == 5
    assert measured.profile is None
    (notice,) = [one for one in measured.notices if one.code == "W-NO-LAYERS"]
    assert "full" in notice.message
    assert [phase.name for phase in measured.phases][-1] == "steady_state"


def test_the_timed_session_is_gone_before_the_layer_pass() -> None:
    opened, seen = [], []

    def open_session(job: Job) -> FakeSession:
        session = FakeSession(job)
        opened.append(weakref.ref(session))
        return session

    def look(job, arrays):
        gc.collect()
        seen.append(opened[0]())
        return Profile(source="fake", layers=(), iterations=1), ()

    assert measured_with(look, open_session).profile is not None
    assert seen == [None]


def test_peak_memory_is_that_of_the_timing() -> None:
    hoard = []

    def fill(job, arrays):
        hoard.append(np.ones(64 << 20, np.uint8))
        return Profile(source="fake", layers=(), iterations=1), ()

    before = peak_rss_bytes()
    measured = measured_with(fill)
    assert before is not None
    assert measured.peak_memory_bytes is not None
    assert measured.peak_memory_bytes < before + (32 << 20)
