"""Slow-downs, tails, throughput and fairness from runs of contenders, alone and together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from string import ascii_uppercase
from typing import Any

import numpy as np

from enginescope.analysis.claims.run_claims import needed_in_each
from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.comparison.ratio import decide, ratio_of_few_rounds
from enginescope.judge.samples import Array, Interval
from enginescope.judge.stats.describe import percentile
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.run import Run
from enginescope.records.verdict import contend

#: Names of contenders that ran at the same time -> by round, the run of each, by its name.
Rounds = Mapping[tuple[str, ...], Mapping[int, Mapping[str, Run]]]
#: The same, of the rounds that count.
_Counted = Mapping[tuple[str, ...], Sequence[Mapping[str, Run]]]


def contention_of(
    sets: Rounds, rounds: Sequence[int], *, threshold_pct: float, **fields: Any
) -> contend.ContendReport:
    """Return the report on these rounds, without those in which a process failed.

    Args:
        sets: Each contender alone first, all contenders together last.
        rounds: Numbers of the rounds that count.
        threshold_pct: Smaller slow-downs do not matter.
        fields: The others of the report.
    """
    whole = [
        number
        for number in rounds
        if all(run.is_ok for runs in sets.values() for run in runs[number].values())
    ]
    counted = {members: [runs[number] for number in whole] for members, runs in sets.items()}
    together = [members for members in sets if len(members) > 1]
    slow_downs = tuple(
        _slow_down(counted, members, name, threshold_pct)
        for members in together
        for name in members
    )
    return contend.ContendReport(
        kind=_kind([slowed.kind for slowed in slow_downs[-len(together[-1]) :]]),
        threshold_pct=threshold_pct,
        times=tuple(_times(counted, members, name) for members in counted for name in members),
        slow_downs=slow_downs,
        sets=tuple(_set(counted, members) for members in together),
        rounds=len(whole),
        **fields,
    )


def _kind(kinds: Sequence[VerdictKind]) -> contend.ContendKind:
    if VerdictKind.SLOWER in kinds:
        return contend.ContendKind.SLOWED
    if VerdictKind.INCONCLUSIVE in kinds:
        return contend.ContendKind.INCONCLUSIVE
    return contend.ContendKind.UNAFFECTED


def _values(run: Run) -> Array:
    headline = run.headline
    return headline.values_ms if headline is not None else np.empty(0)


def _figures(
    runs: Sequence[Mapping[str, Run]], name: str, read: Callable[[Array], Any]
) -> list[float]:
    return [float(read(_values(by_name[name]))) for by_name in runs]


_p99 = partial(percentile, p=99.0)


def _has_p99(runs: Sequence[Mapping[str, Run]], name: str) -> bool:
    least = needed_in_each(99.0, len(runs))
    return all(_values(by_name[name]).size >= least for by_name in runs)


def _slow_down(
    counted: _Counted, members: tuple[str, ...], name: str, threshold_pct: float
) -> contend.SlowDown:
    both = (counted[(name,)], counted[members])
    factor = ratio_of_few_rounds(*(_figures(runs, name, np.mean) for runs in both))
    has_p99 = all(_has_p99(runs, name) for runs in both)
    return contend.SlowDown(
        contender=name,
        beside=tuple(other for other in members if other != name),
        factor=factor,
        kind=decide(factor, threshold_pct)[0],
        p99_factor=ratio_of_few_rounds(*(_figures(runs, name, _p99) for runs in both))
        if has_p99
        else None,
    )


def _times(counted: _Counted, members: tuple[str, ...], name: str) -> contend.ContenderTimes:
    runs = counted[members]

    def level(read: Callable[[Array], Any]) -> tuple[float, Interval | None]:
        values = _figures(runs, name, read)
        return float(np.median(values)), level_of_processes(values)

    (p50_ms, p50_interval) = level(np.median)
    (p99_ms, p99_interval) = level(_p99) if _has_p99(runs, name) else (None, None)
    outcomes = [by_name[name].contention for by_name in runs]
    return contend.ContenderTimes(
        contender=name,
        beside=tuple(other for other in members if other != name),
        p50_ms=p50_ms,
        p50_interval=p50_interval,
        p99_ms=p99_ms,
        p99_interval=p99_interval,
        per_s=float(np.median(_figures(runs, name, lambda values: 1e3 / values.mean()))),
        requests=sum(_values(by_name[name]).size for by_name in runs),
        outside=sum(outcome.before + outcome.after for outcome in outcomes if outcome is not None),
    )


def _set(counted: _Counted, members: tuple[str, ...]) -> contend.ContenderSet:
    together = np.array([_figures(counted[members], name, np.mean) for name in members])
    alone = np.array([_figures(counted[(name,)], name, np.mean) for name in members])
    per_s, alone_per_s = ((1e3 / means).sum(axis=0) for means in (together, alone))
    fairness = [jain_index(column) for column in (together / alone).T]
    level = level_of_processes(fairness)
    return contend.ContenderSet(
        contenders=members,
        per_s=float(np.median(per_s)),
        alone_per_s=float(np.median(alone_per_s)),
        share=ratio_of_few_rounds(list(alone_per_s), list(per_s)),
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
