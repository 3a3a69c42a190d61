"""The search: rounds of one process of each alternative that is left."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from time import perf_counter

from enginescope.analysis.ladder.rungs import median_of, period
from enginescope.analysis.tune.halving import RUNGS, ranked, slower_by_evidence
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.experiment import SPARE_SHARE, Ended
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.progress import RoundPosition, side_number
from enginescope.records.run.run import Run
from enginescope.records.verdict.tune import Alternative, AlternativeState, TuneMetric
from enginescope.services.measurement.jobs import raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import JobRounds, Pacing, interrupted_notice
from enginescope.services.tune.alternatives import Candidate, TuneRequest
from enginescope.store.archive import Store

#: Share of the maximum time that the search may take; the rest is for the confirmation.
_SHARE = 0.6
_ORDER: tuple[AlternativeState, ...] = (
    *("default", "candidate", "left", "dropped", "failed", "wrong"),
)


def value_of(run: Run, metric: TuneMetric) -> float | None:
    """Return milliseconds per item, or items per second; ``None``: the run has no figure."""
    items = run.job.workload.batch or 1
    if metric == "throughput":
        period_ms = period(run)
        return None if period_ms is None else 1e3 * items / period_ms
    headline = run.headline
    latency_ms = median_of(headline.metric)(run) if headline is not None else None
    return None if latency_ms is None else latency_ms / items


class Search:
    """Measures rounds, and drops alternatives that are slower by evidence.

    The first candidate is the default. Those of `outputs`, wrong and unchecked ones, are not
    measured. The whole began at `begin`, on the performance counter.
    """

    def __init__(
        self,
        request: TuneRequest,
        candidates: Sequence[Candidate],
        outputs: tuple[Mapping[int, str], Mapping[int, str]],
        store: Store,
        observer: MeasurementObserver,
        begin: float,
    ) -> None:
        self._request, self._observer, self._begin = request, observer, begin
        self._candidates = {one.number: one for one in candidates}
        self._wrong, self._failed = map(dict, outputs)
        out = {*self._wrong, *self._failed}
        self._left = [one.number for one in candidates if one.number not in out]
        self._values: dict[int, list[float]] = {number: [] for number in self._candidates}
        self._runs: dict[int, list[Run]] = {number: [] for number in self._candidates}
        self._dropped: dict[int, int] = {}
        self._seconds: list[float] = []
        self.default, self.rounds = candidates[0], 0
        self._measuring = JobRounds(
            [one.job for one in candidates],
            Pacing(looks=RUNGS, seed=request.workload.seed, text=self._text),
            request.jobs(),
            store,
            observer,
            spare=max(1, len(candidates) * RUNGS[0] // SPARE_SHARE),
        )
        self.comparison = self._measuring.comparison

    @property
    def leader(self) -> Candidate | None:
        """The fastest of those that are left; ``None`` if it is the default."""
        first = ranked(self._costs())[0]
        return self._candidates[first] if first != self.default.number else None

    def round_s(self, leader: Candidate) -> float:
        """Return what a round of the confirmation takes: two processes, and what they build."""
        builds = [
            ((run.build.parse_ms or 0.0) + (run.build.build_ms or 0.0)) / 1e3
            for number in (self.default.number, leader.number)
            for run in self._runs[number][:1]
            if run.build is not None
        ]
        return 2 * median(self._seconds) + sum(builds)

    def run(self) -> None:
        """Measure rounds until the last rung, the maximum time, or no other is left."""
        while self.rounds < RUNGS[-1] and len(self._left) > 1:
            begin = perf_counter()
            if not self._round():
                break
            if self.rounds in RUNGS:
                self._drop()
            most_s, now = self._request.max_time_s, perf_counter()
            if most_s is not None and now - self._begin + (now - begin) > _SHARE * most_s:
                break
        if not self._values[self.default.number]:  # every other one has wrong outputs
            self._round()

    def _round(self) -> bool:
        """Measure a round; False: an interrupt ended it."""
        row = self._measuring.round(self._left)
        for number, entry in row.items():
            self._take(number, entry.measured.source)
            self._seconds.append(entry.seconds or 0.0)
        self._left = [number for number in self._left if number not in self._failed]
        self.rounds += bool(row)
        return bool(row)

    def _take(self, number: int, run: Run) -> None:
        if number == self.default.number:
            raise_unless_ok(run)
        self._runs[number].append(run)
        value = value_of(run, self._request.metric) if run.is_ok else None
        if value is None:
            message = run.outcome.message or run.outcome.kind.value
            self._failed[number] = "its run has no figure" if run.is_ok else f"failed: {message}"
        else:
            self._values[number].append(value)

    def _drop(self) -> None:
        costs = self._costs()
        slower = [one for one in slower_by_evidence(costs) if one != self.default.number]
        self._dropped |= dict.fromkeys(slower, self.rounds)
        first = ranked(costs)[0]
        self._left = [number for number in self._left if number not in slower]
        left = counted(len(self._left), "alternative")
        self._observer.stands(
            f"after {self.rounds} rounds: {left} left; {self._name(first)} leads, not confirmed"
        )

    def _costs(self) -> dict[int, list[float]]:
        is_rate = self._request.metric == "throughput"
        return {
            number: [1e3 / value if is_rate else value for value in self._values[number]]
            for number in self._left
        }

    def _text(self, turn: RoundPosition) -> str:
        return f"round {turn.round + 1} of {RUNGS[-1]}, {self._name(side_number(turn.side))}"

    def _name(self, number: int) -> str:
        one = self._candidates[number]
        return str(one.job.backend) + (f", batch {one.batch}" if one.batch else "")

    def outcome(self) -> tuple[Alternative, ...]:
        """Return every alternative: the default, the fastest ones, and those that are out."""
        found = [self._outcome(one) for one in self._candidates.values()]
        sign = -1 if self._request.metric == "throughput" else 1

        def place(one: Alternative) -> tuple[int, int, float]:
            """Sort by state; those dropped last first; then the fastest first."""
            return _ORDER.index(one.state), -(one.dropped_after or 0), sign * (one.value or 0.0)

        return tuple(sorted(found, key=place))

    def _outcome(self, candidate: Candidate) -> Alternative:
        number, values = candidate.number, self._values[candidate.number]
        base = self._values[self.default.number]
        state = self._state(number)
        is_compared = bool(values) and state != "default"
        return Alternative(
            number=number,
            backend=str(candidate.job.backend),
            batch=candidate.batch,
            state=state,
            value=median(values) if values else None,
            interval=level_of_processes(values) if values else None,
            ratio=ratio_of_few_rounds(base[: len(values)], values) if is_compared else None,
            rounds=len(values),
            dropped_after=self._dropped.get(number),
            trtexec_ms=candidate.trtexec_ms,
            why=self._wrong.get(number) or self._failed.get(number),
            runs=tuple(run.id for run in self._runs[number]),
        )

    def _state(self, number: int) -> AlternativeState:
        if number == self.default.number:
            return "default"
        if number in self._wrong:
            return "wrong"
        if number in self._failed:
            return "failed"
        if number in self._dropped:
            return "dropped"
        leader = self.leader
        return "candidate" if leader is not None and number == leader.number else "left"

    def notices(self) -> Iterator[Notice]:
        """Yield that the search ended early, and what is not stored."""
        if self._measuring.ended is Ended.INTERRUPTED:
            yield interrupted_notice(f"{counted(self.rounds, 'round')} of the search")
        elif self.rounds < RUNGS[-1] and len(self._left) > 2:
            yield Notice(
                code="I-SHORT-SEARCH",
                message=f"the search ended after {counted(self.rounds, 'round')} with "
                f"{len(self._left)} alternatives left: the maximum time was over",
                evidence={"rounds": self.rounds, "left": len(self._left)},
            )
        if self._measuring.not_stored is not None:
            self._observer.warn(self._measuring.not_stored)
