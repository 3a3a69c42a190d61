"""Print what skipping disturbed rounds does to verdicts, for several kinds of disturbance.

``python benchmarks/statistics/disturbed.py [--comparisons 200]``. Processes of the same work
scatter by 1 %; a share of each side's processes is disturbed while it is timed. Comparisons end as
``bench --compare`` ends them: by the rule, by the rule before (a round with any disturbed process
never counts), and with every round counting. "B unstable": the exact test says so at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from in_rounds import DIFFERENT
from printed import print_table, share

from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_of_rounds
from enginescope.judge.comparison.steady_rounds import disturbances, steady_rounds, uncertainty_pct
from enginescope.judge.verdict import RatioEstimate, VerdictKind

Array = np.ndarray
#: Verdict, rounds measured, last estimate, whether B is called unstable.
Ended = tuple[VerdictKind, int, RatioEstimate, bool]
SAMPLES = 300
SCATTER = 0.01
WITHIN = 0.005
#: Shares of the processes of A and of B that are disturbed.
ALIKE = (0.25, 0.25)
ONE_SIDED = (0.0, 0.5)
RULES = ("by the rule", "before", "all")
PLANTED_PCT = (0.0, 2.0, 3.0)


def _nothing(_rng: np.random.Generator, count: int) -> Array:
    return np.zeros((count, SAMPLES))


def _bursts(rng: np.random.Generator, count: int) -> Array:
    """Add a stretch of up to half of the samples, slower by up to a half."""
    at = np.arange(SAMPLES)
    length = rng.uniform(0.1, 0.5, (count, 1)) * SAMPLES
    start = rng.uniform(0, SAMPLES, (count, 1)) - length / 2
    return rng.uniform(0.1, 0.5, (count, 1)) * ((at >= start) & (at < start + length))


def _ramps(rng: np.random.Generator, count: int) -> Array:
    """Add a drift from first to last sample, of a tenth up to a factor of two."""
    return rng.uniform(0.1, 0.7, (count, 1)) * np.linspace(0, 1, SAMPLES)


def _wandering(rng: np.random.Generator, count: int) -> Array:
    """Add a random walk that ends a tenth to a half away."""
    steps = rng.standard_normal((count, SAMPLES)) / np.sqrt(SAMPLES)
    return rng.uniform(0.1, 0.5, (count, 1)) * np.abs(np.cumsum(steps, axis=1))


def _held(rng: np.random.Generator, count: int) -> Array:
    """Be slower by the same from the first sample to the last: no process can know of it."""
    return np.repeat(rng.uniform(0.1, 0.5, (count, 1)), SAMPLES, axis=1)


KINDS: tuple[tuple[str, Callable[[np.random.Generator, int], Array]], ...] = (
    ("nothing", _nothing),
    ("bursts", _bursts),
    ("drift", _ramps),
    ("wandering", _wandering),
    ("slower from first to last", _held),
)


def _rounds(
    rng: np.random.Generator, disturb: Callable[..., Array], shares: tuple[float, float]
) -> tuple[Array, Array]:
    """Return medians and uncertainties of the processes of one comparison, (rounds, 2) each."""
    count = 2 * 2 * LOOKS[-1]
    disturbed = rng.random((count, 1)) < np.tile(shares, count // 2)[:, None]
    level = SCATTER * rng.standard_normal((count, 1))
    noise = WITHIN * rng.standard_normal((count, SAMPLES))
    values = np.exp(level + noise + disturbed * disturb(rng, count))
    known = [uncertainty_pct(one) for one in values]
    medians = np.median(values, axis=1)
    return medians.reshape(-1, 2), np.array(known, object).reshape(-1, 2)


def _compare(medians: Array, known: Array, rule: str) -> Ended:
    asked = 0
    for after in range(LOOKS[0], len(medians) + 1):
        found = disturbances(known[:after].T.tolist())
        counts = np.array(found.counts) | (rule == "all")
        if rule == "before":
            counts = np.array(steady_rounds(known[:after].T.tolist()))
        counting = int(counts.sum())
        is_last = counting >= LOOKS[-1] or after >= LOOKS[-1] + min(after - counting, LOOKS[-1])
        due = sum(one <= counting for one in LOOKS)
        if due <= asked and not is_last:
            continue
        asked = max(asked, due)
        a, b = medians[:after][counts].T
        estimate = ratio_of_rounds(a, b, confidence=LOOK_CONFIDENCE)
        kind = decide(estimate, 1.0)[0]
        if is_last or kind is not VerdictKind.INCONCLUSIVE:
            break
    return kind, after, estimate, found.unstable == 1


def rows(
    name: str, disturb: Callable[..., Array], shares: tuple[float, float], comparisons: int
) -> list[str]:
    """Return a line of the table for each rule, in Markdown."""
    rng = np.random.default_rng(41)
    ended: dict[tuple[str, float], list[Ended]] = {}
    for _ in range(comparisons):
        medians, known = _rounds(rng, disturb, shares)
        for pct in PLANTED_PCT:
            planted = medians * (1, 1 + pct / 100)
            for rule in RULES:
                ended.setdefault((rule, pct), []).append(_compare(planted, known, rule))
    return [f"| {name} | {rule} | {' | '.join(_cells(rule, ended))} |" for rule in RULES]


def _cells(rule: str, ended: dict[tuple[str, float], list[Ended]]) -> list[str]:
    alike = ended[rule, 0.0]
    return [
        share([kind in DIFFERENT for kind, *_ in alike]),
        share([kind is VerdictKind.SAME for kind, *_ in alike]),
        *(
            share([kind is VerdictKind.SLOWER for kind, *_ in ended[rule, pct]])
            for pct in (2.0, 3.0)
        ),
        f"{np.mean([after for _, after, _, _ in ended[rule, 3.0]]):.0f}",
        share([_covers(estimate) for _, _, estimate, _ in alike]),
        share([is_unstable for *_, is_unstable in alike]) if rule == RULES[0] else "—",
    ]


def _covers(estimate: RatioEstimate) -> bool:
    interval = estimate.interval
    return interval is not None and interval.low <= 1 <= interval.high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=200, help="in each row")
    comparisons = parser.parse_args().comparisons
    for title, shares in (("A quarter of either side", ALIKE), ("Half of B alone", ONE_SIDED)):
        heads = ("different, %", "same, %", "2 % found", "3 % found", "rounds, 3 %", "holds 1")
        print_table(
            f"{title}; {comparisons} comparisons a row",
            ("disturbed by", "rounds that count", *heads, "B unstable, %"),
            (line for name, disturb in KINDS for line in rows(name, disturb, shares, comparisons)),
        )


if __name__ == "__main__":
    main()
