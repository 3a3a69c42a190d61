"""What may be stated of a run: its percentiles, and whether its figures can be used."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval, Mark, Percentile, Summary
from enginescope.judge.stats.describe import needed_samples
from enginescope.judge.stats.stability import WIDE_PCT
from enginescope.judge.units import format_ms, format_significant, range_text
from enginescope.records.notice import NOT_FP16, is_unstable

#: Stands behind a percentile in a table, with `MARKED` below the table.
MARK = "*"
MARKED = f"{MARK} too few samples to state it with an interval"
#: Percentiles beside a median.
SHOWN = (95.0, 99.0)
_AsText: TypeAlias = Callable[[float], str]


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
    why = {
        Mark.SLOW: "the samples change too slowly",
        Mark.EXTREMES: "it would reach beyond the samples",
        Mark.EQUAL: "the samples around it are equal",
    }
    return f"no interval: {why[percentile.mark]}"


def range_or_mark(percentile: Percentile) -> str:
    """Return ``95 % CI 7.1 … 8.3 ms``, or what the samples lack."""
    ends = percentile.interval
    text = f"95 % CI {range_text(ends.low, ends.high)} ms" if ends else ""
    return mark_text(percentile) or text


def value_text(percentile: Percentile, digits: int = 4) -> str:
    """Return ``p99 7.800 ms (95 % CI 7.104 … 8.302 ms)``, or the mark in place of the interval."""
    name = percentile_name(percentile.p)
    return f"{name} {format_ms(percentile.value_ms, digits)} ({range_or_mark(percentile)})"


def shown_texts(summary: Summary) -> tuple[str, ...]:
    """Return `value_text` of the percentiles that stand beside a median."""
    return tuple(value_text(one) for one in summary.percentiles if one.p in SHOWN)


def cell(percentile: Percentile | None, as_text: _AsText = format_significant) -> str:
    """Return ``7.80 (7.10 … 8.30)``, ``7.80 *``, or a dash: a cell of a table.

    Args:
        as_text: Formats milliseconds.
    """
    if percentile is None:
        return "—"
    sure = percentile.interval if percentile.mark is None else None
    return level_cell(percentile.value_ms, sure, as_text)


def level_cell(
    value: float, interval: Interval | None, as_text: _AsText = format_significant
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


#: Beyond this ± percentage of the median, a run is too rough for differences of a few percent.
ROUGH_PCT = 1.0
#: A mean of so many medians, or a standard deviation of this share of the mean, and the median
#: does not stand for the requests.
ROUGH_MEAN, ROUGH_CV_PCT = 1.1, 50.0
#: Most of the time is then spent in requests that the median does not tell of.
UNUSABLE_MEAN = 2.0


class Harm(Record, frozen=True, kw_only=True):
    """One reason against a run.

    Attributes:
        message: Begun small and without a full stop.
        code: Of the notice that says the same; ``None``: no notice does.
        is_fatal: Whether it makes the figures worthless.
    """

    message: str
    code: str | None = None
    is_fatal: bool = False


class Usability(Record, frozen=True, kw_only=True):
    """What a run says of itself.

    Attributes:
        harms: The worst first; none of a usable run.
    """

    verdict: Literal["usable", "rough", "not usable"]
    harms: tuple[Harm, ...] = ()

    def __str__(self) -> str:
        """Return the verdict, its worst reason, by its code if it has one, and how many others."""
        if not self.harms:
            return self.verdict
        worst, others = self.harms[0], len(self.harms) - 1
        more = f"; and {others} more" if others else ""
        return f"{self.verdict}: {worst.code or worst.message}{more}"


def usability(latency: Summary, notices: Sequence[Notice]) -> Usability:
    """Judge a run by its headline and its notices.

    What makes figures worthless comes first: another precision than asked for, a busy machine, a
    median that is not known, a median that does not stand for the requests. Then warnings,
    in the order of the notices.
    """
    harms = sorted((*_of_figures(latency), *_of_notices(notices)), key=lambda one: not one.is_fatal)
    if not harms:
        return Usability(verdict="usable")
    return Usability(verdict="not usable" if harms[0].is_fatal else "rough", harms=tuple(harms))


def _of_figures(latency: Summary) -> Iterator[Harm]:
    interval = latency.median_interval
    half_pct = interval.half_width_pct if interval else None
    if half_pct is None and latency.std_ms != 0:
        yield Harm(message="the samples cannot tell how well the median is known", is_fatal=True)
    elif half_pct is not None and ROUGH_PCT < half_pct <= WIDE_PCT:
        yield Harm(message=f"the median is known to ±{format_significant(half_pct, 2)} %")
    if latency.median_ms <= 0:
        return
    medians, cv_pct = latency.mean_ms / latency.median_ms, latency.cv_pct or 0.0
    if medians > ROUGH_MEAN or cv_pct > ROUGH_CV_PCT:
        mean = f"the mean is {format_significant(medians, 2)} × the median"
        spread = f"the standard deviation is {format_significant(cv_pct, 2)} % of the mean"
        why = mean if medians > ROUGH_MEAN else spread
        message = f"the median does not stand for single latencies: {why}"
        yield Harm(message=message, is_fatal=medians > UNUSABLE_MEAN)


def _of_notices(notices: Sequence[Notice]) -> Iterator[Harm]:
    # a figure of something else; a median of which nothing is known
    fatal = (NOT_FP16, "W-NOT-CONVERGED")
    for notice in notices:
        if notice.level == "warning":
            is_fatal = notice.code in fatal or is_unstable(notice)
            yield Harm(message=notice.message, code=notice.code, is_fatal=is_fatal)
