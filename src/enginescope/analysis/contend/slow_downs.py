"""Slow-downs, tails, throughput and fairness from runs of contenders, alone and together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_uppercase
from typing import Any

import numpy as np

from enginescope.analysis.claims.percentile import needed_in_each
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.comparison.ratio import decide, ratio_of_few_rounds
from enginescope.judge.samples import Array
from enginescope.judge.stats.describe import percentile
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.contend import (
    ContenderSet,
    ContenderTimes,
    ContendKind,
    SlowDown,
)

CONFIDENCE = 0.95
#: Contenders that ran at the same time -> for each round the run of each, by its name.
Rounds = Mapping[tuple[str, ...], Sequence[Mapping[str, Run]]]


class Contention(Record, frozen=True, kw_only=True):
    """All figures of a contention test."""

    kind: ContendKind
    times: tuple[ContenderTimes, ...]
    slow_downs: tuple[SlowDown, ...]
    sets: tuple[ContenderSet, ...]
    rounds: int


def contention_of(sets: Rounds, rounds: Sequence[int], threshold_pct: float) -> Contention:
    """Return the figures over these rounds, without those in which a process failed.

    Args:
        sets: Each contender alone first, all contenders together last.
        rounds: Numbers of the rounds that count.
        threshold_pct: Smaller slow-downs do not matter.
    """
    alone = [members for members in sets if len(members) == 1]
    whole = [number for number in rounds if all(_is_ok(runs[number]) for runs in sets.values())]
    counted = {members: [runs[number] for number in whole] for members, runs in sets.items()}
    together = [members for members in sets if len(members) > 1]
    slow_downs = tuple(
        _slow_down(counted, members, name, threshold_pct)
        for members in together
        for name in members
    )
    of_all = [slowed.kind for slowed in slow_downs if len(slowed.beside) + 1 == len(alone)]
    return Contention(
        kind=_kind(of_all),
        times=tuple(_times(counted, members, name) for members in counted for name in members),
        slow_downs=slow_downs,
        sets=tuple(_set(counted, members) for members in together),
        rounds=len(whole),
    )


def _is_ok(runs: Mapping[str, Run]) -> bool:
    return all(run.outcome.kind is OutcomeKind.OK for run in runs.values())


def _kind(kinds: Sequence[VerdictKind]) -> ContendKind:
    if VerdictKind.SLOWER in kinds:
        return ContendKind.SLOWED
    if VerdictKind.INCONCLUSIVE in kinds:
        return ContendKind.INCONCLUSIVE
    return ContendKind.UNAFFECTED


def _values(run: Run) -> Array:
    headline = run.headline
    return headline.values_ms if headline is not None else np.empty(0)


def _figures(
    runs: Sequence[Mapping[str, Run]], name: str, read: Callable[[Array], Any]
) -> list[float]:
    return [float(read(_values(by_name[name]))) for by_name in runs]


def _rate(values: Array) -> float:
    return 1e3 / float(values.mean())


def _p99(values: Array) -> float:
    return percentile(values, 99.0)


def _slow_down(
    counted: Rounds, members: tuple[str, ...], name: str, threshold_pct: float
) -> SlowDown:
    alone, together = counted[(name,)], counted[members]
    factor = ratio_of_few_rounds(_figures(alone, name, np.mean), _figures(together, name, np.mean))
    p99 = None
    if _has_p99(alone, name) and _has_p99(together, name):
        p99 = ratio_of_few_rounds(_figures(alone, name, _p99), _figures(together, name, _p99))
    return SlowDown(
        contender=name,
        beside=tuple(other for other in members if other != name),
        factor=factor,
        kind=decide(factor, threshold_pct)[0],
        p99_factor=p99,
    )


def _has_p99(runs: Sequence[Mapping[str, Run]], name: str) -> bool:
    least = needed_in_each(99.0, len(runs))
    return all(_values(by_name[name]).size >= least for by_name in runs)


def _times(counted: Rounds, members: tuple[str, ...], name: str) -> ContenderTimes:
    runs = counted[members]
    p50 = _figures(runs, name, np.median)
    p99 = _figures(runs, name, _p99) if _has_p99(runs, name) else None
    return ContenderTimes(
        contender=name,
        beside=tuple(other for other in members if other != name),
        p50_ms=float(np.median(p50)),
        p50_interval=level_of_processes(p50, confidence=CONFIDENCE),
        p99_ms=None if p99 is None else float(np.median(p99)),
        p99_interval=None if p99 is None else level_of_processes(p99, confidence=CONFIDENCE),
        per_s=float(np.median(_figures(runs, name, _rate))),
        requests=sum(_values(by_name[name]).size for by_name in runs),
        outside=sum(_outside(by_name[name]) for by_name in runs),
    )


def _outside(run: Run) -> int:
    outcome = run.contention
    return outcome.before + outcome.after if outcome is not None else 0


def _set(counted: Rounds, members: tuple[str, ...]) -> ContenderSet:
    together, alone = (
        [sum(rates) for rates in zip(*each, strict=True)]
        for each in (
            [_figures(counted[members], name, _rate) for name in members],
            [_figures(counted[(name,)], name, _rate) for name in members],
        )
    )
    means = [
        (_figures(counted[members], name, np.mean), _figures(counted[(name,)], name, np.mean))
        for name in members
    ]
    slow_downs = np.array([np.divide(*pair) for pair in means])
    fairness = [jain_index(column) for column in slow_downs.T]
    level = level_of_processes(fairness, confidence=CONFIDENCE)
    return ContenderSet(
        contenders=members,
        per_s=float(np.median(together)),
        alone_per_s=float(np.median(alone)),
        share=ratio_of_few_rounds(alone, together),
        fairness=float(np.median(fairness)),
        fairness_interval=level and replace(level, high=min(level.high, 1.0)),
    )


def jain_index(values: Array) -> float:
    """Return (Σx)² ÷ (n Σx²), of Jain, Chiu and Hawe 1984: 1 where all are equal, down to 1 ÷ n."""
    return float(values.sum() ** 2 / (values.size * (values**2).sum()))


def sets_of(count: int) -> Iterator[tuple[str, ...]]:
    """Yield the sets to measure of so many contenders: each alone, each pair, all of them."""
    letters = ascii_uppercase[:count]
    for size in sorted({1, 2, count}):
        yield from combinations(letters, size)
