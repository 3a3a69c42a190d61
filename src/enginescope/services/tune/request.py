"""What ``tune`` is asked for, and what it reports while it works."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT, check_pct
from enginescope.core.errors import UsageError
from enginescope.records.progress import Progress, RoundPosition
from enginescope.records.run.job import Job
from enginescope.records.verdict.tune import TuneMetric
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.measurement.interleaved import check_rounds
from enginescope.services.measurement.jobs import MeasureRequest
from enginescope.services.measurement.observer import MeasurementObserver

#: Rounds of the confirmation at most.
ROUNDS = 30
#: More alternatives than these are a mistake: each has at least three processes.
MOST_ALTERNATIVES = 64
#: Build routes of a file that are measured: the fastest ones of trtexec's single measurements.
MOST_ROUTES = 16


class TuneRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model, and what may be varied.

    Attributes:
        backends: The first is the default; by default the usual one of the model.
        options: Option of the backends -> values to try; every combination is an alternative.
        batches: Sizes of dynamic first dimensions; the first is the default's.
        routes: Results of trtexec's tuner, whose build routes are alternatives.
        samples: Inputs whose outputs are compared with the default's.
        tolerance: A row of limits for them, as for `validate`.
        rounds: Rounds of the confirmation that count, at most.
        threshold_pct: Smaller differences do not matter.
        max_time_s: Search and confirm in fewer rounds rather than take longer.
    """

    model: Path
    backends: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = {}
    batches: tuple[int, ...] = ()
    routes: Path | None = None
    metric: TuneMetric = "latency"
    samples: SampleRequest = SampleRequest()
    tolerance: str | None = None
    rounds: int = ROUNDS
    threshold_pct: float = THRESHOLD_PCT


class TuneObserver(MeasurementObserver):
    """Receives which process is under way, and where the search stands."""

    def search_stands(self, text: str) -> None:
        """Report how many alternatives are left after some rounds, and which leads."""

    def turn_started(self, turn: RoundPosition, job: Job) -> None:
        """Report a process of the confirmation."""
        self.process_started(f"confirmation, round {turn.round + 1}, {job.backend}")

    def turn_progressed(self, turn: RoundPosition, progress: Progress) -> None:
        """Report the phase of a process of the confirmation."""
        self.process_progressed(f"confirmation, round {turn.round + 1}", progress)


def check_tune_request(request: TuneRequest) -> None:
    """Raise `UsageError` where a request contradicts itself, before anything is run."""
    if request.metric not in get_args(TuneMetric):
        hint = f"one of {', '.join(get_args(TuneMetric))}"
        raise UsageError(f"`metric` {request.metric!r}", hint=hint)
    for name, values in request.options.items():
        if not values:
            raise UsageError(f"`option` {name}", why="it has no values", hint="NAME=V1,V2")
    for batch in request.batches:
        if batch < 1:
            raise UsageError(f"`batch` {batch}", why="it is not above 0")
    check_rounds(request.rounds)
    check_pct("`threshold`", request.threshold_pct, 100)
