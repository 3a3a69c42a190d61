"""How far a job is."""

from __future__ import annotations

from enginescope.core.record import Record


class Progress(Record, frozen=True, kw_only=True):
    """Where a job stands; written for the parent to show.

    Attributes:
        phase: Name of a `Phase`.
        median_ms, half_width_pct: Of what is measured so far.
        elapsed_ms, limit_ms: Of the phase, and the most it can take.
        detail: What the phase is at: a step of a build.
        fraction: How much of it is done, 0…1.
    """

    phase: str
    samples: int = 0
    median_ms: float | None = None
    half_width_pct: float | None = None
    elapsed_ms: float | None = None
    limit_ms: float | None = None
    detail: str | None = None
    fraction: float | None = None
