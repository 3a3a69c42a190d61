"""Sessions of proposals: how many accept any where none is faster, and how many find real gains.

``python benchmarks/statistics/referee.py [--sessions 200]``. The median of each round is drawn:
log-normal with a standard deviation of 2 %. A session has 100 proposals; with gains, the 21st, 51st
and 81st take 5 % less time than the champion.
"""

from __future__ import annotations

import argparse
from statistics import mean

import numpy as np

from enginescope import judge
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel

SD = 0.02
PROPOSALS = 100
GAINS = (20, 50, 80)


class Drawn:
    """A side whose medians are drawn."""

    evidence = EvidenceLevel.INTERLEAVED

    def __init__(self, draw: np.random.Generator, level: float, name: str) -> None:
        self._draw, self.level, self.name = draw, level, name

    def measure(self, _round_number: int, _seconds: float) -> judge.Measured[dict[str, object]]:
        """Return one median."""
        values = frozen([self.level * np.exp(self._draw.normal(0, SD))])
        return judge.Measured(source={}, values=values)


def accepted(seed: int, gains: tuple[int, ...]) -> tuple[list[int], float]:
    """Return the accepted proposals of a session, and its mean number of rounds."""
    draw = np.random.default_rng(seed)
    session = judge.Session(Drawn(draw, 1.0, "champion"), proposals=PROPOSALS)
    numbers, rounds = [], []
    for number in range(PROPOSALS):
        level = session.champion.level * (0.95 if number in gains else 1.0)
        judged = session.propose(Drawn(draw, level, f"proposal {number + 1}"))
        rounds.append(judged.answer.measured_rounds)
        if judged.is_accepted:
            numbers.append(number)
    return numbers, mean(rounds)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    sessions = parser.parse_args().sessions
    null = [accepted(seed, ()) for seed in range(sessions)]
    wrong = sum(bool(numbers) for numbers, _ in null)
    print(f"no gain: {wrong} of {sessions} sessions accept any proposal")
    print(f"rounds of a proposal, mean: {mean(rounds for _, rounds in null):.1f}")
    real = [accepted(10_000 + seed, GAINS)[0] for seed in range(sessions)]
    complete = sum(set(GAINS) <= set(numbers) for numbers in real)
    print(f"three gains of 5 %: {complete} of {sessions} sessions accept all three")


if __name__ == "__main__":
    main()
