"""Time of converted models against FP32: rounds of one fresh process of each."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from time import perf_counter

from msgspec.structs import replace

from enginescope.analysis.sensitivity.ranking import saved_time
from enginescope.analysis.tune.halving import search_ratio
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.records.progress import side_label
from enginescope.records.run.job import Job
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.evidence import EvidenceLevel
from enginescope.records.verdict.sensitivity import ConvertedModel
from enginescope.services.measurement.jobs import raise_unless_ok
from enginescope.services.measurement.process_rounds import (
    ProcessObserver,
    ProcessRounds,
    RoundSide,
)
from enginescope.services.sensitivity.request import LEAST_ROUNDS, SensitivityRequest
from enginescope.store.run_keeper import RunKeeper

_BASE = "A"
#: One process in so many may be measured again because it failed or was disturbed.
_SPARE_SHARE = 4


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
        keeper: RunKeeper,
        observer: ProcessObserver,
        what: str,
    ) -> None:
        self._request, self._observer, self._what = request, observer, what
        keys = {side_label(at + 1): key for at, key in enumerate(jobs)}
        self._keys = {_BASE: _BASE, **keys}
        self._jobs = {_BASE: base, **{label: jobs[key] for label, key in keys.items()}}
        self._values: dict[str, list[float]] = {key: [] for key in self._keys.values()}
        self._runs: dict[str, list[Run]] = {key: [] for key in self._keys.values()}
        self._failed: dict[str, str] = {}
        self.rounds = 0
        self._measuring = ProcessRounds(
            keeper,
            observer,
            seed=request.workload.seed,
            spare=max(1, len(self._jobs) * request.rounds // _SPARE_SHARE),
            tags=request.tags,
            command=request.command,
        )

    @property
    def comparison(self) -> str:
        """Id of the stored runs."""
        return self._measuring.comparison

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
        text = f"{self._what}, round {self.rounds + 1} of {self._request.rounds}"
        sides = [
            RoundSide(label=label, job=job, text=text)
            for label, job in self._jobs.items()
            if self._keys[label] not in self._failed
        ]
        measured: list[tuple[str, Run]] = []
        for side, timed in self._measuring.measured(self.rounds, sides):
            measured.append((self._keys[side.label], timed.run))
            if len(measured) < len(sides) and perf_counter() > deadline:
                return False
        for key, run in measured:
            self._take(key, run)
        self.rounds += 1
        return True

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
        ratio = search_ratio(base, values)
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
        interval = search_ratio(first, second).interval
        return interval is not None and not interval.low <= 1 <= interval.high
