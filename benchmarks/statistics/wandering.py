"""Count differences between equal commands on a machine whose speed dwells on two levels.

``python benchmarks/statistics/wandering.py [--comparisons 250]``. A level lasts 0.15 or 0.1 s
on average, as long as a measurement, and the slow one takes 1.6 times as long: as seen of a command
of 7 ms on two shared cores.
"""

from __future__ import annotations

import argparse
from collections import Counter
from statistics import mean

import numpy as np

from enginescope import judge
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel

DWELL_S = (0.15, 0.1)
SLOW = 1.6
WORK_S, PAUSE_S = 0.007, 0.0008
SECONDS, ROUNDS = 0.1, 240


class Machine:
    """Time that passes while something is measured."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.now = 0.0
        self._draw, self._level, self._until = draw, 0, 0.0

    def work(self) -> float:
        """Return what one repetition takes, in s."""
        while self.now >= self._until:
            self._level = 1 - self._level
            self._until += self._draw.exponential(DWELL_S[self._level])
        noise = np.exp(0.06 * abs(self._draw.standard_normal()))
        taken = float(WORK_S * (SLOW if self._level else 1.0) * noise)
        self.now += taken + PAUSE_S
        return taken


class Equal:
    """A side that does the same as every other."""

    evidence = EvidenceLevel.INTERLEAVED

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine, self.name = machine, name

    def measure(self, _round_number: int, seconds: float) -> judge.Measured[dict[str, object]]:
        """Return what the repetitions within so many seconds take, in ms."""
        until, values = self._machine.now + seconds, []
        while self._machine.now < until:
            values.append(1e3 * self._machine.work())
        return judge.Measured(source={}, values=frozen(values))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=250)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    answers = []
    for number in range(options.comparisons):
        machine = Machine(np.random.default_rng([options.seed, number]))
        sides = (Equal(machine, "a"), Equal(machine, "b"))
        answers.append(judge.compare(*sides, seconds=SECONDS, rounds=ROUNDS, seed=number))
    kinds = Counter(answer.verdict.kind.value for answer in answers)
    rounds = mean(answer.measured_rounds for answer in answers)
    print(
        f"{len(answers)} comparisons of equal sides: {dict(kinds)}; {rounds:.0f} rounds on average"
    )


if __name__ == "__main__":
    main()
