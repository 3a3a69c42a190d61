"""Where a run stands in an interleaved comparison."""

from __future__ import annotations

from enginescope.core.record import Record


class Turn(Record, frozen=True, kw_only=True):
    """One process of a comparison whose sides were measured in turn.

    Attributes
    ----------
    comparison : str
        Hexadecimal; the same for every process of it.
    side : str
        ``"A"``, ``"B"``, …
    round : int
        From 0; every side has one process in each.
    place : int
        From 0: the order within the round, drawn by the seed.
    """

    comparison: str
    side: str
    round: int
    place: int
