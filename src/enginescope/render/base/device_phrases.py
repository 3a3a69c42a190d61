"""What a GPU reported, and what execution providers did, in words."""

from collections.abc import Iterator

from enginescope.analysis.runs.gpu_state import Energy
from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, format_ms, format_significant, range_text
from enginescope.records.run.run import Run
from enginescope.records.run.telemetry import PROCESS_MEMORY, TEMPERATURE, GpuTelemetry, held_by
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.facts import Facts
from enginescope.render.base.phrases import in_text, interval_text


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
    way = "From power added up over time: this GPU reports no energy counter"
    if energy.method == "counter":
        steps = (format_significant(one or 0) for one in (energy.step_mj, energy.step_ms))
        rose = "{} mJ every {} ms as it was sampled".format(*steps)
        way = f"From the GPU's energy counter, which rose in steps of {rose}"
    seconds, watts = energy.duration_ms / 1e3, format_significant(energy.load_w)
    idle = "Idle power was not measured, so nothing is subtracted."
    shared = "Other processes were on the GPU: some of the energy is theirs."
    return (
        f"{energy.sampling[:1].upper()}{energy.sampling[1:]}.",
        f"{way}; {energy.requests:,} requests in {seconds:.1f} s at {watts} W.",
        "The intervals cover the readings, not the accuracy of the sensor.",
        *([idle] if energy.net_joules is None else []),
        *([shared] if energy.is_shared else []),
    )


def clock_parts(view: RunView) -> tuple[str, ...]:
    """Return the SM clock around the timed loop, and the latency in its cycles."""
    clock, cycles = view.sm_clock, view.cycles
    if clock is None:
        return ()
    every = (clock.before_mhz, clock.during_mhz, clock.after_mhz)
    before, during, after = (f"{mhz:,.0f}" for mhz in every)
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
    source = {"nvml": "NVML", "jtop": "jetson-stats"}.get(sampled.source, sampled.source)
    kind = "of the moment" if sampled.power_is_instant else "averaged by the driver over 1 s"
    slowing = (held for held in held_by(gpu.timed) if held.reason.slows)
    held = (f"{one.reason.meaning}, {one.share_pct:.0f} % of the readings" for one in slowing)
    return stated(
        ("GPU", f"{sampled.name}{', a MIG instance' if sampled.is_mig else ''}, by {source}"),
        ("UUID", sampled.uuid),
        *(("SM clock around the timed loop", one) for one in clock[:1]),
        *(("In cycles of the SM clock", one) for one in clock[1:]),
        ("Clock held down by", "; ".join(held) or "nothing that was read"),
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
    memory = gpu.series.channel(PROCESS_MEMORY) if gpu.series else None
    degrees = gpu.series.channel(TEMPERATURE) if gpu.series else None
    if memory is not None:
        most = format_bytes(int(memory[memory == memory].max()))  # NaN is not itself
        yield "Device memory of the process", most
    if degrees is not None:
        known = degrees[degrees == degrees]
        ends = dict.fromkeys((f"{known.min():.0f}", f"{known.max():.0f}"))
        yield "Temperature", f"{' … '.join(ends)} °C"


def short_name(provider: str) -> str:
    """Return ``CUDA`` for ``CUDAExecutionProvider``."""
    name = provider.removesuffix("ExecutionProvider")
    return {"Tensorrt": "TensorRT", "NvTensorRTRTX": "TensorRT RTX"}.get(name, name)


def _part(one: ProviderWork, *, is_asked: bool) -> str:
    parts = []
    if one.nodes is not None:
        of = f" ({_percent(one.nodes_pct)} %)" if one.nodes_pct is not None else ""
        # Where each node is a subgraph, their number says nothing.
        is_grouped = one.subgraphs is not None and one.subgraphs < one.nodes
        pieces = f" in {counted(one.subgraphs or 0, 'subgraph')}" if is_grouped else ""
        parts.append(f"{counted(one.nodes, 'node')}{of}{pieces}")
    elif one.kernels is not None:
        parts.append(counted(one.kernels, "kernel"))
    if one.time_pct is not None:
        parts.append(f"{_percent(one.time_pct)} % of kernel time")
    text = f"{short_name(one.provider)} {', '.join(parts)}"
    if is_asked or not one.operators:
        return text
    every = [f"{name} ×{count}" if count > 1 else name for name, count in one.operators.items()]
    more = f" and {len(every) - 4} more kinds" if len(every) > 4 else ""
    return f"{text}: {', '.join(every[:4])}{more}"


def _percent(value: float | None) -> str:
    """Return a share; ``100`` only where it is the whole."""
    if value is None:
        return "?"
    return f"{value:.4f}"[:5] if 99.95 <= value < 100 else format_significant(value)


def device_line(view: RunView) -> str | None:
    """Say what a request takes without copies, and what they take."""
    device, whole = view.summary("device_latency"), view.summary("latency")
    if device is None:
        return None
    text = f"{format_ms(device.median_ms)} median without copies, {interval_text(device)}"
    if whole is None or whole.median_ms <= device.median_ms:
        return text
    copies = whole.median_ms - device.median_ms
    share = format_significant(100 * copies / whole.median_ms, 2)
    return f"{text}; the copies take {format_ms(copies, 3)} ({share} %)"


def token_lines(view: RunView) -> tuple[str | None, str | None]:
    """Say when a request had its first token, and what each further one took."""
    first, each = (
        f"{format_ms(one.median_ms)} median, {interval_text(one)}" if one else None
        for one in map(view.summary, ("time_to_first_token", "time_per_token"))
    )
    return first, each


def cold_line(run: Run) -> str | None:
    """Say what load and first inference took with empty caches."""
    made = run.preparation
    if made is None or not made.cold:
        return None
    names = {"cold_load": "load", "cold_first_inference": "first inference"}
    times = ", ".join(f"{format_ms(one.duration_ms, 3)} {names[one.name]}" for one in made.cold)
    when = ", measured when the engines were built" if made.from_cache else ""
    text = f"{times} with empty caches{when}"
    if not made.cache_files or made.cache_bytes is None:
        return text
    files = counted(made.cache_files, "file")
    return f"{text}; they hold {files}, {format_bytes(made.cache_bytes)}"


def provider_rows(view: RunView) -> tuple[tuple[str, str], ...]:
    """Return the labeled lines of a run's screen: tokens, without copies, cold, nodes."""
    (first, each), work = token_lines(view), provider_work(view.run)
    parts = (_part(one, is_asked=not index) for index, one in enumerate(work))
    return stated(
        ("1st token", first),
        ("per token", each),
        ("on device", device_line(view)),
        ("cold", cold_line(view.run)),
        ("nodes", "; ".join(parts) if is_shared(work) else None),
    )


def provider_facts(view: RunView) -> Facts:
    """Return copies, cold start, models made and allocators as pairs."""
    run = view.run
    made = run.preparation.made if run.preparation else ()
    first, each = token_lines(view)
    return stated(
        ("Time to first token", first),
        ("Time per token", each),
        ("Without copies", device_line(view)),
        ("Cold", cold_line(run)),
        *((f"Model made: {one.kind}", _made(one.tool, one.versions, one.made_ms)) for one in made),
        *(
            (
                f"Memory by {short_name(arena.provider)}'s allocator",
                f"{format_bytes(arena.in_use_peak_bytes)} in use at its peak"
                + ("" if arena.held_bytes is None else f", {format_bytes(arena.held_bytes)} held"),
            )
            for arena in run.arenas
        ),
    )


def _made(tool: str, versions: dict[str, str], made_ms: float | None) -> str:
    with_versions = ", ".join(f"{name} {version}" for name, version in versions.items())
    took = f", {format_ms(made_ms, 3)}" if made_ms is not None else ""
    return f"by {tool} ({with_versions}){took}"


def caveat(work: tuple[ProviderWork, ...]) -> str | None:
    """Say what the times of kernels mean where providers differ in it."""
    names = {one.provider for one in work}
    if "CUDAExecutionProvider" not in names:
        return None
    text = (
        "CUDA's kernels run behind the host: the time of such a node is that of its launch, and "
        "the GPU's work shows where the host waits next."
    )
    if "TensorrtExecutionProvider" not in names:
        return text
    return (
        f"{text} TensorRT's provider waits for its stream: its times contain the GPU's work, so "
        "the shares lean to it."
    )
