"""Where a run stands in an interleaved comparison."""

from __future__ import annotations

from enginescope.core.record import Record


class RoundPosition(Record, frozen=True, kw_only=True):
    """One process of an interleaved comparison.

    Attributes:
        comparison: Hexadecimal; the same for every process of it.
        side: ``"A"``, ``"B"``, …
        round: From 0; every side has one process in each.
        place: From 0: the order within the round, drawn by the seed.
    """

    comparison: str
    side: str
    round: int
    place: int
