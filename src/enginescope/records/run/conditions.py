"""What is asked of the machine while a job is measured."""

from __future__ import annotations

from enginescope.core.record import Record


class Cooldown(Record, frozen=True, kw_only=True):
    """Wait before a job until the GPU is cool.

    Attributes:
        temperature_c: At or below this, in degrees Celsius.
        limit_s: Measure after this time in any case; the run then carries a notice.
    """

    temperature_c: float
    limit_s: float = 180.0


class Conditions(Record, frozen=True, kw_only=True):
    """Requested state of the machine during a job.

    Attributes:
        pinned_cores: Logical processors that the worker and its children may run on; empty: all.
    """

    pinned_cores: tuple[int, ...] = ()
    cooldown: Cooldown | None = None
