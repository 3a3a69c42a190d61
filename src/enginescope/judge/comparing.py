"""Compare sides of any kind: callables, functions in fresh processes, commands, programs, records.

>>> from enginescope import judge
>>> answer = judge.compare(old, new)      # doctest: +SKIP
>>> print(answer)                         # doctest: +SKIP
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from enginescope.judge.answer import Answer, Pair
from enginescope.judge.comparison import ratio
from enginescope.judge.comparison.looks import (
    FLOOR_ROUNDS,
    LOOK_CONFIDENCE,
    LOOKS,
    MOST_ROUNDS,
    THRESHOLD_PCT,
    Tally,
    looks_up_to,
)
from enginescope.judge.comparison.run_to_run import decide_sides
from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import (
    Ended,
    Entry,
    Experiment,
    Journal,
    Measured,
    Position,
    Rules,
    Standing,
)
from enginescope.judge.samples import frozen
from enginescope.judge.sources import Conditions, source_of
from enginescope.judge.verdict import EvidenceLevel, Reason, Verdict, VerdictKind

#: A measurement of one side in one round.
SECONDS = 0.5
#: What a comparison of two sides is called whose values are not of a metric of enginescope.
METRIC = "time"


class Comparison:
    """An experiment of sources, with its file; `compare` in one call.

    Args:
        sides: The first is the base; each other one is compared with it.
        rounds: Maximum number of rounds that count, 8 to 1,000.
        seconds: Of each measurement, about.
        threshold_pct: Smaller differences do not matter.
        keep: File with every measurement; if it exists, its experiment is continued.
        watch: Gets the tally and the seconds that are probably left until the last look, after each
            round.

    Raises:
        UsageError: Fewer than two sides, a value is out of range, or the file is not of these
            sides.
    """

    def __init__(
        self,
        sides: Sequence[object],
        *,
        rounds: int = LOOKS[-1],
        seconds: float = SECONDS,
        threshold_pct: float = THRESHOLD_PCT,
        confidence: float = LOOK_CONFIDENCE,
        max_time_s: float | None = None,
        seed: int = 0,
        keep: str | os.PathLike[str] | None = None,
        watch: Callable[[Tally, float | None], None] = lambda _tally, _left_s: None,
    ) -> None:
        self.sources = [source_of(side, number) for number, side in enumerate(sides)]
        if not 2 <= len(self.sources) <= len(ascii_uppercase):
            raise UsageError(f"{len(sides)} sides to compare", hint="name 2 to 26")
        if not LOOKS[0] <= rounds <= MOST_ROUNDS:
            raise UsageError(f"rounds: {rounds} is not between {LOOKS[0]} and {MOST_ROUNDS:,}")
        for name, value in (("seconds", seconds), ("threshold", threshold_pct)):
            if not value > 0 or not math.isfinite(value):
                raise UsageError(f"{name}: {value:g} is not above 0")
        self._looks, self._seconds, self._max_time_s = looks_up_to(rounds), seconds, max_time_s
        self.threshold_pct, self._confidence, self._watch = threshold_pct, confidence, watch
        self._journal: Journal | None = None
        if keep is not None:
            header = {
                "enginescope": "experiment",
                "sides": [source.name for source in self.sources],
                "rounds": rounds,
                "seconds": seconds,
                "threshold_pct": threshold_pct,
                "seed": seed,
            }
            self._journal = Journal(Path(keep), header)
        rows = self._journal.rows if self._journal is not None else ()
        self.experiment: Experiment[Conditions] = Experiment(
            len(self.sources), self._measure, seed=seed, recorded=[_entry(row) for row in rows]
        )

    def run(self) -> Answer:
        """Measure until every pair is decided, or more rounds would not settle it."""
        ended = self.experiment.run(
            Rules(looks=self._looks, stands=self._stands, max_time_s=self._max_time_s),
            lambda tally: self._watch(tally, self._left_s(tally)),
        )
        return self.answer(ended)

    def answer(self, ended: Ended) -> Answer:
        """Return what is decided so far."""
        experiment, numbers = self.experiment, range(len(self.sources))
        pairs = tuple(self._pair(number, experiment) for number in numbers[1:])
        estimates = [pair.verdict.estimate for pair in pairs]
        failed = [entry for entry in experiment.table if entry.measured.failure]
        failures = {entry.position.side: entry.measured.failure for entry in failed}
        return Answer(
            sides=tuple(source.name for source in self.sources),
            pairs=pairs,
            ended=ended,
            evidence=min((one.evidence for one in self.sources), key=list(EvidenceLevel).index),
            rounds=max((one.n_a for one in estimates if one is not None), default=0),
            measured_rounds=len(experiment.whole_rows()),
            repeated=sum(entry.position.attempt > 0 for entry in experiment.table),
            failures=tuple(map(failures.get, numbers)),
            table=tuple(experiment.table),
            conditions=_machine(),
            kept=str(self._journal.path) if self._journal is not None else None,
        )

    def _measure(self, position: Position) -> Measured[Conditions]:
        began = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        source = self.sources[position.side]
        measured = source.measure(position.round, self._seconds)
        measured = replace(measured, source={"began": began, **measured.source})
        if self._journal is not None:
            self._journal.append(_row(position, measured))
        return measured

    def _left_s(self, tally: Tally) -> float | None:
        left = self.experiment.left_s(self._looks, tally.counting)
        if left is None:
            return None
        return left[1] if self._max_time_s is None else min(left[1], self._max_time_s)

    def _stands(self, experiment: Experiment[Conditions]) -> Standing:
        pairs = [self._pair(number, experiment) for number in range(1, len(self.sources))]
        if all(pair.verdict.is_decided for pair in pairs):
            return Standing.DECIDED
        if len(experiment.whole_rows()) < LOOKS[1]:
            return Standing.GO_ON  # one disturbed round of the first look may be all the variation
        still_open = [pair.verdict for pair in pairs if not pair.verdict.is_decided]
        is_vain = all(ratio.is_out_of_reach(one, self._looks[-1]) for one in still_open)
        return Standing.VAIN if is_vain else Standing.GO_ON

    def _pair(self, number: int, experiment: Experiment[Conditions]) -> Pair:
        pairs = ((entries[0], entries[number]) for entries in experiment.whole_rows())
        rounds = [(a, b) for a, b in pairs if a.is_measured and b.is_measured]
        verdict = verdict_of(rounds, self.threshold_pct, self._confidence)
        a, b = self.sources[0].name, self.sources[number].name
        return Pair(label=ascii_uppercase[number], a=a, b=b, verdict=verdict)


def verdict_of(
    rounds: Sequence[tuple[Entry[Any], Entry[Any]]],
    threshold_pct: float = THRESHOLD_PCT,
    confidence: float = LOOK_CONFIDENCE,
) -> Verdict:
    """Return what may be said of B against A, from the measurements of both in each round."""
    if not rounds:
        return Verdict(
            metric=METRIC,
            kind=VerdictKind.INCONCLUSIVE,
            reason=Reason.NO_INTERVAL,
            threshold_pct=threshold_pct,
        )
    sides = list(zip(*rounds, strict=True))
    values_a, values_b = ([entry.values for entry in side] for side in sides)
    medians = [*map(float, map(np.median, values_a))], [*map(float, map(np.median, values_b))]
    known = [[entry.uncertainty_pct for entry in side] for side in sides]
    estimate, used = ratio.ratio_of_counting_rounds(medians, known, confidence=confidence)
    kind, reason, detail = decide_sides(estimate, used, threshold_pct)
    more = None
    if reason is Reason.INTERVAL_TOO_WIDE:
        more = ratio.more_needed(estimate, threshold_pct)
    elif reason is Reason.PROCESS_STATES:
        more = FLOOR_ROUNDS - estimate.n_a
    return Verdict(
        metric=METRIC,
        kind=kind,
        reason=reason,
        a=ratio.middle_of(used[0]),
        b=ratio.middle_of(used[1]),
        estimate=estimate,
        threshold_pct=threshold_pct,
        samples_a=sum(map(len, values_a)),
        samples_b=sum(map(len, values_b)),
        processes_a=len(rounds),
        processes_b=len(rounds),
        more=more,
        detail=detail,
        corrected_ratio=None
        if kind is VerdictKind.INCONCLUSIVE
        else ratio.corrected_ratio(estimate, threshold_pct),
    )


def compare(*sides: object, **options: Any) -> Answer:
    """Compare sides by interleaved rounds until it is decided which is faster.

    Args:
        *sides: Callables without arguments, or `command`, `program`, `fresh`, `Recorded`; the first
            is the base.
        **options: As `Comparison` takes them.

    Raises:
        UsageError: As `Comparison`.
    """
    return Comparison(sides, **options).run()


def _machine() -> Conditions:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "machine": platform.node(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
    }


def _row(position: Position, measured: Measured[Conditions]) -> dict[str, Any]:
    values = measured.values
    return {
        **asdict(position),
        "values_ms": None if values is None else values.tolist(),
        "failure": measured.failure,
        "is_final": measured.is_final,
        "conditions": measured.source,
    }


def _entry(row: dict[str, Any]) -> Entry[Conditions]:
    """Return a row of the file as an entry."""
    try:
        position = Position(**{name: int(row[name]) for name in Position.__slots__})
        values = row["values_ms"]
        measured = Measured(
            source=dict(row["conditions"]),
            values=None if values is None else frozen(values),
            failure=row["failure"],
            is_final=bool(row["is_final"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("a line of the file is not a measurement", why=str(error)) from error
    return Entry(position=position, measured=measured)
