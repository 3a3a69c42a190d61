"""State a percentile: with its own interval, or marked with what its samples lack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from enginescope.judge.samples import Interval, Mark, Percentile, Summary
from enginescope.judge.stats.describe import needed_samples
from enginescope.judge.units import format_ms, format_significant, range_text

#: Stands behind a percentile in a table, with `MARKED` below the table.
MARK = "*"
MARKED = f"{MARK} too few samples to state it with an interval"
#: Percentiles beside a median.
SHOWN = (95.0, 99.0)

_NO_INTERVAL = {
    Mark.SLOW: "the samples change too slowly",
    Mark.EXTREMES: "it would reach beyond the samples",
    Mark.EQUAL: "the samples around it are equal",
}


def percentile_name(p: float) -> str:
    """Return ``p99`` or ``p99.9``."""
    return f"p{p:g}"


def needed_in_each(p: float, processes: int) -> int:
    """Return how many samples each process needs so that together they carry percentile `p`.

    Together as many as one series needs, and each enough that half of such processes reach beyond
    the percentile.
    """
    return max(math.ceil(needed_samples(p) / processes), needed_samples(p, confidence=0.5))


def mark_text(percentile: Percentile) -> str | None:
    """Say what the samples lack for a percentile; ``None``: it may be stated."""
    if percentile.mark is None:
        return None
    if percentile.mark is Mark.SAMPLES:
        effective = math.floor(percentile.effective_n)
        return f"{effective:,} of {percentile.needed_n:,} effective samples needed"
    if percentile.mark is Mark.LOWER:
        return f"{percentile_name(percentile.weak_below or 0)} has too few effective samples"
    return f"no interval: {_NO_INTERVAL[percentile.mark]}"


def range_or_mark(percentile: Percentile) -> str:
    """Return ``95 % CI 7.1 … 8.3 ms``, or what the samples lack."""
    interval = percentile.interval
    return mark_text(percentile) or (
        f"95 % CI {range_text(interval.low, interval.high)} ms" if interval else ""
    )


def value_text(percentile: Percentile, digits: int = 4) -> str:
    """Return ``p99 7.800 ms (95 % CI 7.104 … 8.302 ms)``, or the mark in place of the interval."""
    name = percentile_name(percentile.p)
    return f"{name} {format_ms(percentile.value_ms, digits)} ({range_or_mark(percentile)})"


def shown_texts(summary: Summary) -> tuple[str, ...]:
    """Return `value_text` of the percentiles that stand beside a median."""
    return tuple(value_text(one) for one in summary.percentiles if one.p in SHOWN)


def cell(
    percentile: Percentile | None, as_text: Callable[[float], str] = format_significant
) -> str:
    """Return ``7.80 (7.10 … 8.30)``, ``7.80 *``, or a dash: a cell of a table.

    Args:
        as_text: Formats milliseconds.
    """
    if percentile is None:
        return "—"
    sure = percentile.interval if percentile.mark is None else None
    return level_cell(percentile.value_ms, sure, as_text)


def level_cell(
    value: float, interval: Interval | None, as_text: Callable[[float], str] = format_significant
) -> str:
    """Return a value with its interval in a cell of a table; marked where it has none."""
    if interval is None:
        return f"{as_text(value)} {MARK}"
    return f"{as_text(value)} ({range_text(interval.low, interval.high, 3)})"


def note(cells: Sequence[str]) -> str | None:
    """Return what the mark means, where a cell has it."""
    return MARKED if any(text.endswith(MARK) for text in cells) else None


def highest(summary: Summary, most: float = 100.0) -> Percentile | None:
    """Return the highest percentile up to `most` that may be stated; ``None``: not any."""
    sound = (one for one in summary.percentiles if one.mark is None and one.p <= most)
    return max(sound, key=lambda one: one.p, default=None)


def headline(summaries: Sequence[Summary], p: float) -> str:
    """State the latency of point or more processes: percentile `p`, or the highest that all carry.

    ``p99 latency 7.80 ms (95 % CI 7.10 … 8.30 ms)``; without any, the largest of all n.
    """
    points = sorted(point.p for point in summaries[0].percentiles if point.p <= p)
    rows = [[summary.percentile(each) for summary in summaries] for each in points]
    known = [[point for point in row if point is not None and point.mark is None] for row in rows]
    stated = next((row for row in reversed(known) if len(row) == len(summaries)), None)
    if stated is None:
        most = format_ms(max(point.max_ms for point in summaries))
        return f"largest of {sum(point.n for point in summaries):,} latencies {most}"
    values = [point.value_ms for point in stated]
    text = f"{percentile_name(stated[0].p)} latency"
    if len(stated) == 1:
        return f"{text} {format_ms(values[0])} ({range_or_mark(stated[0])})"
    return f"{text} {range_text(min(values), max(values))} ms in {len(values)} processes"


def not_stated(summary: Summary | None, p: float) -> str:
    """Return ``; p99 not stated: 74 of 459 effective samples needed``; nothing where it is."""
    found = summary.percentile(p) if summary else None
    lack = mark_text(found) if found else None
    return f"; {percentile_name(p)} not stated: {lack}" if lack else ""
