"""A load test: queries that arrive when they are due, whether or not earlier ones have ended.

Each query's latency counts from its intended arrival. A closed loop waits with the next query until
the last one has ended, so that a stall delays queries that it never records (Tene's coordinated
omission). Here a stall shows as queueing time in every query that arrived meanwhile.

Workers take the queries in the order of arrival; each worker has a session of its own.

The arrival times are drawn before the test.
"""

import gc
import threading
from array import array
from collections.abc import Callable, Sequence
from itertools import count as counting
from time import perf_counter_ns, sleep
from typing import Protocol, runtime_checkable

import numpy as np

from enginescope.backends.base import ProgressSink
from enginescope.backends.loop import Recorder
from enginescope.backends.native_loop import Program
from enginescope.core.errors import BackendError
from enginescope.core.process_control import gc_paused
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.records.progress import Progress
from enginescope.records.run.load_and_contention import LoadOutcome, LoadRule
from enginescope.records.run.run import StopReport


def arrival_times_ms(rule: LoadRule, rate_per_s: float | None) -> Array:
    """Return the intended arrival of each query in milliseconds, the same for the same seed.

    Gaps of ``poisson`` are exponential with mean ``1 / rate``, so that the number of arrivals in
    any stretch of time has a Poisson distribution.

    Args:
        rate_per_s: Queries per second, above 0; a trace does not need it, and a burst has as many
            queries as would arrive in the duration.
    """
    if rule.arrivals == "trace":
        times = np.asarray(rule.times_ms, dtype=np.float64)
        return times if rule.queries is None else times[: rule.queries]
    gap_ms = 1e3 / (rate_per_s or 1.0)
    expected = int(np.ceil(rule.duration_ms / gap_ms))
    queries = rule.queries or (rule.least_queries if expected < rule.least_queries else None)
    if rule.arrivals in ("constant", "burst"):
        numbers = np.arange(queries or expected)
        return 0.0 * numbers if rule.arrivals == "burst" else gap_ms * numbers
    generator = np.random.default_rng(rule.seed)
    if queries is not None:
        return np.cumsum(generator.exponential(gap_ms, queries))
    times = np.zeros(0)
    while not times.size or times[-1] <= rule.duration_ms:
        block = generator.exponential(gap_ms, max(16, int(1.1 * rule.duration_ms / gap_ms)))
        times = np.concatenate((times, (times[-1] if times.size else 0.0) + np.cumsum(block)))
    return times[: max(1, int(np.searchsorted(times, rule.duration_ms)))]


#: One worker busy-waits for the last stretch before an arrival, which it then meets within
#: microseconds. Several workers sleep: a busy one would take processor time from the others.
BUSY_NS = 2_000_000
#: After the last arrival the test goes on for as long again and this, then ends.
GRACE_MS = 1_000.0
#: The loop in C runs about as long without a pause, in which a test can be interrupted.
STRETCH_NS = 100_000_000


@runtime_checkable
class HasProgram(Protocol):
    """A recorder whose requests the loop in C makes."""

    program: Program


class LoadRecorder:
    """Serves the queries of a load test.

    Args:
        recorders: Of each worker's session: they issue the requests, and time them as the closed
            loop does.
        rule: Its `workers` is the number of recorders.
        closed_ms: Times of requests in the closed loop of one worker; may be empty.
    """

    def __init__(self, recorders: Sequence[Recorder], rule: LoadRule, closed_ms: Array) -> None:
        self._recorders = recorders
        self._rule = rule
        self._closed_ms = float(np.median(closed_ms)) if closed_ms.size else None
        self._closed_per_s = 1e3 / float(closed_ms.mean()) if closed_ms.size else None
        self._arrivals_ms: Array = np.zeros(0)
        self._starts = self._ends = self._ready = self._service_ms = np.zeros(0)
        self._is_served: Array = np.zeros(0, dtype=bool)
        self._is_failed: Array = np.zeros(0, dtype=bool)
        self._native_requests = 0
        self._error: str | None = None
        self._crash: BaseException | None = None

    def __len__(self) -> int:
        return int(np.count_nonzero(self._is_served))

    @property
    def issued(self) -> int:
        """Requests in all."""
        return self._native_requests + sum(recorder.issued for recorder in self._recorders)

    @property
    def wall_ms(self) -> float:
        """Time from the first arrival to the end of the last query."""
        served = self._is_served
        return float(self._ends[served].max() - self._arrivals_ms[0]) if served.any() else 0.0

    def run(self, count: int, untimed: int = 0) -> None:
        """Pass on to the first worker's recorder."""
        self._recorders[0].run(count, untimed)

    def times_ms(self, last: int | None = None) -> Array:
        times: Array = (self._ends - self._arrivals_ms)[self._is_served]
        return times if last is None else times[-last:]

    def serve(self, progress: ProgressSink) -> StopReport:
        gc.collect()
        rate = self._rate_per_s()
        if self._rule.is_open:
            self._arrivals_ms = arrival_times_ms(self._rule, rate)
        planned_ms = float(self._arrivals_ms[-1]) if self._arrivals_ms.size else None
        limit_ms = planned_ms or self._rule.duration_ms
        progress(Progress(phase="steady_state", elapsed_ms=0.0, limit_ms=limit_ms))
        native = [recorder for recorder in self._recorders if isinstance(recorder, HasProgram)]
        begin = perf_counter_ns()
        with gc_paused():
            if not self._rule.is_open:
                self._serve_closed()
            elif len(native) == len(self._recorders):
                self._serve_natively(native)
            else:
                self._serve_from_python()
        if self._crash is not None:
            raise self._crash
        if not len(self):
            raise BackendError("load test", why=self._error or "no query was answered in time")
        return StopReport(
            rule="duration" if self._rule.queries is None else "iterations",
            iterations=len(self),
            duration_ms=(perf_counter_ns() - begin) / 1e6,
        )

    def _rate_per_s(self) -> float | None:
        """Return the rate at which queries arrive; of a burst, that of the closed loop."""
        rule = self._rule
        if rule.rate_per_s is not None or self._closed_per_s is None:
            return rule.rate_per_s
        share = 1.0 if rule.arrivals == "burst" else rule.share
        return share * rule.workers * self._closed_per_s

    def _serve_natively(self, recorders: Sequence[HasProgram]) -> None:
        """Let the loop in C wait for arrivals: the interpreter adds no lateness."""
        due = (self._arrivals_ms * 1e6).astype(np.int64)
        busy_ns = BUSY_NS if len(recorders) == 1 else 0
        programs = [recorder.program.when_due(busy_ns) for recorder in recorders]
        rows = np.zeros((due.size, programs[0].columns), np.int64)
        taken, failed = np.zeros(1, np.int64), np.zeros(due.size, dtype=bool)
        left = counting()
        begin = perf_counter_ns()
        limit = self._limit_ns(begin, int(due[-1]))
        due += begin

        def work(_: Recorder) -> None:
            program = programs[next(left)]
            while (number := int(taken[0])) < due.size and self._crash is None:
                if limit and perf_counter_ns() > limit:
                    return
                if due[number] - perf_counter_ns() > 2 * STRETCH_NS:
                    sleep(STRETCH_NS / 1e9)
                    continue
                end = self._end_of_stretch(due, number)
                try:
                    program.share(rows, taken, end, due=due, limit_ns=limit)
                except BackendError as error:
                    self._error = self._error or str(error)
                    failed[program.last] = True

        self._on_threads(work)
        times_ms = (rows - begin) / 1e6
        self._ready, self._starts, self._ends = times_ms[:, -3:].T
        self._service_ms = times_ms[:, 1] - times_ms[:, 0]
        self._is_failed, self._is_served = failed, (rows[:, -1] > 0) & ~failed
        self._native_requests = int(taken[0])

    def _end_of_stretch(self, due: Array, number: int) -> int:
        """Return where the loop in C ends for a moment: at the longest gap of those that come."""
        times = (due[number] + STRETCH_NS // 2, due[number] + STRETCH_NS)
        first, last = np.searchsorted(due[number + 1 :], times)
        gaps = np.diff(due[number + first : number + last + 1])
        gap = int(np.argmax(gaps)) if gaps.size else 0
        most = STRETCH_NS / 1e6 / (self._closed_ms or STRETCH_NS)
        return min(number + int(first) + gap + 1, number + max(int(most), 1), due.size)

    def _limit_ns(self, begin_ns: int, last_ns: int) -> int:
        """Return when the test ends at the latest; 0: a burst has no pace to fall behind."""
        is_paced = self._rule.arrivals != "burst"  # the worker's own time limit ends a burst
        return begin_ns + int(2 * last_ns + GRACE_MS * 1e6) if is_paced else 0

    def _serve_from_python(self) -> None:
        size = self._arrivals_ms.size
        self._starts, self._ends, self._ready = (np.zeros(size) for _ in range(3))
        self._service_ms = np.zeros(size)
        self._is_served, self._is_failed = (np.zeros(size, dtype=bool) for _ in range(2))
        due = (self._arrivals_ms * 1e6).astype(np.int64).tolist()
        turn = counting()
        begin = perf_counter_ns()
        limit = self._limit_ns(begin, due[-1])
        busy_ns = BUSY_NS if len(self._recorders) == 1 else 0

        def work(recorder: Recorder) -> None:
            clock, mine = perf_counter_ns, array("q")
            while (query := next(turn)) < size and self._crash is None:
                ready = clock()
                if limit and ready > limit:
                    break
                _wait(begin + due[query], busy_ns)
                start = clock()
                is_answered = self._ask(recorder, 1)
                end = clock()
                self._ready[query] = (ready - begin) / 1e6
                self._starts[query] = (start - begin) / 1e6
                self._ends[query] = (end - begin) / 1e6
                if is_answered:
                    self._is_served[query] = True
                    mine.append(query)
                else:
                    self._is_failed[query] = True
            # the time between two readings of the clock, as the closed loop has it
            self._service_ms[np.asarray(mine, dtype=np.int64)] = recorder.times_ms()

        self._on_threads(work)

    def _serve_closed(self) -> None:
        """Issue a query when the one before has ended; the workers share its requests."""
        rule, workers = self._rule, len(self._recorders)
        begins, ends, failures = array("q"), array("q"), array("b")
        most = rule.queries
        begin = perf_counter_ns()
        stop_at = begin + int(rule.duration_ms * 1e6)
        state = {"goes_on": True, "failed": False}

        def turn_over() -> None:
            now = perf_counter_ns()
            if begins:
                ends.append(now)
                failures.append(state["failed"])
            enough = len(begins) >= most if most is not None else now >= stop_at
            state["goes_on"] = not enough and self._crash is None
            state["failed"] = False
            if state["goes_on"]:
                begins.append(perf_counter_ns())

        barrier = threading.Barrier(workers, turn_over)
        cross = turn_over if workers == 1 else barrier.wait
        numbers = counting()

        def work(recorder: Recorder) -> None:
            place = next(numbers)
            share = len(range(place, rule.samples_per_query, workers))
            try:
                cross()
                while state["goes_on"]:
                    if share and not self._ask(recorder, share):
                        state["failed"] = True
                    cross()
            except threading.BrokenBarrierError:  # another worker has ended with an error
                return
            except BaseException:  # whatever ends it: the others would wait at the barrier for good
                barrier.abort()
                raise

        self._on_threads(work)
        self._arrivals_ms = (np.asarray(begins[: len(ends)]) - begin) / 1e6
        self._starts = self._ready = self._arrivals_ms
        self._ends = (np.asarray(ends) - begin) / 1e6
        self._is_failed = np.asarray(failures, dtype=bool)
        self._is_served = ~self._is_failed
        self._service_ms = self._ends - self._starts

    def _ask(self, recorder: Recorder, requests: int) -> bool:
        try:
            recorder.run(requests)
        except BackendError as error:
            self._error = self._error or str(error)
            return False
        return True

    def _on_threads(self, work: Callable[[Recorder], None]) -> None:
        """Run `work` for each worker: the only one in this thread, several in their own."""
        if len(self._recorders) == 1:
            work(self._recorders[0])
            return

        def guarded(recorder: Recorder) -> None:
            try:
                work(recorder)
            except BaseException as error:  # noqa: BLE001 - raised where the test was started
                self._crash = error

        threads = [threading.Thread(target=guarded, args=(one,)) for one in self._recorders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def samples(self) -> tuple[Samples, ...]:
        """Return latency, and of an open loop also its parts, in the order of arrival."""
        served = self._is_served
        arrivals, starts = self._arrivals_ms[served], self._starts[served]
        latency = self.times_ms()
        series = {"latency": latency}
        if self._rule.is_open:
            service = self._service_ms[served]
            series["service"] = service
            series["queueing"] = np.maximum(latency - service, 0.0)
            series["lateness"] = starts - np.maximum(arrivals, self._ready[served])
        return tuple(
            Samples(metric=metric, values_ms=frozen(values), start_ms=frozen(arrivals))
            for metric, values in series.items()
        )

    def outcome(self) -> LoadOutcome:
        planned, failed = self._arrivals_ms.size, int(np.count_nonzero(self._is_failed))
        last_ms = float(self._arrivals_ms[-1]) if planned else 0.0
        # with n arrivals there are n - 1 gaps between them
        is_paced = self._rule.is_open and planned > 1 and last_ms > self._arrivals_ms[0]
        rate = 1e3 * (planned - 1) / (last_ms - self._arrivals_ms[0]) if is_paced else None
        return LoadOutcome(
            planned=planned,
            unserved=planned - len(self) - failed,
            failed=failed,
            error=self._error,
            rate_per_s=None if rate is None else float(rate),
            closed_ms=self._closed_ms,
            closed_per_s=self._closed_per_s,
            span_ms=self.wall_ms,
            last_arrival_ms=last_ms,
        )


def _wait(until_ns: int, busy_ns: int) -> None:
    while (left := until_ns - busy_ns - perf_counter_ns()) > 0:
        sleep(left / 1e9)
    while perf_counter_ns() < until_ns:
        pass
