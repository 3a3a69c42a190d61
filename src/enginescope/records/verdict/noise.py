"""A machine's noise, and how small a difference comparisons on it find."""

from __future__ import annotations

from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import VerdictKind


class Decidable(Record, frozen=True, kw_only=True):
    """What a comparison of so many rounds would decide.

    Attributes:
        duration_s: Of the rounds, as long as they took here.
        difference_pct: The smallest difference that would be found in four of five comparisons;
            ``None``: too few rounds for any.
    """

    duration_s: float
    rounds: int
    difference_pct: float | None


class NoiseFloor(Result, Record, frozen=True, kw_only=True):
    """The noise of one machine, from a model measured against itself.

    Attributes:
        environment: `Environment.comparable_key` of its runs.
        backend: Name of the backend, without precision and options.
        created: UTC, ISO 8601.
        comparison: Of the `RoundPosition`s of its runs.
        rounds: Those that count.
        round_s: How long a round that counts took: both its processes, starting them included, and
            its share of the rounds that do not.
        scatter_pct: Half the width of the 95 % interval in which the medians of processes of the
            same work lie.
        within_pct: Half the width of the 95 % interval of one process's median, as its own samples
            give it.
        decidable: The shortest first; one of them is of the default's most rounds.
        other_cores: Cores that other work kept busy meanwhile, of the middle process.
        notices: Disturbances of half of the processes or more, the gravest of each kind.
    """

    environment: tuple[str | None, ...]
    backend: str
    model: str
    created: str
    comparison: str
    rounds: int
    round_s: float
    scatter_pct: float
    within_pct: float | None = None
    decidable: tuple[Decidable, ...] = ()
    other_cores: float | None = None
    notices: tuple[Notice, ...] = ()


class Detection(Record, frozen=True, kw_only=True):
    """What drawn comparisons conclude where one side takes longer by a planted difference.

    Shares are in percent of the drawn comparisons.

    Attributes:
        difference_pct: Planted; 0: both sides are the same.
        found_pct: Share that calls the right side slower; of 0, any side: false verdicts.
        low_pct, high_pct: 95 % interval of `found_pct`.
        same_pct: Share that calls the sides equal.
        wrong_pct: Share that calls the wrong side slower.
        rounds: Mean number of rounds until a comparison ends.
    """

    difference_pct: float
    found_pct: float
    low_pct: float
    high_pct: float
    same_pct: float
    wrong_pct: float
    rounds: float


class SameComparison(Record, frozen=True, kw_only=True):
    """A measured comparison of a model with itself.

    Attributes:
        comparison: Of the `RoundPosition`s of its runs.
        most: Maximum of rounds that count; less than in the curve where the time is short.
        rounds: Measured ones, with those that do not count.
        kind: Verdict; ``None``: the time was over before it ended.
        ratio: B ÷ A; ``None``: too few rounds.
    """

    comparison: str
    most: int
    rounds: int
    kind: VerdictKind | None = None
    ratio: float | None = None


class SelfTest(Result, Record, frozen=True, kw_only=True):
    """The detection curve of one machine, from a model compared with itself.

    Measured are comparisons of a model with itself. Drawn are comparisons of their rounds: rounds
    at random, sides swapped at random, times of B multiplied by the planted difference.

    Attributes:
        environment: `Environment.comparable_key` of its runs.
        backend: Name of the backend, without precision and options.
        created: UTC, ISO 8601; the beginning.
        rounds: Maximum of a comparison.
        threshold_pct: Differences up to this do not matter.
        duration_s: Of all that was measured.
        round_s: Time of a round that counts, with its share of those that do not.
        comparisons: The measured ones.
        ended: How many of them came to their end.
        false_verdicts: How many of these call one of two equal sides faster.
        false_low_pct, false_high_pct: Exact 95 % interval of their share; ``None``: none ended.
        counted: Measured rounds that count, from which comparisons are drawn.
        skipped: Measured rounds that do not count: a process failed or was disturbed.
        drawn: Number of drawn comparisons.
        curve: By difference; the first is 0.
        smallest_pct: The smallest difference that 95 of 100 drawn comparisons find; ``None``: above
            100 %.
        smallest_low_pct, smallest_high_pct: Its 95 % interval; ``None``: above 100 %.
        notices: Disturbances of half of the processes or more; reasons to trust the result less.
        is_recorded: Whether the store has it.
    """

    environment: tuple[str | None, ...]
    backend: str
    model: str
    created: str
    rounds: int
    threshold_pct: float
    duration_s: float
    round_s: float
    comparisons: tuple[SameComparison, ...]
    ended: int
    false_verdicts: int
    false_low_pct: float | None = None
    false_high_pct: float | None = None
    counted: int
    skipped: int
    drawn: int
    curve: tuple[Detection, ...]
    smallest_pct: float | None = None
    smallest_low_pct: float | None = None
    smallest_high_pct: float | None = None
    notices: tuple[Notice, ...] = ()
    is_recorded: bool = False
