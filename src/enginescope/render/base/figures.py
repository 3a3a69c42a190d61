"""Tables of figures, formatted for reading."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import varying_conditions
from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.records.samples import Interval
from enginescope.render.base.facts import backend_text
from enginescope.render.base.phrases import (
    metric_title,
    outcome_text,
    percentile_name,
    percentile_samples,
    range_text,
    support_text,
)
from enginescope.render.base.shared_options import told_apart

UNKNOWN = "—"


class Figures(Record, frozen=True, kw_only=True):
    """A table of text.

    Attributes:
        headers: With units.
        numbers: Columns set flush right, from 0.
        sentences: Columns whose cells are sentences, and are broken into lines.
        anchors: Per row, where its first cell leads; empty for tables without links.
    """

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    sentences: tuple[int, ...] = ()
    anchors: tuple[str, ...] = ()


class TextTable(Record, frozen=True, kw_only=True):
    """A table for the terminal, Markdown and pages.

    Attributes:
        rows: As many cells each as there are headers; the last column holds the longest names.
        numbers: Headers of columns set flush right.
        whole: Headers of columns that the terminal never breaks.
        note: A line below: what was left out, what a figure is.
        left_out: Rows that only the files have.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    note: str | None = None
    left_out: int = 0

    def figures(self, caption: str | None = None) -> Figures:
        """Return the table as a page sets it, by default under its title and note."""
        return Figures(
            caption=caption or "; ".join(part for part in (self.title, self.note) if part),
            headers=self.headers,
            rows=self.rows,
            numbers=tuple(at for at, name in enumerate(self.headers) if name in self.numbers),
        )


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number for reading, or a dash."""
    return UNKNOWN if value is None else format_significant(value, digits)


def interval_cell(interval: Interval | None) -> str:
    """Return ``4.201 … 4.236``, or a word for none."""
    return range_text(interval.low, interval.high) if interval else "none"


def summary_rows(view: RunView) -> Figures:
    """Return the statistics of every metric, one row each."""
    headers = ("Metric", "n", "Effective n", "Min ms", "Mean ms", "Median ms", "95 % CI ms")
    rows = tuple(
        (
            metric_title(summary.metric),
            f"{summary.n:,}",
            f"{int(summary.effective_n):,}",
            figure(summary.min_ms),
            figure(summary.mean_ms),
            figure(summary.median_ms),
            interval_cell(summary.median_interval),
            figure(summary.std_ms, 3),
            figure(summary.cv_pct, 3),
            figure(summary.max_ms),
        )
        for summary in view.summaries
    )
    return Figures(
        caption="Every metric of the run; SD and CV are of all samples",
        headers=(*headers, "SD ms", "CV %", "Max ms"),
        rows=rows,
        numbers=tuple(range(1, 10)),
    )


def percentile_rows(view: RunView) -> Figures:
    """Return the percentiles of every metric, whether the samples carry them beside them."""
    rows = tuple(
        (
            metric_title(summary.metric),
            percentile_name(percentile.p),
            figure(percentile.value_ms),
            interval_cell(percentile.interval),
            *percentile_samples(percentile),
            support_text(percentile) or "enough",
        )
        for summary in view.summaries
        for percentile in summary.percentiles
    )
    return Figures(
        caption="Percentiles by nearest rank, with whether the samples can carry them",
        headers=(
            *("Metric", "Percentile", "Value ms", "95 % CI ms"),
            *("n", "Effective n", "Needed n", "Samples"),
        ),
        rows=rows,
        numbers=(2, 3, 4, 5, 6),
    )


def reported_rows(view: RunView) -> Figures | None:
    """Return what the tool printed of itself beside what its samples give; ``None`` without."""
    tool = view.run.tool
    if tool is None or not tool.summaries:
        return None
    rows = []
    for summary in tool.summaries:
        ours = view.summary(summary.metric)
        pairs: list[tuple[str, float | None, float | None]] = [
            ("min", summary.min_ms, ours.min_ms if ours else None),
            ("mean", summary.mean_ms, ours.mean_ms if ours else None),
            ("median", summary.median_ms, ours.median_ms if ours else None),
            ("max", summary.max_ms, ours.max_ms if ours else None),
        ]
        for p, value_ms in summary.percentiles:
            mine = ours.percentile(p) if ours else None
            pairs.append((percentile_name(p), value_ms, mine.value_ms if mine else None))
        rows += [
            (metric_title(summary.metric), name, figure(theirs, 6), figure(mine_ms, 6))
            for name, theirs, mine_ms in pairs
            if theirs is not None
        ]
    return Figures(
        caption=f"What {tool.tool} printed, and the same computed from the samples",
        headers=("Metric", "Figure", f"{tool.tool} printed, ms", "From the samples, ms"),
        rows=tuple(rows),
        numbers=(2, 3),
    )


def overview_rows(views: Sequence[RunView], anchors: tuple[str, ...]) -> Figures:
    """Return one row per run; its first cell leads to the run's place in the page."""
    apart = told_apart([backend_text(view.run.job.backend) for view in views])
    varying = varying_conditions([view.run for view in views])
    rows = []
    for at, (view, backend) in enumerate(zip(views, apart.labels, strict=True)):
        job, latency = view.run.job, view.latency
        p99 = latency.percentile(99) if latency else None
        weak = "" if p99 is None or p99.is_supported else " *"
        rows.append(
            (
                view.id[:8],
                job.subject.name,
                backend,
                UNKNOWN if job.workload.batch is None else str(job.workload.batch),
                format_ms(latency.median_ms) if latency else UNKNOWN,
                interval_cell(latency.median_interval) if latency else UNKNOWN,
                f"{format_ms(p99.value_ms)}{weak}" if p99 else UNKNOWN,
                f"{latency.n:,}" if latency else UNKNOWN,
                outcome_text(view.run.outcome),
                *(values[at] or UNKNOWN for values in varying.values()),
            )
        )
    return Figures(
        caption="All runs of this report; * too few samples to state it"
        + (f"; conditions differ: {', '.join(varying)}" if varying else "")
        + (f"; {apart.shared}" if apart.shared else ""),
        headers=(
            "Run",
            "Subject",
            "Backend",
            "Batch",
            "Median",
            "95 % CI ms",
            "p99",
            "n",
            "Outcome",
            *(f"{title[:1].upper()}{title[1:]}" for title in varying),
        ),
        rows=tuple(rows),
        numbers=(3, 4, 5, 6, 7),
        anchors=anchors,
    )
