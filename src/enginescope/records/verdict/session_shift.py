"""Run-to-run variation between sessions, as a comparison uses it."""

from __future__ import annotations

from enginescope.core.record import Record


class SessionShift(Record, frozen=True, kw_only=True):
    """Variation between sessions that a comparison of two sides allows for.

    Attributes:
        sd: Standard deviation between sessions of the same work, in logarithms.
        sessions: Number of sessions that `sd` was estimated from.
        weight: Root of the summed squares of how the two sides' shares of each session differ: 0
            where both were measured in the same sessions, √2 where each has a session of its own.
        freedom: Degrees of freedom of the estimate; ``None`` where `sd` is the assumed value.
    """

    sd: float
    sessions: int
    weight: float
    freedom: int | None
