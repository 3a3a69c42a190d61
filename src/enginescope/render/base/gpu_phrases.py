"""What a GPU reported, as words."""

from __future__ import annotations

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
    steps = (clock.before_mhz, clock.during_mhz, clock.after_mhz)
    if len({round(step) for step in steps}) == 1:
        parts = [f"{clock.during_mhz:,.0f} MHz before, during and after"]
    else:
        names = ("before", "during", "after")
        parts = [
            ", ".join(
                f"{mhz:,.0f}{' MHz' if not at else ''} {name}"
                for at, (mhz, name) in enumerate(zip(steps, names, strict=True))
            )
        ]
    if cycles is not None:
        count = float(f"{cycles.cycles:.4g}")
        parts.append(f"{count:,.0f} cycles ({in_text(cycles.metric)}, median)")
    return tuple(parts)


def gpu_facts(view: RunView) -> tuple[tuple[str, str], ...]:
    """Return what is known of the GPU meanwhile, as (name, value) pairs."""
    gpu = view.run.gpu
    if gpu is None:
        return ()
    pairs = [("GPU", _named(gpu.gpu))]
    if gpu.gpu.uuid:
        pairs.append(("UUID", gpu.gpu.uuid))
    clock = clock_parts(view)
    if clock:
        pairs.append(("SM clock around the timed loop", clock[0]))
        pairs += [("In cycles of the SM clock", one) for one in clock[1:]]
    pairs.append(("Clock held down by", _held(held_by(gpu.timed))))
    pairs.append(("Thermal state", view.thermal_state.text))
    if view.energy is not None:
        pairs += _energy_pairs(view.energy)
    if gpu.gpu.power_limit_w is not None:
        pairs.append(("Power limit", f"{format_significant(gpu.gpu.power_limit_w)} W"))
    if gpu.gpu.power_is_instant is not None:
        kind = "of the moment" if gpu.gpu.power_is_instant else "averaged by the driver over 1 s"
        pairs.append(("Power readings", kind))
    return (*pairs, *_peaks(gpu))


def _energy_pairs(energy: Energy) -> list[tuple[str, str]]:
    whole = f"{joules_text(energy.joules)}, {joules_interval(energy.interval, energy.joules)}"
    pairs = [("Energy of a request", whole), ("… read", energy.sampling)]
    if energy.net_joules is not None and energy.net_interval is not None:
        interval = joules_interval(energy.net_interval, energy.net_joules)
        pairs.append(("… above idle", f"{joules_text(energy.net_joules)}, {interval}"))
    if energy.per_item_j != energy.joules:
        pairs.append(("… of an item", joules_text(energy.per_item_j)))
    pairs.append(("Power in the loop", f"{format_significant(energy.load_w)} W"))
    if energy.idle_w is not None and energy.idle_interval is not None:
        low, high = energy.idle_interval.low, energy.idle_interval.high
        idle = f"{format_significant(energy.idle_w)} W, 95 % CI {range_text(low, high, 3)} W"
        pairs.append(("Power idle, the model loaded", idle))
    return pairs


def _peaks(gpu: GpuTelemetry) -> list[tuple[str, str]]:
    if gpu.series is None:
        return []
    pairs = []
    memory = gpu.series.channel(PROCESS_MEMORY)
    if memory is not None:
        most = format_bytes(int(memory[memory == memory].max()))  # NaN is not itself
        pairs.append(("Device memory of the process", most))
    temperature = gpu.series.channel(TEMPERATURE)
    if temperature is not None:
        known = temperature[temperature == temperature]
        low, high = f"{known.min():.0f}", f"{known.max():.0f}"
        pairs.append(("Temperature", f"{low} °C" if low == high else f"{low} … {high} °C"))
    return pairs


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
