"""Series recorded beside a run: what GPU, clocks and processor did meanwhile."""

from __future__ import annotations

from typing import Literal

import numpy as np

from enginescope.core.record import Record, replace
from enginescope.judge.samples import Array, frozen


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
        channels = tuple(Channel(name=one.name, values=one.values[inside]) for one in self.channels)
        return Telemetry(time_ms=self.time_ms[inside], channels=channels)


UTILIZATION = "gpu_utilization_pct"
MEMORY_UTILIZATION = "memory_utilization_pct"
DEVICE_MEMORY = "device_memory_bytes"
PROCESS_MEMORY = "process_memory_bytes"
SM_CLOCK = "sm_clock_mhz"
MEMORY_CLOCK = "memory_clock_mhz"
#: Averaged by the driver, over up to a second.
POWER = "power_w"
#: Not averaged, where the driver tells it apart.
POWER_INSTANT = "power_instant_w"
TEMPERATURE = "temperature_c"
#: A counter that only rises, until the driver is loaded anew.
ENERGY = "energy_mj"
#: Bits of `THROTTLE_REASONS`, as a number.
THROTTLE = "throttle_reasons"

CHANNELS = (
    *(UTILIZATION, MEMORY_UTILIZATION, DEVICE_MEMORY, PROCESS_MEMORY, SM_CLOCK, MEMORY_CLOCK),
    *(POWER, POWER_INSTANT, TEMPERATURE, ENERGY, THROTTLE),
)


class ThrottleReason(Record, frozen=True, kw_only=True):
    """Why clocks are below what they could be.

    Attributes:
        bit: In `THROTTLE`.
        meaning: For people.
        slows: Whether it takes clock away from work; an idle GPU and clocks that somebody has set
            do not.
    """

    name: str
    bit: int
    meaning: str
    slows: bool = True


THROTTLE_REASONS: tuple[ThrottleReason, ...] = (
    ThrottleReason(name="gpu_idle", bit=1, meaning="nothing to do", slows=False),
    ThrottleReason(
        name="clocks_setting", bit=2, meaning="clocks set by a user or application", slows=False
    ),
    ThrottleReason(name="sw_power_cap", bit=4, meaning="power cap (software)"),
    ThrottleReason(name="hw_slowdown", bit=8, meaning="hardware slowdown (heat or power)"),
    ThrottleReason(name="sync_boost", bit=16, meaning="limited by the slowest GPU of its group"),
    ThrottleReason(name="sw_thermal", bit=32, meaning="thermal limit (software)"),
    ThrottleReason(name="hw_thermal", bit=64, meaning="thermal limit (hardware)"),
    ThrottleReason(name="hw_power_brake", bit=128, meaning="power brake from outside (hardware)"),
    ThrottleReason(name="display_clocks", bit=256, meaning="clocks set by a display", slows=False),
)


class SampledGpu(Record, frozen=True, kw_only=True):
    """The GPU that was asked, and what it says once and for all.

    Attributes:
        source: Name of the sampler: ``"nvml"``, ``"jtop"``.
        uuid: Of the GPU, or of the MIG instance.
        is_mig: An instance, which has no power, energy or utilization of its own.
        power_limit_w: The cap in force.
        power_is_instant: Whether `POWER` is of the moment, not an average of up to a second;
            ``None``: not known.
    """

    source: str
    name: str
    uuid: str | None = None
    is_mig: bool = False
    max_sm_clock_mhz: int | None = None
    power_limit_w: float | None = None
    memory_bytes: int | None = None
    power_is_instant: bool | None = None


class GpuProcess(Record, frozen=True, kw_only=True):
    """A process that has memory on the GPU.

    Attributes:
        pid: In a container: maybe by the numbers of the host.
    """

    pid: int
    name: str | None = None
    memory_bytes: int | None = None


SpanKind = Literal["timed", "idle", "load"]


class Span(Record, frozen=True, kw_only=True):
    """A stretch of time, on the clock of the series beside it.

    Attributes:
        kind: ``timed``: the timed loop. ``idle``: the model loaded, nothing asked of it. ``load``:
            the timed loop repeated under sampling.
    """

    kind: SpanKind
    from_ms: float
    to_ms: float

    @property
    def duration_ms(self) -> float:
        """Its length."""
        return self.to_ms - self.from_ms


class GpuTelemetry(Record, frozen=True, kw_only=True, eq=False):
    """Raw readings of one GPU; energy and cycles are computed from them when asked.

    Attributes:
        timed: Clock, throttle reasons and temperature before the timed loop, between its
            stretches, and after it.
        series: Every channel, from the pass of its own; ``None`` where it was not asked for.
        requests: Requests of the ``load`` span, all of them.
        interval_ms: Between two samples of `series`, as asked for.
        others: Processes that are not ours and were on the GPU meanwhile.
    """

    gpu: SampledGpu
    timed: Telemetry | None = None
    series: Telemetry | None = None
    spans: tuple[Span, ...] = ()
    requests: int | None = None
    interval_ms: float | None = None
    others: tuple[GpuProcess, ...] = ()

    def span(self, kind: str) -> Span | None:
        """Return the span of a kind, or ``None``."""
        return next((one for one in self.spans if one.kind == kind), None)


def counted_from(telemetry: GpuTelemetry, origin_ms: float) -> GpuTelemetry:
    """Return `telemetry` with its times counted from `origin_ms` on."""

    def moved(series: Telemetry | None) -> Telemetry | None:
        return series and replace(series, time_ms=frozen(series.time_ms - origin_ms))

    spans = tuple(
        replace(one, from_ms=one.from_ms - origin_ms, to_ms=one.to_ms - origin_ms)
        for one in telemetry.spans
    )
    return replace(
        telemetry, timed=moved(telemetry.timed), series=moved(telemetry.series), spans=spans
    )


class CpuLoss(Record, frozen=True, kw_only=True):
    """What the machine withheld during the timed loop.

    Attributes:
        steal_pct: Time that a hypervisor gave to other guests, as a share of the time in which this
            machine's processors had work.
        throttled_periods: Scheduling periods in which the container had used up its quota and was
            stopped.
        periods: Scheduling periods of the container in which it had work.
        throttled_ms: Time its threads were stopped, all processors together.
    """

    steal_pct: float | None = None
    throttled_periods: int | None = None
    periods: int | None = None
    throttled_ms: float | None = None


class ClockAround(Record, frozen=True, kw_only=True):
    """What the clock did around a timed loop.

    Attributes:
        during_mhz: The median of the readings between its stretches; of the first and the last
            where there is none in between.
    """

    before_mhz: float
    during_mhz: float
    after_mhz: float
    lowest_mhz: float
    highest_mhz: float
    readings: int

    @property
    def drop_pct(self) -> float:
        """How far the clock fell below that before the loop, in percent; never negative."""
        return max(0.0, 100 * (1 - min(self.during_mhz, self.after_mhz) / self.before_mhz))


class Held(Record, frozen=True, kw_only=True):
    """A reason that was read, and in how many of the readings.

    Attributes:
        share_pct: Of the readings that told reasons.
    """

    reason: ThrottleReason
    share_pct: float


def clock_around(timed: Telemetry | None) -> ClockAround | None:
    """Return what the clock did; ``None`` with fewer than two readings."""
    clock = timed.channel(SM_CLOCK) if timed else None
    known = clock[np.isfinite(clock) & (clock > 0)] if clock is not None else np.empty(0)
    if known.size < 2:
        return None
    between = known[1:-1] if known.size > 2 else known
    return ClockAround(
        before_mhz=float(known[0]),
        during_mhz=float(np.median(between)),
        after_mhz=float(known[-1]),
        lowest_mhz=float(known.min()),
        highest_mhz=float(known.max()),
        readings=int(known.size),
    )


def held_by(series: Telemetry | None) -> tuple[Held, ...]:
    """Return the reasons in the readings of a series, the most frequent first."""
    bits = series.channel(THROTTLE) if series else None
    known: Array = bits[np.isfinite(bits)].astype(np.int64) if bits is not None else np.empty(0)
    if not known.size:
        return ()
    shares = ((one, 100 * float(np.mean((known & one.bit) != 0))) for one in THROTTLE_REASONS)
    found = [Held(reason=one, share_pct=share) for one, share in shares if share > 0]
    return tuple(sorted(found, key=lambda one: -one.share_pct))
