"""How much is asked of the GPU while it is measured."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record

Depth = Literal["off", "clock", "full"]


class TelemetryRule(Record, frozen=True, kw_only=True):
    """Which GPU metrics are sampled, how often and for how long.

    Attributes:
        depth: ``clock``: SM clock, throttle reasons and other processes around the timed loop.
            ``full``: also a pass of its own that repeats the loop while every channel is sampled.
        interval_ms: Between two samples of the pass.
        duration_ms: Of the repeated loop.
        idle_ms: Of the stretch before it in which nothing is asked of the model.
        settle_ms: Before either: power is reported as an average of up to a second.
    """

    depth: Depth = "clock"
    interval_ms: float = 100.0
    duration_ms: float = 5_000.0
    idle_ms: float = 3_000.0
    settle_ms: float = 1_000.0

    @property
    def whole_ms(self) -> float:
        """What the pass takes, the start of its process left out."""
        if self.depth != "full":
            return 0.0
        return self.duration_ms + self.idle_ms + 2 * self.settle_ms
