"""The JSON and CSV files of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from enginescope.analysis.layers.layer_table import slowest_first
from enginescope.analysis.runs.provider_work import provider_work
from enginescope.analysis.runs.run_view import RunView, sample_columns
from enginescope.judge.samples import Summary
from enginescope.records.run.telemetry import CHANNELS, GpuTelemetry, held_by
from enginescope.render.base.answer_tables import answer_json
from enginescope.render.base.data_table import csv_bytes, ends_of

if TYPE_CHECKING:
    from enginescope.render.validation.validate_answer import ReportedAnswers


def data_files(
    views: Sequence[RunView], topk: int, answers: Sequence[ReportedAnswers] = ()
) -> dict[str, Callable[[], bytes]]:
    """Return the names of a report's JSON and CSV files, and what makes each."""
    made: dict[str, Callable[[], bytes]] = {
        "report.json": lambda: report_json(views, topk=topk, answers=answers),
        "summary.json": lambda: summary_json(views),
        "summary.csv": lambda: summary_csv(views),
        "latency_series.csv": lambda: latency_series_csv(views),
        "latency_percentiles.csv": lambda: latency_percentiles_csv(views),
        "per_layer_times.csv": lambda: per_layer_times_csv(views),
    }
    if any(view.run.gpu for view in views):
        made["gpu_telemetry.csv"] = lambda: gpu_telemetry_csv(views)
    return made


def report_json(
    views: Sequence[RunView], *, topk: int = 30, answers: Sequence[ReportedAnswers] = ()
) -> bytes:
    """Return everything but the raw arrays, as strict JSON.

    Per run: its record without samples, plan and telemetry; summaries with percentiles, their
    support and intervals; throughput; layer sum; the `topk` slowest layers; time by type and by
    precision; notices. Times in ms, sizes in bytes. `answers` are whole, as ``output_diff.json``.
    """
    compared: dict[str, Any] = {}
    if answers:
        from enginescope.render.validation.validate_answer import answers_data

        compared = {"answers": answers_data(answers)}
    return answer_json(schema=1, runs=[_run_report(view, topk) for view in views], **compared)


def summary_json(views: Sequence[RunView]) -> bytes:
    """Return the figures of every run, as strict JSON: what most scripts want to read."""
    return answer_json(schema=1, runs=list(map(_run_summary, views)))


def _run_report(view: RunView, topk: int) -> dict[str, Any]:
    run = view.run
    left_out = (  # arrays, and what stands elsewhere in the document
        *("samples", "trace", "profile", "plan", "telemetry", "gpu", "notices", "answers"),
        *("preparation", "arenas"),
    )
    names = [name for name in run.__struct_fields__ if name not in left_out]
    return {
        **_run_summary(view),
        "record": {name: msgspec.to_builtins(getattr(run, name)) for name in names},
        "layers_total": len(view.layers),
        "top_layers": slowest_first(view.layers)[:topk],
        "time_by_type": view.time_by_type,
        "time_by_precision": view.time_by_precision,
        "plan_totals": view.plan_totals,
        "samples": [
            {
                "metric": sample.metric,
                "steady_state": len(sample),
                "warm_up": None if sample.warmup_ms is None else int(sample.warmup_ms.size),
            }
            for sample in run.samples
        ],
    }


def _run_summary(view: RunView) -> dict[str, Any]:
    run, found = view.run, view.layer_sum
    return {
        "run": view.id,
        "subject": run.job.subject.name,
        "backend": str(run.job.backend),
        "batch": run.job.workload.batch,
        "origin": run.origin,
        "created": run.created,
        "outcome": run.outcome.kind.value,
        "usability": view.usability,
        "headline": view.latency.metric if view.latency else None,
        "throughput": view.throughput,
        "summaries": view.summaries,
        "reported": run.tool.summaries if run.tool else None,
        "phases": run.phases,
        "peak_memory_bytes": run.peak_memory_bytes,
        "providers": provider_work(run),
        "arenas": run.arenas,
        "preparation": run.preparation,
        "layer_sum": found and {**msgspec.to_builtins(found), "ratio": found.ratio},
        "gpu": gpu_summary(view),
        "notices": view.notices,
    }


_BEFORE = ("metric", "n", "effective_n", "min_ms", "mean_ms", "median_ms")
_AFTER = ("std_ms", "cv_pct", "max_ms")
_FIGURES = (
    *(*_BEFORE, "median_low_ms", "median_high_ms"),
    *(*_AFTER, "throughput_per_s", "throughput_unit"),
)


def summary_csv(views: Sequence[RunView]) -> bytes:
    """Return one row per run and metric; a run without samples has one row without figures."""
    every = [(view, one) for view in views for one in view.summaries or (None,)]
    points = sorted({one.p for _, some in every if some for one in some.percentiles})
    fields = ("_ms", "_low_ms", "_high_ms", "_mark", "_effective_n")
    names = (f"p{p:g}{field}" for p in points for field in fields)
    about = ("run", "subject", "backend", "batch", "origin", "outcome", "created")
    rows = ([*_about(view), *_figures(view, one), *_at(one, points)] for view, one in every)
    return csv_bytes((*about, *_FIGURES, *names), rows)


def latency_series_csv(views: Sequence[RunView]) -> bytes:
    """Return every sample: ``run, metric, i, start_ms, value_ms, phase``; warm-up included."""
    text = [csv_bytes(("run", "metric", "i", "start_ms", "value_ms", "phase"), ()).decode()]
    for view in views:
        columns = sample_columns(view.run)
        # the texts of a row are those of thousands
        begins = {
            metric: csv_bytes((), [(view.id, metric)]).decode().strip("\n")
            for metric in dict.fromkeys(columns["metric"])
        }
        text += [
            f"{begins[metric]},{i},{'' if start is None else start},{value},{phase}\n"
            for metric, i, start, value, phase in zip(*columns.values(), strict=True)
        ]
    return "".join(text).encode()


def latency_percentiles_csv(views: Sequence[RunView]) -> bytes:
    """Return the headline's percentile curve; ``mark``: why one has no interval."""
    rows = (
        (
            *(view.id, view.latency.metric, one.p, one.value_ms, *ends_of(one.interval)),
            *(one.effective_n, one.needed_n, one.mark and one.mark.value),
        )
        for view in views
        if view.latency is not None
        for one in view.percentile_curve
    )
    figures = ("p", "value_ms", "low_ms", "high_ms", "effective_n", "needed_n", "mark")
    return csv_bytes(("run", "metric", *figures), rows)


def per_layer_times_csv(views: Sequence[RunView]) -> bytes:
    """Return every layer, the slowest first within a run; layers without a time last."""
    names = (
        *("index", "name", "type", "subtype", "precision", "provider"),
        *("time_ms", "raw_ms", "share_pct", "is_container", "tactic"),
    )
    rows = (
        (view.id, *(getattr(row, name) for name in names), ";".join(row.onnx_nodes))
        for view in views
        for row in slowest_first(view.layers)
    )
    return csv_bytes(("run", *names, "onnx_nodes"), rows)


def _about(view: RunView) -> list[Any]:
    run, job = view.run, view.run.job
    about = (view.id, job.subject.name, str(job.backend), job.workload.batch)
    return [*about, run.origin, run.outcome.kind.value, run.created]


def _figures(view: RunView, summary: Summary | None) -> list[Any]:
    if summary is None:
        return [None] * len(_FIGURES)
    is_headline = view.latency is not None and view.latency.metric == summary.metric
    rate = view.throughput if is_headline else None
    return [
        *(getattr(summary, name) for name in _BEFORE),
        *ends_of(summary.median_interval),
        *(getattr(summary, name) for name in _AFTER),
        *((rate.per_s, rate.unit) if rate else (None, None)),
    ]


def _at(summary: Summary | None, points: Sequence[float]) -> list[Any]:
    cells: list[Any] = []
    for one in (summary.percentile(p) if summary else None for p in points):
        if one is None:
            cells += [None] * 5
        else:
            mark = one.mark and one.mark.value
            cells += [one.value_ms, *ends_of(one.interval), mark, one.effective_n]
    return cells


def gpu_telemetry_csv(views: Sequence[RunView]) -> bytes:
    """Return a row for each sample: ``run, source, span, time_ms`` and every channel.

    ``source`` is ``pass`` or ``timed_loop``, ``span`` the stretch that the sample fell into. What
    was not reported is empty.
    """
    headers = ("run", "source", "span", "time_ms", *CHANNELS)
    rows = (row for view in views if view.run.gpu for row in _rows(view.id, view.run.gpu))
    return csv_bytes(headers, rows)


def gpu_summary(view: RunView) -> dict[str, Any] | None:
    """Return the GPU's part of a run's figures; ``None`` without one."""
    gpu = view.run.gpu
    if gpu is None:
        return None
    clock, series = view.sm_clock, gpu.series
    return {
        "device": gpu.gpu,
        "sm_clock": clock and {**msgspec.to_builtins(clock), "drop_pct": clock.drop_pct},
        "cycles": view.cycles,
        "energy": view.energy,
        "thermal": view.thermal_state,
        "throttled_by": [
            {"name": h.reason.name, "share_pct": h.share_pct} for h in held_by(gpu.timed)
        ],
        "other_processes": gpu.others,
        "spans": gpu.spans,
        "requests": gpu.requests,
        "interval_ms": gpu.interval_ms,
        "channels": series and {one.name: _channel_summary(one.values) for one in series.channels},
    }


def _rows(run: str, gpu: GpuTelemetry) -> Iterator[tuple[Any, ...]]:
    for source, series in (("timed_loop", gpu.timed), ("pass", gpu.series)):
        if series is None:
            continue
        columns = [series.channel(name) for name in CHANNELS]
        for at, time_ms in enumerate(series.time_ms.tolist()):
            values = (np.nan if column is None else float(column[at]) for column in columns)
            cells = (value if np.isfinite(value) else None for value in values)
            spans = (one.kind for one in gpu.spans if one.from_ms <= time_ms <= one.to_ms)
            yield (run, source, next(spans, None), time_ms, *cells)


def _channel_summary(values: Any) -> dict[str, float | int]:
    known = values[np.isfinite(values)]
    return {
        "least": float(known.min()),
        "mean": float(known.mean()),
        "greatest": float(known.max()),
        "missing": int(values.size - known.size),
    }
