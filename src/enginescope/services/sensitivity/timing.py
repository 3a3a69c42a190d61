"""Time of converted models against FP32: rounds of one fresh process of each."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from time import perf_counter

from enginescope.analysis.sensitivity.ranking import saved_time
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.evidence import EvidenceLevel
from enginescope.judge.experiment import SPARE_SHARE
from enginescope.records.run.job import Job
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.sensitivity import ConvertedModel
from enginescope.services.measurement.jobs import raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import JobRounds, Pacing
from enginescope.services.sensitivity.request import LEAST_ROUNDS, SensitivityRequest
from enginescope.store.archive import Store

_BASE = "A"


class Timing:
    """Interleaved rounds of FP32 and some models.

    Args:
        jobs: Key -> job; the time of each is compared with `base`.
        what: For people.

    Attributes:
        rounds: Measured so far.
    """

    def __init__(
        self,
        request: SensitivityRequest,
        base: Job,
        jobs: Mapping[str, Job],
        store: Store,
        observer: MeasurementObserver,
        what: str,
    ) -> None:
        self._request = request
        self._keys = (_BASE, *jobs)
        self._values: dict[str, list[float]] = {key: [] for key in self._keys}
        self._runs: dict[str, list[Run]] = {key: [] for key in self._keys}
        self._failed: dict[str, str] = {}
        self.rounds = 0
        text = "{}, round {} of {}"
        self._measuring = JobRounds(
            (base, *jobs.values()),
            Pacing(
                seed=request.workload.seed,
                text=lambda turn: text.format(what, turn.round + 1, request.rounds),
            ),
            request.jobs(),
            store,
            observer,
            spare=max(1, len(self._keys) * request.rounds // SPARE_SHARE),
        )

    @property
    def comparison(self) -> str:
        """Id of the stored runs."""
        return self._measuring.comparison

    @property
    def not_stored(self) -> str | None:
        """Which runs are not stored, and why."""
        return self._measuring.not_stored

    def run(self, deadline: float) -> None:
        """Measure rounds until all are done, or the next would end after the deadline.

        Args:
            deadline: On the performance counter. A round that it cuts off does not count.

        Raises:
            UnsupportedError, BackendError: A process of FP32 failed.
        """
        while self.rounds < self._request.rounds:
            begin = perf_counter()
            if not self._round(deadline):
                break
            seconds = perf_counter() - begin
            left = max(1, LEAST_ROUNDS - self.rounds)
            if perf_counter() + left * seconds > deadline:
                break

    def _round(self, deadline: float) -> bool:
        """Measure a round; False: the deadline cut it off, so that it does not count."""
        left = [at for at, key in enumerate(self._keys) if key not in self._failed]
        measured = self._measuring.round(left, deadline)
        for at, entry in measured.items():
            self._take(self._keys[at], entry.measured.source)
        self.rounds += bool(measured)
        return bool(measured)

    def _take(self, key: str, run: Run) -> None:
        if key == _BASE:
            raise_unless_ok(run)
        self._runs[key].append(run)
        headline = run.headline
        if run.outcome.kind is not OutcomeKind.OK or headline is None:
            message = run.outcome.message or run.outcome.kind.value
            self._failed[key] = f"not measured: {message}"
            return
        self._values[key].append(float(median(headline.values_ms)))

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every process of it."""
        return tuple(run for runs in self._runs.values() for run in runs)

    @property
    def base_ms(self) -> float | None:
        """Median of FP32; ``None``: not measured."""
        values = self._values[_BASE]
        return median(values) if values else None

    @property
    def evidence(self) -> EvidenceLevel | None:
        """What the comparison of FP32 with the other models rests on."""
        sides = [runs for key, runs in self._runs.items() if key not in self._failed]
        return evidence_level(*sides) if len(sides) > 1 and self.rounds >= LEAST_ROUNDS else None

    def timed(self, key: str, model: ConvertedModel) -> ConvertedModel:
        """Return a model with its time; without one and with the reason if it has none."""
        if key not in self._runs:
            return model
        runs = tuple(run.id for run in self._runs[key])
        if key in self._failed:
            return replace(model, why=self._failed[key], runs=runs)
        if self.rounds < LEAST_ROUNDS:
            return replace(model, why="not measured: the maximum time was over", runs=runs)
        base, values = self._values[_BASE], self._values[key]
        ratio = ratio_of_few_rounds(base, values)
        time = saved_time(median(base), median(values), ratio, len(values))
        return replace(model, time=time, runs=runs)

    def is_distinct(self, a: str | None, b: str | None) -> bool | None:
        """Return whether the times of two models clearly differ; ``None`` where one has none.

        Args:
            a, b: Keys; ``None`` is FP32.
        """
        first, second = (self._values.get(key or _BASE, []) for key in (a, b))
        if len(first) < LEAST_ROUNDS or len(first) != len(second):
            return None
        interval = ratio_of_few_rounds(first, second).interval
        return interval is not None and not interval.low <= 1 <= interval.high
