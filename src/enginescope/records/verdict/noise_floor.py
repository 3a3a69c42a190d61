"""What a machine's own noise was seen to be.

Run-to-run variation between sessions, as a comparison uses it.
"""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.judge.notice import Notice


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
