"""When an interleaved comparison may end, and the confidence of each look.

A comparison has up to four planned looks of `LOOK_CONFIDENCE`. Before them, a look after each of
the rounds 3 to 7 ends it only where the difference is obvious (`OBVIOUS`), so that its error is
next to nothing. One that is inconclusive after the last of them can be continued to twice as many
rounds, and again. Each further look has half the error of the look before. By Bonferroni's
inequality, all looks together miss in at most 4 × 1 % + (½ + ¼ + …) × 1 % = 5 % of comparisons,
however often somebody continues. The module loads no NumPy: options are declared with its numbers.
"""

import math
from collections.abc import Iterable, Sequence

#: Rounds after which an interleaved comparison may stop. So many at most see 2 % where processes
#: scatter by a standard deviation of 2 %, however they do: ``benchmarks/statistics/looks.py``.
LOOKS = (8, 16, 30, 60)
#: Before them, so many rounds or more, steady or not, show a difference whose interval, Student's
#: t, lies beyond a factor of `OBVIOUS`. Two equal sides whose processes scatter by 50 % seem so
#: different in 0.03 % of comparisons: ``benchmarks/statistics/looks.py``.
EARLY_LOOK, OBVIOUS = 3, 2.0
#: More rounds than this are a mistake.
MOST_ROUNDS = 1_000
#: So many rounds of a side with itself tell how rounds scatter.
FLOOR_ROUNDS = 30
#: Differences up to this do not matter, in percent.
THRESHOLD_PCT = 1.0
#: Confidence at each, the same at all as in Pocock 1977, *Group sequential methods*. One of the
#: four intervals misses in 3 % of comparisons at most, so that of 200 comparisons of a side with
#: itself hardly ever more than 5 % end with a difference.
LOOK_CONFIDENCE = 0.99
#: The error of all looks together: the planned ones, and those of a comparison that is continued.
LOOKS_ERROR = (len(LOOKS) + 1) * (1 - LOOK_CONFIDENCE)


def looks_up_to(rounds: int) -> tuple[int, ...]:
    """Return the looks of a comparison of at most `rounds`: `LOOKS`, stretched or shrunk.

    No look is earlier than the first of `LOOKS`, below which there is no interval.
    """
    least = LOOKS[0]
    scaled = (max(least, math.ceil(one * rounds / LOOKS[-1])) for one in LOOKS)
    return tuple(sorted({*scaled, max(least, rounds)}))


class Tally:
    """Which rounds count so far, which look is next, and its confidence."""

    def __init__(self, looks: tuple[int, ...]) -> None:
        """Start without rounds; `looks` are numbers of rounds that count."""
        self.looks = looks
        self._further = 0
        self.measured = 0
        self._asked = 0
        self._uncertainties_pct: list[Sequence[float | None]] = []
        self._counting: int | None = None

    def add(self, uncertainties_pct: Sequence[float | None] | None) -> None:
        """Take a round: the uncertainty of each side; ``None``: a process failed."""
        self.measured += 1
        if uncertainties_pct is not None:
            self._uncertainties_pct.append(uncertainties_pct)
            self._counting = None

    def extend(self) -> None:
        """Add a look at twice the rounds."""
        self.looks = (*self.looks, 2 * self.looks[-1])
        self._further += 1

    @property
    def complete(self) -> int:
        """Number of rounds in which no process failed."""
        return len(self._uncertainties_pct)

    @property
    def confidence(self) -> float:
        """Confidence of an interval at the last look, or on the way to it."""
        return 1 - (1 - LOOK_CONFIDENCE) * math.pow(0.5, self._further)

    @property
    def is_over(self) -> bool:
        """Whether as many rounds are measured as the last look has, noisy and failed ones too."""
        return self.measured >= self.looks[-1]

    def take_look(self) -> bool:
        """Whether a look is reached that was not asked at yet; it then was.

        Before the first planned look, every round from the third on is one, asked at or not.
        A round can change which earlier ones count (`disturbances`): 7 may be followed by 9, and
        the look of 8 is then at 9. What counts never depends on which side is faster, and there
        are as many looks as before, so their levels hold.
        """
        counting = self.counting
        if self.is_early:
            return EARLY_LOOK <= self.complete < LOOKS[0]
        due = sum(look <= counting for look in self.looks)
        is_new, self._asked = due > self._asked, max(due, self._asked)
        return is_new

    @property
    def is_early(self) -> bool:
        """Whether no planned look is reached yet, so that only the obvious ends it."""
        return self.counting < self.looks[0]

    @property
    def counting(self) -> int:
        """Number of rounds that count so far: one more round may decide of several of them."""
        if self._counting is None:
            from enginescope.judge.comparison.steady_rounds import disturbances  # loads NumPy

            columns = list(zip(*self._uncertainties_pct, strict=True))
            self._counting = sum(disturbances(columns).counts)
        return self._counting


def tally_of(planned: int, rounds: Iterable[Sequence[float | None] | None]) -> Tally:
    """Return where a comparison of at most `planned` rounds stands after `rounds`.

    Rounds beyond its last look mean that it was continued.

    Args:
        rounds: As `Tally.add` takes them.
    """
    tally = Tally(looks_up_to(planned))
    for uncertainties_pct in rounds:
        while tally.is_over:
            tally.extend()
        tally.add(uncertainties_pct)
    return tally
