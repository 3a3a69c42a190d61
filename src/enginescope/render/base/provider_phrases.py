"""Execution providers, their preparation and their copies, in words."""

from __future__ import annotations

from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.run.run import ArenaUse, Run
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.facts import Facts
from enginescope.render.base.phrases import interval_text

_OPERATORS = 4
_SPELLED = {"Tensorrt": "TensorRT", "NvTensorRTRTX": "TensorRT RTX"}


def short_name(provider: str) -> str:
    """Return ``CUDA`` for ``CUDAExecutionProvider``."""
    name = provider.removesuffix("ExecutionProvider")
    return _SPELLED.get(name, name)


def placement_line(run: Run) -> str | None:
    """Say which provider did what share, and what was left to the others."""
    work = provider_work(run)
    if not is_shared(work):
        return None
    return "; ".join(_part(one, is_asked=not index) for index, one in enumerate(work))


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
    return text if is_asked or not one.operators else f"{text}: {_operators(one)}"


def _operators(one: ProviderWork) -> str:
    every = [f"{name} ×{count}" if count > 1 else name for name, count in one.operators.items()]
    more = len(every) - _OPERATORS
    return ", ".join(every[:_OPERATORS]) + (f" and {more} more kinds" if more > 0 else "")


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
    found = (view.summary(metric) for metric in ("time_to_first_token", "time_per_token"))
    first, each = (
        f"{format_ms(one.median_ms)} median, {interval_text(one)}" if one else None for one in found
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
    held = ""
    if made.cache_files and made.cache_bytes is not None:
        files = counted(made.cache_files, "file")
        held = f"; they hold {files}, {format_bytes(made.cache_bytes)}"
    return f"{times} with empty caches{when}{held}"


def provider_rows(view: RunView) -> tuple[tuple[str, str], ...]:
    """Return the labeled lines of a run's screen: tokens, without copies, cold, nodes."""
    first, each = token_lines(view)
    return stated(
        ("1st token", first),
        ("per token", each),
        ("on device", device_line(view)),
        ("cold", cold_line(view.run)),
        ("nodes", placement_line(view.run)),
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
        *((f"Memory by {short_name(one.provider)}'s allocator", _arena(one)) for one in run.arenas),
    )


def _made(tool: str, versions: dict[str, str], made_ms: float | None) -> str:
    with_versions = ", ".join(f"{name} {version}" for name, version in versions.items())
    took = f", {format_ms(made_ms, 3)}" if made_ms is not None else ""
    return f"by {tool} ({with_versions}){took}"


def _arena(one: ArenaUse) -> str:
    text = f"{format_bytes(one.in_use_peak_bytes)} in use at its peak"
    return text if one.held_bytes is None else f"{text}, {format_bytes(one.held_bytes)} held"


def caveat(work: tuple[ProviderWork, ...]) -> str | None:
    """Say what the times of kernels mean where providers differ in it."""
    names = {one.provider for one in work}
    if "CUDAExecutionProvider" not in names:
        return None
    text = (
        "CUDA's kernels run behind the host: the time of such a node is that of its launch, and "
        "the GPU's work shows where the host waits next"
    )
    if "TensorrtExecutionProvider" in names:
        text += (
            ". TensorRT's provider waits for its stream: its times contain the GPU's work, so the "
            "shares lean to it"
        )
    return f"{text}."
