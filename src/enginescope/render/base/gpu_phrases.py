"""What a GPU reported, as words."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.runs.energy import Energy
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant, range_text
from enginescope.records.run.telemetry import (
    PROCESS_MEMORY,
    TEMPERATURE,
    GpuTelemetry,
    Held,
    SampledGpu,
    held_by,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.phrases import in_text

_SOURCES = {"nvml": "NVML", "jtop": "jetson-stats"}


def joules_text(joules: float) -> str:
    """Return ``0.937 J``, in millijoules below a tenth of a joule."""
    if abs(joules) < 0.1:
        return f"{format_significant(1e3 * joules)} mJ"
    return f"{format_significant(joules)} J"


def joules_interval(interval: Interval, of: float) -> str:
    """Return a 95 % interval in the unit that `of` is written in."""
    scale, unit = (1e3, "mJ") if abs(of) < 0.1 else (1.0, "J")
    return f"95 % CI {range_text(scale * interval.low, scale * interval.high, 3)} {unit}"


def energy_parts(energy: Energy) -> tuple[str, ...]:
    """Return what a request costs: all of it, its interval, and without what idling draws."""
    parts = [
        f"{joules_text(energy.joules)} a request",
        joules_interval(energy.interval, energy.joules),
    ]
    if energy.net_joules is not None and energy.idle_w is not None:
        idle = f"{format_significant(energy.idle_w)} W idle"
        parts.append(f"{joules_text(energy.net_joules)} above {idle}")
    parts.append(energy.sampling)
    return tuple(parts)


def energy_sentences(energy: Energy) -> tuple[str, ...]:
    """Return how the figures of a request's energy came about, and what they leave out."""
    way = (
        f"From the GPU's energy counter, which rose in steps of "
        f"{format_significant(energy.step_mj or 0)} mJ every "
        f"{format_significant(energy.step_ms or 0)} ms as it was sampled"
        if energy.method == "counter"
        else "From power added up over time: this GPU reports no energy counter"
    )
    seconds, watts = energy.duration_ms / 1e3, format_significant(energy.load_w)
    said = [
        f"{energy.sampling[:1].upper()}{energy.sampling[1:]}.",
        f"{way}; {energy.requests:,} requests in {seconds:.1f} s at {watts} W.",
        "The intervals cover the readings, not the accuracy of the sensor.",
    ]
    if energy.net_joules is None:
        said.append("Idle power was not measured, so nothing is subtracted.")
    if energy.is_shared:
        said.append("Other processes were on the GPU: some of the energy is theirs.")
    return tuple(said)


def clock_parts(view: RunView) -> tuple[str, ...]:
    """Return the SM clock around the timed loop, and the latency in its cycles."""
    clock, cycles = view.sm_clock, view.cycles
    if clock is None:
        return ()
    before, during, after = (
        f"{mhz:,.0f}" for mhz in (clock.before_mhz, clock.during_mhz, clock.after_mhz)
    )
    steady = f"{during} MHz before, during and after"
    moved = f"{before} MHz before, {during} during, {after} after"
    parts = [steady if before == during == after else moved]
    if cycles is not None:
        count = float(f"{cycles.cycles:.4g}")
        parts.append(f"{count:,.0f} cycles ({in_text(cycles.metric)}, median)")
    return tuple(parts)


def gpu_facts(view: RunView) -> tuple[tuple[str, str], ...]:
    """Return what is known of the GPU meanwhile, as (name, value) pairs."""
    gpu = view.run.gpu
    if gpu is None:
        return ()
    sampled, clock = gpu.gpu, clock_parts(view)
    kind = "of the moment" if sampled.power_is_instant else "averaged by the driver over 1 s"
    return stated(
        ("GPU", _named(sampled)),
        ("UUID", sampled.uuid),
        *(("SM clock around the timed loop", one) for one in clock[:1]),
        *(("In cycles of the SM clock", one) for one in clock[1:]),
        ("Clock held down by", _held(held_by(gpu.timed))),
        ("Thermal state", view.thermal_state.text),
        *(_energy_pairs(view.energy) if view.energy else ()),
        ("Power limit", _watts(sampled.power_limit_w)),
        ("Power readings", kind if sampled.power_is_instant is not None else None),
        *_peaks(gpu),
    )


def _watts(watts: float | None) -> str | None:
    return None if watts is None else f"{format_significant(watts)} W"


def _energy_pairs(energy: Energy) -> Iterator[tuple[str, str | None]]:
    whole = f"{joules_text(energy.joules)}, {joules_interval(energy.interval, energy.joules)}"
    yield "Energy of a request", whole
    yield "… read", energy.sampling
    if energy.net_joules is not None and energy.net_interval is not None:
        interval = joules_interval(energy.net_interval, energy.net_joules)
        yield "… above idle", f"{joules_text(energy.net_joules)}, {interval}"
    if energy.per_item_j != energy.joules:
        yield "… of an item", joules_text(energy.per_item_j)
    yield "Power in the loop", _watts(energy.load_w)
    if energy.idle_w is not None and energy.idle_interval is not None:
        idle = range_text(energy.idle_interval.low, energy.idle_interval.high, 3)
        yield "Power idle, the model loaded", f"{_watts(energy.idle_w)}, 95 % CI {idle} W"


def _peaks(gpu: GpuTelemetry) -> Iterator[tuple[str, str]]:
    memory, degrees = (
        gpu.series.channel(name) if gpu.series else None for name in (PROCESS_MEMORY, TEMPERATURE)
    )
    if memory is not None:
        most = format_bytes(int(memory[memory == memory].max()))  # NaN is not itself
        yield "Device memory of the process", most
    if degrees is not None:
        known = degrees[degrees == degrees]
        ends = dict.fromkeys((f"{known.min():.0f}", f"{known.max():.0f}"))
        yield "Temperature", f"{' … '.join(ends)} °C"


def _held(held: tuple[Held, ...]) -> str:
    slowing = [one for one in held if one.reason.slows]
    if not slowing:
        return "nothing that was read"
    return "; ".join(
        f"{one.reason.meaning}, {one.share_pct:.0f} % of the readings" for one in slowing
    )


def _named(gpu: SampledGpu) -> str:
    kind = ", a MIG instance" if gpu.is_mig else ""
    return f"{gpu.name}{kind}, by {_SOURCES[gpu.source]}"
