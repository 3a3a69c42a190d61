"""Figures that a tool printed, of runs without samples: for terminal, page and Markdown."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes, format_ms, format_significant
from enginescope.records.samples import ReportedSummary
from enginescope.render.base.phrases import (
    Figure,
    Headline,
    headline,
    metric_title,
    percentile_name,
)

#: Metric -> the short label of its row; others are not among the first figures.
_LABELS = {"gpu_compute": "compute", "enqueue": "enqueue"}
_SHOWN_PERCENTILES = (95, 99)


def printed_note(view: RunView) -> str | None:
    """Say who printed the figures and what they lack; ``None`` where nothing is printed."""
    run = view.run
    if run.printed is None or run.tool is None:
        return None
    return f"printed by {run.tool.tool}; no samples, so no confidence interval"


def printed_rows(view: RunView) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return label and figures: latency, GPU compute, enqueue, throughput, build."""
    run, tool = view.run, view.run.tool
    if tool is None or run.headline is not None:
        return ()
    rows: list[tuple[str, tuple[str, ...]]] = []
    if run.printed is not None:
        label = _LABELS.get(run.printed.metric, "latency")
        rows.append((label, _statistics(run.printed)))
    rows += [(_LABELS[one.metric], _statistics(one)) for one in _others(view)]
    rate = throughput_text(view)
    rows += [("throughput", (rate,))] if rate else []
    built = (
        f"{format_significant(tool.build_s, 4)} s" if tool.build_s is not None else "",
        f"engine {format_bytes(tool.engine_bytes)}" if tool.engine_bytes is not None else "",
    )
    known = tuple(filter(None, built))
    return (*rows, ("build", known)) if known else tuple(rows)


def first_figures(view: RunView) -> Headline:
    """Return `headline`; of a run without samples the printed figures, if there are some."""
    run, tool, figures = view.run, view.run.tool, headline(view)
    if run.printed is None or tool is None:
        return figures
    beside = [_figure(one, None) for one in _others(view)]
    rate = throughput_text(view)
    if rate is not None:
        beside.append(Figure(label="throughput", value=rate, note=f"as {tool.tool} printed it"))
    return Headline(
        main=_figure(run.printed, printed_note(view)), beside=(*beside, *figures.beside)
    )


def throughput_text(view: RunView) -> str | None:
    """Return ``1,234 queries/s``; ``None`` without a rate."""
    rate = view.throughput
    return f"{format_significant(rate.per_s, 4)} {rate.unit}/s" if rate else None


def _others(view: RunView) -> list[ReportedSummary]:
    """Return the printed summaries that stand beside the headline, in the order of `_LABELS`."""
    run = view.run
    stated = {one.metric: one for one in (run.tool.summaries if run.tool else ())}
    found = (stated[metric] for metric in _LABELS if metric in stated)
    return [one for one in found if one is not run.printed]


def _figure(summary: ReportedSummary, note: str | None) -> Figure:
    name, value = _typical(summary)
    label = f"{metric_title(summary.metric)}, {name}"
    return Figure(label=label, value=format_ms(value) if value is not None else "—", note=note)


def _typical(summary: ReportedSummary) -> tuple[str, float | None]:
    if summary.median_ms is None and summary.mean_ms is not None:
        return "mean", summary.mean_ms
    return "median", summary.median_ms


def _statistics(summary: ReportedSummary) -> tuple[str, ...]:
    """Return ``0.0383 ms median``, mean, percentiles, ends, as far as they are printed."""
    name, value = _typical(summary)
    mean = summary.mean_ms if name == "median" else None
    stated = [("mean", mean), ("min", summary.min_ms), ("max", summary.max_ms)]
    high = [(percentile_name(p), one) for p, one in summary.percentiles if p in _SHOWN_PERCENTILES]
    first = f"{format_ms(value)} {name}" if value is not None else "median unknown"
    more = (f"{title} {format_ms(one)}" for title, one in (*high, *stated) if one is not None)
    return (first, *more)
