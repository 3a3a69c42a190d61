"""The CSV files of a report, each a pure function of the runs it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope.analysis.layers.layer_table import slowest_first
from enginescope.analysis.runs.run_columns import sample_columns
from enginescope.analysis.runs.run_view import RunView
from enginescope.records.samples import Percentile, Summary
from enginescope.render.base.csv_text import csv_bytes


def _names(text: str) -> list[str]:
    return text.split()


_SUMMARY = _names(
    "run subject backend batch origin outcome created metric n effective_n min_ms mean_ms "
    "median_ms median_low_ms median_high_ms std_ms cv_pct max_ms throughput_per_s throughput_unit"
)
_PERCENTILE = "{0}_ms {0}_low_ms {0}_high_ms {0}_is_supported {0}_effective_n"
_LAYER = _names(
    "index name type subtype precision provider mean_ms median_ms total_ms share_pct is_container "
    "tactic"
)


def summary_csv(views: Sequence[RunView]) -> bytes:
    """Return one row per run and metric; a run without samples has one row without figures."""
    points = sorted(
        {
            percentile.p
            for view in views
            for some in view.summaries
            for percentile in some.percentiles
        }
    )
    names = [_PERCENTILE.format(f"p{p:g}").split() for p in points]
    headers = [*_SUMMARY, *(name for columns in names for name in columns)]
    rows = (
        [*_about(view), *_figures(view, one), *_at(one, points)]
        for view in views
        for one in view.summaries or (None,)
    )
    return csv_bytes(headers, rows)


def latency_series_csv(views: Sequence[RunView]) -> bytes:
    """Return every sample: ``run, metric, i, start_ms, value_ms, phase``; warm-up included."""
    rows = (
        (view.id, *row)
        for view in views
        for row in zip(*sample_columns(view.run).values(), strict=True)
    )
    return csv_bytes(("run", "metric", "i", "start_ms", "value_ms", "phase"), rows)


def latency_percentiles_csv(views: Sequence[RunView]) -> bytes:
    """Return the headline's percentile curve; ``is_supported``: the samples can carry it."""
    rows = (
        (
            view.id,
            view.latency.metric,
            one.p,
            one.value_ms,
            one.effective_n,
            one.needed_n,
            one.is_supported,
        )
        for view in views
        if view.latency is not None
        for one in view.percentile_curve
    )
    headers = ("run", "metric", "p", "value_ms", "effective_n", "needed_n", "is_supported")
    return csv_bytes(headers, rows)


def per_layer_times_csv(views: Sequence[RunView]) -> bytes:
    """Return every layer, the slowest first within a run; layers without a time last."""
    rows = (
        (view.id, *(getattr(row, name) for name in _LAYER), ";".join(row.onnx_nodes))
        for view in views
        for row in slowest_first(view.layers)
    )
    return csv_bytes(("run", *_LAYER, "onnx_nodes"), rows)


def _about(view: RunView) -> list[Any]:
    run, job = view.run, view.run.job
    about = (view.id, job.subject.name, str(job.backend), job.workload.batch)
    return [*about, run.origin, run.outcome.kind.value, run.created]


def _figures(view: RunView, summary: Summary | None) -> list[Any]:
    if summary is None:
        return [None] * (len(_SUMMARY) - len(_about(view)))
    interval = summary.median_interval
    is_headline = view.latency is not None and view.latency.metric == summary.metric
    rate = view.throughput if is_headline else None
    return [
        summary.metric,
        summary.n,
        summary.effective_n,
        summary.min_ms,
        summary.mean_ms,
        summary.median_ms,
        interval.low if interval else None,
        interval.high if interval else None,
        summary.std_ms,
        summary.cv_pct,
        summary.max_ms,
        rate.per_s if rate else None,
        rate.unit if rate else None,
    ]


def _at(summary: Summary | None, points: Sequence[float]) -> list[Any]:
    found = [summary.percentile(p) if summary else None for p in points]
    return [cell for one in found for cell in _percentile(one)]


def _percentile(one: Percentile | None) -> tuple[Any, ...]:
    if one is None:
        return (None,) * 5
    interval = one.interval
    low_high = (interval.low, interval.high) if interval else (None, None)
    return (one.value_ms, *low_high, one.is_supported, one.effective_n)
