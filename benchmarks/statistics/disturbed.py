"""Print what leaving disturbed rounds out does to verdicts, for several ways of disturbing.

``python benchmarks/statistics/disturbed.py [--comparisons 200]``. Processes of the same work
scatter by 1 %; a quarter of them, of either side alike, is disturbed while it is timed. Comparisons
end as ``bench --compare`` ends them, once by the rule and once with every round counting.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from in_rounds import DIFFERENT

from enginescope.model.verdict import RatioEstimate, VerdictKind
from enginescope.stats.deciding import LOOK_CONFIDENCE, LOOKS, decide
from enginescope.stats.ratio import ratio_of_rounds
from enginescope.stats.steady_rounds import steady_rounds, uncertainty_pct

Array = np.ndarray
#: Verdict, rounds measured, last estimate.
Ended = tuple[VerdictKind, int, RatioEstimate]
SAMPLES = 300
SCATTER = 0.01
WITHIN = 0.005
SHARE = 0.25
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


def _rounds(rng: np.random.Generator, disturb: Callable[..., Array]) -> tuple[Array, Array]:
    """Return medians and uncertainties of the processes of one comparison, (rounds, 2) each."""
    count = 2 * 2 * LOOKS[-1]
    disturbed = rng.random((count, 1)) < SHARE
    level = SCATTER * rng.standard_normal((count, 1))
    noise = WITHIN * rng.standard_normal((count, SAMPLES))
    values = np.exp(level + noise + disturbed * disturb(rng, count))
    known = [uncertainty_pct(one) for one in values]
    medians = np.median(values, axis=1)
    return medians.reshape(-1, 2), np.array(known, object).reshape(-1, 2)


def _compare(
    medians: Array, known: Array, *, by_rule: bool
) -> tuple[VerdictKind, int, RatioEstimate]:
    """Return the verdict, the rounds measured and the last estimate."""
    asked = 0
    for after in range(LOOKS[0], len(medians) + 1):
        counts = np.array(steady_rounds(known[:after].T.tolist())) | (not by_rule)
        counting = int(counts.sum())
        is_last = counting >= LOOKS[-1] or after >= LOOKS[-1] + min(after - counting, LOOKS[-1])
        due = sum(one <= counting for one in LOOKS)
        if due <= asked and not is_last:
            continue
        asked = max(asked, due)
        a, b = medians[:after][counts].T
        estimate = ratio_of_rounds(a, b, confidence=LOOK_CONFIDENCE)
        kind = decide(estimate, 1.0)[0]
        if is_last or kind is not VerdictKind.UNDECIDED:
            break
    return kind, after, estimate


def row(name: str, disturb: Callable[..., Array], comparisons: int, *, by_rule: bool) -> str:
    """Return a line of the table, in Markdown."""
    rng = np.random.default_rng(41)
    ended: dict[float, list[Ended]] = {}
    for _ in range(comparisons):
        medians, known = _rounds(rng, disturb)
        for pct in PLANTED_PCT:
            planted = medians * (1, 1 + pct / 100)
            ended.setdefault(pct, []).append(_compare(planted, known, by_rule=by_rule))
    same = ended[0.0]
    cells = [
        _share([kind in DIFFERENT for kind, _, _ in same]),
        *(_share([kind is VerdictKind.SLOWER for kind, _, _ in ended[pct]]) for pct in (2.0, 3.0)),
        f"{np.mean([after for _, after, _ in ended[3.0]]):.0f}",
        _share([_covers(estimate) for _, _, estimate in same]),
    ]
    rule = "by the rule" if by_rule else "all"
    return f"| {name} | {rule} | {' | '.join(cells)} |"


def _covers(estimate: RatioEstimate) -> bool:
    interval = estimate.interval
    return interval is not None and interval.low <= 1 <= interval.high


def _share(found: Sequence[bool]) -> str:
    return f"{100 * np.mean(found):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=200, help="in each row")
    comparisons = parser.parse_args().comparisons
    heads = ("disturbed by", "rounds that count", "A/A false, %", "2 % found", "3 % found")
    print(f"| {' | '.join((*heads, 'rounds, 3 %', 'covers'))} |")
    print("|---" * 7 + "|")
    for name, disturb in KINDS:
        for by_rule in (True, False):
            print(row(name, disturb, comparisons, by_rule=by_rule), flush=True)


if __name__ == "__main__":
    main()
