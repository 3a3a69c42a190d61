"""A figure of one job over time: its levels, where they change, and what changed there."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.verdict import RatioEstimate


class FactChange(Record, frozen=True, kw_only=True):
    """A fact that is another in a later run.

    Attributes
    ----------
    fact : str
    before, after : str or None
        ``None``: not known, or not there.
    elsewhere : int
        How often else it changed in the series without a change of level.
    """

    fact: str
    before: str | None
    after: str | None
    elsewhere: int = 0

    def __str__(self) -> str:
        """Return ``TensorRT 10.3.0 → 10.4.0``."""
        return f"{self.fact} {self.before or 'none'} → {self.after or 'none'}"


class HistoryPoint(Record, frozen=True, kw_only=True):
    """One sitting: runs of one state of things, shortly after each other.

    Attributes
    ----------
    runs : tuple of str
        Ids, the oldest first.
    created : str
        When the first was made, UTC, ISO 8601.
    value : float
        The median of a sampled metric, or the figure; of several runs, their median.
    lowest, highest : float
        Of the runs; of a single one the ends of the interval of its median, where it has one.
    commit : str or None
    tags : tuple of str
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

    Attributes
    ----------
    at : int
        Place of the first run of the new level.
    estimate : RatioEstimate
        The new level ÷ the old one.
    is_sure : bool
        Its interval leaves out 1 and it is beyond the threshold; else too few runs follow yet.
    is_worse : bool
    changed : tuple of FactChange
        What differs between the last run before and the first run after, likely causes first.
    """

    at: int
    estimate: RatioEstimate
    is_sure: bool
    is_worse: bool
    changed: tuple[FactChange, ...] = ()


class JobHistory(Record, frozen=True, kw_only=True):
    """The series of one job on one kind of machine.

    Attributes
    ----------
    label : str
    metric, unit : str
    threshold_pct : float
    points : tuple of HistoryPoint
        The oldest first.
    levels : tuple of Level
    changes : tuple of LevelChange
    failed : int
        Runs of the job that have no figure because they failed.
    """

    label: str
    metric: str
    unit: str
    threshold_pct: float
    points: tuple[HistoryPoint, ...]
    levels: tuple[Level, ...]
    changes: tuple[LevelChange, ...] = ()
    failed: int = 0

    @property
    def sure(self) -> tuple[LevelChange, ...]:
        """The changes that are borne out."""
        return tuple(one for one in self.changes if one.is_sure)
