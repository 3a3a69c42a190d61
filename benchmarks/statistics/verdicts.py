"""Print how often comparisons are right: simulated processes that do the same work, or slower work.

``python benchmarks/statistics/verdicts.py [--comparisons 200]``. A comparison measures processes in
rounds and ends at the first look that decides. For each way in which processes differ and each
scatter of them: how many comparisons of a side with itself say faster or slower, what becomes of a
planted slowdown, and whether the interval of the ratio covers the truth. Then the same for
processes that were not measured in turn, and for one process a side.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from in_rounds import DIFFERENT, Ended, compare_in_rounds
from printed import print_table, share
from process_kinds import PROCESS_KINDS, ProcessKind, processes

from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT, CompareConfig
from enginescope.analysis.verdicts.verdicts import verdicts
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_by_scatter, ratio_of_processes
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import RatioEstimate, VerdictKind
from enginescope.records.progress import RoundPosition
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run

SCATTERS_PCT = (0.3, 1.0, 2.0)
PLANTED_PCT = (2.0, 3.0)
#: Comparisons drawn at a time.
CHUNK = 60
#: Of each row, so many comparisons go the whole way from runs to verdicts as well.
WHOLE_WAY = 6
JOB = Job(subject=Subject(name="net.onnx", kind="onnx"), backend=BackendSpec(name="ort-cpu"))


class Row(NamedTuple):
    """What a row is about, and where its numbers come from."""

    kind: ProcessKind
    scatter_pct: float
    comparisons: int

    def draws(self, rounds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield both sides of one comparison after the other."""
        rng = np.random.default_rng(
            [23, PROCESS_KINDS.index(self.kind), int(10 * self.scatter_pct), rounds]
        )
        for done in range(0, self.comparisons, CHUNK):
            count = min(CHUNK, self.comparisons - done)
            yield from zip(
                *processes(rng, self.kind, self.scatter_pct / 100, count, rounds), strict=True
            )


def in_rounds(row: Row) -> str:
    """Return a row of the first table, in Markdown."""
    same: list[Ended] = []
    slower: dict[float, list[Ended]] = {pct: [] for pct in PLANTED_PCT}
    for number, (a, b) in enumerate(row.draws(max(LOOKS))):
        medians = np.median(a, axis=1), np.median(b, axis=1)
        same.append(compare_in_rounds(*medians))
        for pct, ended in slower.items():
            ended.append(compare_in_rounds(medians[0], (1 + pct / 100) * medians[1]))
        if number < WHOLE_WAY:
            _check_whole_way(a, b, same[-1])
    cells = [
        share(one.kind in DIFFERENT for one in same),
        share(one.kind is VerdictKind.SAME for one in same),
        *(share(one.kind is VerdictKind.SLOWER for one in ended) for ended in slower.values()),
        f"{np.mean([one.rounds for one in same]):.0f}",
        f"{np.mean([one.rounds for one in slower[3.0]]):.0f}",
        share(one.covers(1.0) for one in same),
        share(one.always_covered(1.0) for one in same),
    ]
    return f"| {row.kind.name} | {row.scatter_pct:g} % | {' | '.join(cells)} |"


def _check_whole_way(a: np.ndarray, b: np.ndarray, ended: Ended) -> None:
    """Stop if runs of these samples get another verdict than their medians do."""
    runs = [
        [_run(values, side, number) for number, values in enumerate(one[: ended.rounds])]
        for side, one in (("A", a), ("B", b))
    ]
    found = verdicts(runs[0], runs[1], CompareConfig(confidence=LOOK_CONFIDENCE))[0]
    assert found.estimate is not None
    estimate = replace(found.estimate, disturbed=None)
    if found.kind is not ended.kind or estimate != ended.looks[-1]:
        raise SystemExit(f"runs: {found}\nmedians: {ended}")


def _run(values: np.ndarray, side: str, number: int) -> Run:
    return Run(
        id="0" * 12,
        created="",
        origin="measured",
        job=JOB,
        samples=(Samples(metric="latency", values_ms=frozen(values)),),
        turn=RoundPosition(comparison="c", side=side, round=number, place=0),
    )


def not_in_turn(row: Row, count: int) -> str:
    """Return a row for `count` processes a side, all of A before all of B, without looks."""

    def medians(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # the processes of all rounds in order; the first half of the time is A's
        in_order = np.median(np.stack([a, b], axis=1).reshape(2 * count, -1), axis=1)
        return in_order[:count], in_order[count:]

    sides = (medians(a, b) for a, b in row.draws(count))
    return _decided_once(row, sides, ratio_of_processes)


def one_process(row: Row) -> str:
    """Return a row for one process a side, with the scatter that is assumed by default."""
    assumed = float(np.log1p(ASSUMED_SCATTER_PCT / 100))
    sides = ((a[0], b[0]) for a, b in row.draws(1))
    return _decided_once(row, sides, partial(_of_samples, scatter=assumed))


def _of_samples(a: np.ndarray, b: np.ndarray, *, scatter: float) -> RatioEstimate:
    return ratio_by_scatter([a], [b], scatter=scatter)


def _decided_once(
    row: Row,
    sides: Iterator[tuple[np.ndarray, np.ndarray]],
    estimate: Callable[[np.ndarray, np.ndarray], RatioEstimate],
) -> str:
    found: dict[float, list[VerdictKind]] = {pct: [] for pct in (0.0, *PLANTED_PCT)}
    covers = []
    for a, b in sides:
        for pct, kinds in found.items():
            made = estimate(a, (1 + pct / 100) * b)
            kinds.append(decide(made, 1.0)[0])
            if pct == 0.0 and made.interval is not None:
                covers.append(made.interval.low <= 1 <= made.interval.high)
    texts = [
        share(one in DIFFERENT for one in found[0.0]),
        share(one is VerdictKind.SAME for one in found[0.0]),
        *(share(one is VerdictKind.SLOWER for one in found[pct]) for pct in PLANTED_PCT),
        share(covers),
    ]
    return f"| {row.kind.name} | {row.scatter_pct:g} % | {' | '.join(texts)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=200, help="in each row")
    count = parser.parse_args().comparisons
    rows = [Row(kind, pct, count) for kind in PROCESS_KINDS for pct in SCATTERS_PCT]
    first = ("processes", "scatter", "A/A false, %", "A/A same, %", "2 % found", "3 % found")
    print_table(
        f"In rounds, looks after {', '.join(map(str, LOOKS))}; {count:,} comparisons a row",
        (*first, "rounds, A/A", "rounds, 3 %", "covers", "covers at every look"),
        (in_rounds(row) for row in rows),
    )
    print_table(
        "Ten processes a side, all of A before all of B",
        (*first, "covers"),
        (not_in_turn(row, 10) for row in rows),
    )
    print_table(
        f"One process a side; processes are taken to scatter by ±{ASSUMED_SCATTER_PCT:g} %",
        (*first, "covers"),
        (one_process(row) for row in rows),
    )


if __name__ == "__main__":
    main()
