"""A figure of one job over time: its levels, where they change, and what changed there."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import EvidenceLevel, RatioEstimate


class FactChange(Record, frozen=True, kw_only=True):
    """A fact that is another in a later run.

    Attributes:
        before, after: ``None``: not known, or not there.
        elsewhere: How often else it changed in the series without a change of level.
    """

    fact: str
    before: str | None
    after: str | None
    elsewhere: int = 0

    def __str__(self) -> str:
        """Return ``TensorRT 10.3.0 → 10.4.0``."""
        return f"{self.fact} {self.before or 'none'} → {self.after or 'none'}"


class HistoryPoint(Record, frozen=True, kw_only=True):
    """One session: runs of one state of things, shortly after each other.

    Attributes:
        runs: Ids, the oldest first.
        created: When the first was made, UTC, ISO 8601.
        value: The median of a sampled metric, or the figure; of several runs, their median.
        lowest, highest: Of the runs; of a single one the ends of the interval of its median, where
            it has one.
    """

    runs: tuple[str, ...]
    created: str
    value: float
    lowest: float
    highest: float
    commit: str | None = None
    tags: tuple[str, ...] = ()


class Level(Record, frozen=True, kw_only=True):
    """A stretch of runs of one level: from `first` to `last`, both in it."""

    first: int
    last: int
    value: float


class LevelChange(Record, frozen=True, kw_only=True):
    """Where one level gives way to another.

    Attributes:
        at: Place of the first run of the new level.
        estimate: The new level ÷ the old one.
        is_sure: Its interval leaves out 1 and it is beyond the threshold; else too few runs follow
            yet.
        changed: What differs between the last run before and the first run after, likely causes
            first; until it is sure, the last run before is the one before that.
    """

    at: int
    estimate: RatioEstimate
    is_sure: bool
    is_worse: bool
    changed: tuple[FactChange, ...] = ()


class JobHistory(Result, Record, frozen=True, kw_only=True):
    """A metric of one job over time, on one kind of machine.

    Attributes:
        backend: As it is typed.
        case: What else of the label tells the job from others: its batch, shapes, mode.
        inputs: Shapes of the inputs; ``None``: unknown.
        place: GPU or processor; empty: unknown.
        points: The oldest first.
        newest: The newest two sessions ÷ those before them in their level; ``None``: too few.
        failed: Runs of the job that have no figure because they failed.
        evidence: What the verdicts on its levels rest on.
        command: The command line that made the newest run.
        warnings: Those about each of the newest runs, by its id; empty: not looked at.
    """

    label: str
    model: str
    backend: str
    case: str
    inputs: str | None = None
    place: str = ""
    metric: str
    unit: str
    threshold_pct: float
    points: tuple[HistoryPoint, ...]
    levels: tuple[Level, ...]
    changes: tuple[LevelChange, ...] = ()
    newest: RatioEstimate | None = None
    failed: int = 0
    evidence: EvidenceLevel | None = None
    command: str | None = None
    warnings: dict[str, tuple[Notice, ...]] = {}

    @property
    def sure(self) -> tuple[LevelChange, ...]:
        """The changes that are borne out."""
        return tuple(one for one in self.changes if one.is_sure)

    @property
    def doubt(self) -> LevelChange | None:
        """The change that is not sure yet: there is at most one."""
        return next((one for one in self.changes if not one.is_sure), None)

    @property
    def newest_change(self) -> LevelChange | None:
        """The change to the level of today, if the level ever changed."""
        return max(self.sure, key=lambda change: change.at, default=None)


class Standing(Record, frozen=True, kw_only=True):
    """How the newest sessions of a job compare with its level before.

    Attributes:
        kind: ``worse``, ``better``: the level changed. ``perhaps``: the newest sessions are off
            their level, and too few to be sure. ``same``: they are within the threshold.
            ``unknown``: too few sessions, or the interval is wider than the threshold.
        estimate: The newest ÷ the level before; ``None``: too few sessions.
        change: The change of level that it is of.
    """

    kind: Literal["worse", "perhaps", "better", "same", "unknown"]
    estimate: RatioEstimate | None = None
    change: LevelChange | None = None
