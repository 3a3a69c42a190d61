"""Contenders meet, share one window, and keep what lies within it."""

import threading

import numpy as np
import pytest

from enginescope.backends.contention import LEAST_REQUESTS, Rendezvous, Seat, Window, shared_loop
from enginescope.backends.loop import StepRecorder
from enginescope.core.errors import BackendError
from enginescope.judge.samples import Samples


class Script:
    """A meeting that opens the window after some calls; requests take no time of their own."""

    def __init__(self, window: Window, calls: int = 1) -> None:
        self._window, self._calls = window, calls

    def loaded(self) -> None:
        """Nobody to wait for."""

    def warm(self, typical_ms: float) -> Window | None:
        assert typical_ms > 0
        self._calls -= 1
        return self._window if self._calls <= 0 else None


class Clock:
    """Nanoseconds that pass as requests take them, 30 ms each."""

    now = 1_000_000_000

    def step(self) -> None:
        self.now += 30_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("contention", "loop"):
        monkeypatch.setattr(f"enginescope.backends.{module}.perf_counter_ns", lambda: clock.now)
    return clock


def shared(clock: Clock, window: Window, calls: int = 1, recorder: type = StepRecorder):
    script, warming = Script(window, calls), StepRecorder(clock.step)
    return shared_loop(recorder(clock.step), warming, script, lambda progress: None)


def test_only_requests_wholly_within_the_window_are_kept(clock) -> None:
    begin = clock.now
    window = Window(begin + 100_000_000, begin + 1_000_000_000)
    result = shared(clock, window)
    # requests begin at 0, 30, 60, …: those from 120 to 960 end by 990
    assert len(result.samples[0]) == 29
    assert result.contention.before == 4
    assert result.contention.after >= 1
    assert result.contention.window_ms == pytest.approx(900)
    assert result.stop.iterations == 29
    assert result.samples[0].start_ms[:2] == pytest.approx([0, 30])
    window = Window(clock.now + 50_000_000, clock.now + 777_000_000)
    shared(clock, window)
    assert clock.now >= window.end_ns
    # it goes on with requests while others are not warm
    window = Window(clock.now + 900_000_000, clock.now + 1_200_000_000)
    assert shared(clock, window, calls=5).contention.before == 30


def test_a_window_without_a_whole_request_and_samples_without_starts_are_errors(clock) -> None:
    window = Window(clock.now + 1_000_000, clock.now + 2_000_000)
    with pytest.raises(BackendError, match="no request lies within the window"):
        shared(clock, window)

    class Blind(StepRecorder):
        def samples(self) -> tuple[Samples, ...]:
            return (Samples(metric="latency", values_ms=np.ones(len(self))),)

    window = Window(clock.now, clock.now + 100_000_000)
    with pytest.raises(Exception, match="do not say when they began"):
        shared(clock, window, recorder=Blind)


def test_the_window_opens_when_all_are_warm_and_fits_the_slowest(clock) -> None:
    meeting = Rendezvous(2, duration_ms=500)
    assert meeting.note_warm(0, 1.0) is None
    clock.now += 7
    window = meeting.note_warm(1, 2.0)
    assert window == Window(clock.now, clock.now + 500_000_000)
    assert meeting.note_warm(0, 1.0) == window
    meeting = Rendezvous(2, duration_ms=500)
    meeting.note_warm(0, 1.0)
    window = meeting.note_warm(1, 400.0)
    assert (window.end_ns - window.begin_ns) / 1e6 == 400.0 * (LEAST_REQUESTS + 1)


def test_all_wait_for_the_last_one_to_load() -> None:
    meeting = Rendezvous(2, duration_ms=1)
    passed = threading.Event()

    def first() -> None:
        Seat(meeting, 0).loaded()
        passed.set()

    threading.Thread(target=first, daemon=True).start()
    assert not passed.is_set()
    Seat(meeting, 1).loaded()
    assert passed.wait(60)


def test_one_that_ends_early_ends_the_waiting() -> None:
    meeting = Rendezvous(2, duration_ms=1)
    threading.Timer(0, meeting.abort).start()
    with pytest.raises(BackendError, match="another contender ended"):
        Seat(meeting, 0).loaded()
    with pytest.raises(BackendError, match="another contender ended"):
        Seat(meeting, 0).warm(1.0)
    # one that ends after the window opened disturbs nobody
    meeting = Rendezvous(1, duration_ms=1)
    seat = Seat(meeting, 0)
    seat.loaded()
    window = seat.warm(1.0)
    meeting.abort()
    assert seat.warm(1.0) == window
