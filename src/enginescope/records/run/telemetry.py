"""Series recorded beside a run."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.records.samples import Array


class Channel(Record, frozen=True, kw_only=True, eq=False):
    """One named series.

    Attributes:
        name: With its unit: ``"rss_bytes"``, ``"sm_clock_mhz"``.
        values: NaN where the source gave none at that instant.
    """

    name: str
    values: Array


class Telemetry(Record, frozen=True, kw_only=True, eq=False):
    """Channels sampled at the same instants.

    Attributes:
        time_ms: Since the worker was started.
    """

    time_ms: Array
    channels: tuple[Channel, ...] = ()

    def channel(self, name: str) -> Array | None:
        """Return a channel's values, or ``None``."""
        return next((one.values for one in self.channels if one.name == name), None)

    def between(self, from_ms: float, to_ms: float) -> Telemetry:
        """Return the part from one instant to another, both included."""
        inside = (self.time_ms >= from_ms) & (self.time_ms <= to_ms)
        return Telemetry(
            time_ms=self.time_ms[inside],
            channels=tuple(
                Channel(name=one.name, values=one.values[inside]) for one in self.channels
            ),
        )
