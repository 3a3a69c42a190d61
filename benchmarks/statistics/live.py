"""Measure real processes on ONNX Runtime, A against A and against slower models; print the table.

``python benchmarks/statistics/live.py [--minutes 10] [--file FILE …] [--same]``. Rounds of fresh
processes are appended to FILE as they end, so that measuring can go on later; ``--minutes 0``
prints what there is, and takes several files: pools measured side by side, each on cores of its
own. ``--same`` measures A against A alone.

A comparison takes consecutive rounds as ``bench --compare`` would: disturbed rounds do not count,
and it ends at the first look that decides or when what may be made up for is used up. The next one
begins with the round after its last, so no process is in two of them: these are independent, and
few. The second row of each kind begins them at evenly spread rounds instead, 200 a pool, which
overlap: the same processes in other windows.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from in_rounds import DIFFERENT
from live_pool import SAME, SIDES, Plan, Process, Round, measure, rounds_of
from numpy.typing import NDArray
from printed import share

from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.comparison.steady_rounds import disturbances
from enginescope.judge.stats.stability import WIDE_PCT
from enginescope.judge.verdict import RatioEstimate, VerdictKind
from enginescope.probe.environment import probe_environment

FILE = Path(__file__).resolve().parents[2] / ".cache/statistics/live.jsonl"
WINDOWS = 200


class Ended(NamedTuple):
    """A comparison of consecutive rounds.

    Attributes:
    ----------
    kind : VerdictKind
    after : int
        Rounds measured.
    is_unstable : bool
        Half of the medians of a side are hardly known.
    estimate : RatioEstimate
        Of the last look.
    """

    kind: VerdictKind
    after: int
    is_unstable: bool
    estimate: RatioEstimate

    def covers(self, ratio: float) -> bool:
        """Whether the interval holds the true ratio."""
        interval = self.estimate.interval
        return interval is not None and interval.low <= ratio <= interval.high


def compare(rounds: Sequence[Round], side: str, factor: float) -> Ended | None:
    """Compare A with a side made `factor` times as slow; ``None`` where the rounds do not last."""
    pairs = [(one.by_side["A"], one.by_side[side]) for one in rounds]
    known = [(_uncertainty_pct(a), _uncertainty_pct(b)) for a, b in pairs]
    asked = 0
    for after in range(LOOKS[0], len(rounds) + 1):
        steady = np.array(disturbances(list(zip(*known[:after], strict=True))).counts)
        counting = int(steady.sum())
        due = sum(one <= counting for one in LOOKS)
        is_last = counting >= LOOKS[-1] or after >= LOOKS[-1] + min(after - counting, LOOKS[-1])
        if due <= asked and not is_last:
            continue
        asked = max(due, asked)
        some = [pair for pair, counts in zip(pairs[:after], steady, strict=True) if counts]
        estimate = ratio_of_rounds(
            [a.median_ms for a, _ in some],
            [factor * b.median_ms for _, b in some],
            confidence=LOOK_CONFIDENCE,
        )
        kind = decide(estimate, 1.0)[0]
        if is_last or kind is not VerdictKind.INCONCLUSIVE:
            return Ended(kind, after, _is_unstable(known[:after]), estimate)
    return None


def one_after_the_other(rounds: Sequence[Round], side: str, factor: float) -> Iterator[Ended]:
    """Yield comparisons of which none shares a round with another."""
    begin = 0
    while (ended := compare(rounds[begin:], side, factor)) is not None:
        yield ended
        begin += ended.after


def spread(rounds: Sequence[Round], side: str, factor: float) -> Iterator[Ended]:
    """Yield comparisons that begin at evenly spread rounds."""
    last = max(0, len(rounds) - LOOKS[-1])
    for begin in np.linspace(0, last, WINDOWS).round().astype(int):
        ended = compare(rounds[begin:], side, factor)
        if ended is not None:
            yield ended


def row(title: str, found: Sequence[Ended], truth: float, wanted: Sequence[VerdictKind]) -> str:
    """Return a line of the table, in Markdown."""
    if not found:
        return f"| {title} | 0 |" + " |" * 6
    calm = [one for one in found if not one.is_unstable]
    cells = [
        f"{len(found)} ({len(calm)})",
        *(share([one.kind in wanted for one in some]) for some in (found, calm)),
        share([one.kind is VerdictKind.SAME for one in found]),
        share([one.kind is VerdictKind.INCONCLUSIVE for one in found]),
        f"{np.mean([one.after for one in found]):.0f}",
        share([one.covers(truth) for one in found]),
    ]
    return f"| {title} | {' | '.join(cells)} |"


def _is_unstable(known: Sequence[tuple[float | None, float | None]]) -> bool:
    sides = zip(*known, strict=True)
    wide = [[one is not None and one > WIDE_PCT for one in side] for side in sides]
    return any(2 * sum(side) >= len(side) for side in wide)


def _uncertainty_pct(one: Process) -> float | None:
    if one.low_ms is None or one.high_ms is None:
        return None
    return 100 * (one.high_ms - one.low_ms) / (one.high_ms + one.low_ms)


class Row(NamedTuple):
    """What a line of the table asks of the pools: the side compared, its factor, the true ratio."""

    title: str
    side: str
    factor: float
    truth: float
    wanted: Sequence[VerdictKind]


def rows_of(slower: float | None) -> list[Row]:
    """Return the lines of the table; those of the slower model where it was measured."""
    found = (VerdictKind.SLOWER,)
    rows = [
        Row("A/A: called different", "A'", 1.0, 1.0, DIFFERENT),
        Row("A/A × 1.02: slower", "A'", 1.02, 1.02, found),
        Row("A/A × 1.03: slower", "A'", 1.03, 1.03, found),
    ]
    if slower is not None:
        rows += [
            Row("more work, scaled to 2 %: slower", "B", 1.02 / slower, 1.02, found),
            Row("more work, scaled to 3 %: slower", "B", 1.03 / slower, 1.03, found),
        ]
    return rows


def steady_of(rounds: Sequence[Round]) -> NDArray[np.bool_]:
    """Return which rounds of a pool count."""
    sides = [side for side in SIDES if all(side in one.by_side for one in rounds)]
    known = [[_uncertainty_pct(one.by_side[side]) for one in rounds] for side in sides]
    return np.array(disturbances(known).counts, dtype=bool)


def slower_of(pools: Sequence[Sequence[Round]]) -> float | None:
    """Return how much slower B is than A over all the rounds that count."""
    ratios = [
        np.log(one.median_ms("B") / (one.median_ms("A") * one.median_ms("A'")) ** 0.5)
        for rounds in pools
        for one, counts in zip(rounds, steady_of(rounds), strict=True)
        if counts and "B" in one.by_side
    ]
    return float(np.exp(np.median(ratios))) if ratios else None


def describe(pools: Sequence[Sequence[Round]]) -> None:
    """Print what the pools are of."""
    every = [one for rounds in pools for each in rounds for one in each.by_side.values()]
    load = [one.other_cores for one in every if one.other_cores is not None]
    steady = np.concatenate([steady_of(rounds) for rounds in pools])
    host = probe_environment().host
    print(f"{host.cpu_model}, {host.cores_logical} cores; {len(pools)} pools")
    print(f"{len(steady)} rounds, {len(every)} processes; {steady.sum()} rounds count")
    print(f"others kept {np.quantile(load, 0.1):.1f} … {np.quantile(load, 0.9):.1f} cores busy")
    apart = np.log([one.median_ms("A'") / one.median_ms("A") for some in pools for one in some])
    for name, some in (("all rounds", apart), ("rounds that count", apart[steady])):
        quartiles = np.subtract(*np.quantile(some, (0.75, 0.25))) / 1.349 / 2**0.5
        print(f"scatter of a process, {name}: {100 * quartiles:.1f} % by quartiles")
    notices = Counter(code for one in every for code in one.notices)
    print("notices of processes:", ", ".join(f"{k} {v}" for k, v in notices.most_common()), "\n")


def report(pools: Sequence[Sequence[Round]]) -> None:
    """Print what the pools are of, and the table."""
    describe(pools)
    slower = slower_of(pools)
    if slower is not None:
        print(f"B is {slower:.4f} × A over all of them\n")
    heads = ("", "comparisons (not unstable)", "so, %", "so, not unstable, %", "same, %")
    heads = (*heads, "inconclusive, %", "rounds", "covers, %")
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for one in rows_of(slower):
        some = [rounds for rounds in pools if all(one.side in each.by_side for each in rounds)]
        for title, windows in ((one.title, one_after_the_other), (f"… {WINDOWS} a pool", spread)):
            made = [ended for rounds in some for ended in windows(rounds, one.side, one.factor)]
            print(row(title, made, one.truth, one.wanted), flush=True)


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--file", type=Path, nargs="+", default=[FILE])
    parser.add_argument("--same", action="store_true")
    options = parser.parse_args()
    if options.minutes > 0 and len(options.file) > 1:
        parser.error("rounds are appended to one FILE; several are read with --minutes 0")
    if options.minutes > 0:
        sides = SAME if options.same else SIDES
        measure(options.file[0], Plan(minutes=options.minutes, sides=sides))
    pools = [some for file in options.file if len(some := rounds_of(file)) >= LOOKS[0]]
    if not pools:
        raise SystemExit(f"{LOOKS[0]} rounds are needed; {options.file[0]} has fewer")
    report(pools)


if __name__ == "__main__":
    main()
