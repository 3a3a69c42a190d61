"""Contenders: sessions that run at the same time, timed in one window that all of them share.

Each contender loads its model and waits until all have. Then all warm up together. A contender that
is warm goes on with requests until the last one is warm, which opens the window. It ends for all at
one time, and each goes on until that time is over. So all issue requests from the first moment of
the window to its last. Requests that are not wholly inside are counted and left out.

Times are those of `time.perf_counter_ns`, which all processes of a machine share.
"""

import threading
from contextvars import ContextVar
from time import perf_counter_ns
from typing import NamedTuple, Protocol

import numpy as np

from enginescope.backends.base import Measured, ProgressSink
from enginescope.backends.loop import Recorder, loop_state, next_chunk, with_warm_up
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.probe.host import LoadMeter
from enginescope.records.run.load_and_contention import ContentionOutcome
from enginescope.records.run.run import StopReport

#: Phases that a contender reports: it has loaded, and it is warm.
LOADED, WARM = "loaded", "warm"
#: The window is long enough for so many requests of the slowest contender.
LEAST_REQUESTS = 5
#: Why a contender fails that has nobody to meet.
OTHER_ENDED = "another contender ended before all were warm"


class Window(NamedTuple):
    """First and last moment, in nanoseconds."""

    begin_ns: int
    end_ns: int


class Meeting(Protocol):
    """Where a contender meets the others."""

    def loaded(self) -> None:
        """Wait until all contenders have loaded."""

    def warm(self, typical_ms: float) -> Window | None:
        """Say that this contender is warm; return the window once all are.

        Args:
            typical_ms: Time of one of its requests.
        """


#: The meeting of the job that this thread measures.
MEETING: ContextVar[Meeting] = ContextVar("meeting")


class Rendezvous:
    """Counts the contenders that have loaded and those that are warm, from any thread.

    Attributes:
        window: ``None`` until all are warm.
        is_broken: A contender ended before.
    """

    def __init__(self, contenders: int, duration_ms: float) -> None:
        self._changed = threading.Condition()
        self._loading = set(range(contenders))
        self._contenders, self._duration_ms = contenders, duration_ms
        self._typical_ms: dict[int, float] = {}
        self.window: Window | None = None
        self.is_broken = False

    def note_loaded(self, place: int) -> bool:
        """Note that a contender has loaded; return whether all have."""
        with self._changed:
            self._loading.discard(place)
            self._changed.notify_all()
            return not self._loading

    def note_warm(self, place: int, typical_ms: float) -> Window | None:
        """Note that a contender is warm; return the window if all are."""
        with self._changed:
            self._typical_ms[place] = typical_ms
            if self.window is None and len(self._typical_ms) == self._contenders:
                slowest_ms = (LEAST_REQUESTS + 1) * max(self._typical_ms.values())
                begin = perf_counter_ns()
                end = begin + int(1e6 * max(self._duration_ms, slowest_ms))
                self.window = Window(begin, end)
            return self.window

    def abort(self) -> None:
        """Note that a contender ended; without a window there will be none."""
        with self._changed:
            self.is_broken = self.window is None
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all have loaded, or one ended."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_broken or not self._loading)


class Seat:
    """The place of a thread at the rendezvous of its process."""

    def __init__(self, rendezvous: Rendezvous, place: int) -> None:
        self._rendezvous, self._place = rendezvous, place

    def loaded(self) -> None:
        self._rendezvous.note_loaded(self._place)
        self._rendezvous.wait()
        self._check()

    def warm(self, typical_ms: float) -> Window | None:
        """Say that this contender is warm; return the window once all are."""
        self._check()
        return self._rendezvous.note_warm(self._place, typical_ms)

    def _check(self) -> None:
        if self._rendezvous.is_broken:
            raise other_ended()


def other_ended() -> BackendError:
    """Return the error of a contender that has nobody to meet."""
    return BackendError("contention", why=OTHER_ENDED)


def shared_loop(
    recorder: Recorder, warming: Recorder, meeting: Meeting, progress: ProgressSink
) -> Measured:
    """Issue requests until the window of all contenders is over; return those wholly within it."""
    load = LoadMeter()
    window: Window | None = None
    begin = perf_counter_ns()
    with gc_paused():
        recorder.run(1)  # the times of samples count from it
        while True:
            recorder.run(*next_chunk(recorder))
            ended = perf_counter_ns()
            if window is not None and ended >= window.end_ns:
                break
            if window is None:
                window = meeting.warm(float(np.median(recorder.times_ms(200))))
            elapsed_ms = (ended - begin) / 1e6
            progress(loop_state("steady_state" if window else WARM, recorder, elapsed_ms, None))
    shifted = Window(window.begin_ns - begin, window.end_ns - begin)
    return _within(shifted, with_warm_up(recorder, warming), load.own_cores())


def _within(window: Window, samples: tuple[Samples, ...], cores: float | None) -> Measured:
    """Return the samples that lie within the window; its times count from the first sample."""
    headline = samples[0]
    if headline.start_ms is None:
        raise UnsupportedError("contention", why="the samples do not say when they began")
    starts, from_ms, to_ms = headline.start_ms, window.begin_ns / 1e6, window.end_ns / 1e6
    is_before, is_after = starts < from_ms, starts + headline.values_ms > to_ms
    inside = ~is_before & ~is_after
    if not inside.any():
        raise BackendError("contention", why="no request lies within the window", hint="--duration")
    first_ms = starts[inside][0]
    cut = tuple(
        replace(
            series,
            values_ms=frozen(series.values_ms[inside]),
            start_ms=frozen(starts[inside] - first_ms),
        )
        for series in samples
    )
    interval = quantile_interval(cut[0].values_ms, 0.5)
    stop = StopReport(
        rule="duration",
        iterations=len(cut[0]),
        duration_ms=to_ms - from_ms,
        half_width_pct=interval.half_width_pct if interval else None,
    )
    before, after = int(is_before.sum()), int((is_after & ~is_before).sum())
    outcome = ContentionOutcome(window_ms=to_ms - from_ms, before=before, after=after, cores=cores)
    return Measured(samples=cut, stop=stop, contention=outcome)
