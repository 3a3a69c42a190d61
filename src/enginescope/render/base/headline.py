"""The first figures a reader sees."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.core.units import format_bytes, format_ms, format_significant
from enginescope.render.base.phrases import (
    count_text,
    interval_text,
    metric_title,
    percentile_name,
    support_text,
)


class Figure(Record, frozen=True, kw_only=True):
    """One figure: what it is, its value with unit, and what qualifies it."""

    label: str
    value: str
    note: str | None = None
    is_weak: bool = False


class Headline(Record, frozen=True, kw_only=True):
    """The main figure, ``None`` without samples, and those beside it."""

    main: Figure | None
    beside: tuple[Figure, ...] = ()


def headline(view: RunView) -> Headline:
    """Return the median with its interval, then percentiles, throughput, start-up and memory."""
    latency = view.latency
    if latency is None:
        return Headline(main=None, beside=_start(view))
    main = Figure(
        label=f"{metric_title(latency.metric)}, median",
        value=format_ms(latency.median_ms),
        note=f"{interval_text(latency)}\n{count_text(latency)}",
    )
    beside = [
        Figure(
            label=percentile_name(percentile.p),
            value=format_ms(percentile.value_ms, 3),
            note=support_text(percentile),
            is_weak=not percentile.is_supported,
        )
        for percentile in latency.percentiles
        if percentile.p in (95, 99)
    ]
    if view.throughput:
        rate = f"{format_significant(view.throughput.per_s, 4)} {view.throughput.unit}/s"
        beside.append(Figure(label="throughput", value=rate, note=view.throughput.definition))
    return Headline(main=main, beside=(*beside, *_start(view)))


def _start(view: RunView) -> tuple[Figure, ...]:
    run = view.run
    load, first = run.phase_ms("load"), run.phase_ms("first_inference")
    found = []
    if load is not None:
        note = f"first inference {format_ms(first, 3)}" if first is not None else None
        found.append(Figure(label="load", value=format_ms(load, 3), note=note))
    if run.peak_memory_bytes is not None:
        peak = format_bytes(run.peak_memory_bytes)
        found.append(Figure(label="peak memory", value=peak, note="of the worker"))
    return tuple(found)
