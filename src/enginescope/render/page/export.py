"""The JSON files of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.layers.layer_table import slowest_first
from enginescope.analysis.runs.provider_work import provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.jsonio import encode
from enginescope.records.run.run import Run
from enginescope.records.samples import Percentile, Summary
from enginescope.render.page.export_csv import gpu_summary
from enginescope.render.validation.report_answers import ReportedAnswers, answers_data

#: Version of both documents' shape.
REPORT_SCHEMA = 1
_HEAVY = ("samples", "trace", "profile", "plan", "telemetry", "gpu", "notices", "answers")
_ELSEWHERE = ("preparation", "arenas")


def report_json(
    views: Sequence[RunView], *, topk: int = 30, answers: Sequence[ReportedAnswers] = ()
) -> bytes:
    """Return everything but the raw arrays, as strict JSON.

    Per run: its record without samples, plan and telemetry; summaries with percentiles, their
    support and intervals; throughput; layer sum; the `topk` slowest layers; time by type and by
    precision; notices. Times in ms, sizes in bytes. `answers` are whole, as ``output_diff.json``.
    """
    document = _document([_run_report(view, topk) for view in views])
    return encode({**document, "answers": answers_data(answers)} if answers else document)


def summary_json(views: Sequence[RunView]) -> bytes:
    """Return the figures of every run, as strict JSON: what most scripts want to read."""
    return encode(_document([_run_summary(view) for view in views]))


def _document(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema": REPORT_SCHEMA, "enginescope": __version__, "runs": runs}


def _run_report(view: RunView, topk: int) -> dict[str, Any]:
    run = view.run
    return {
        **_run_summary(view),
        "record": _record(run),
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
        "headline": view.latency.metric if view.latency else None,
        "throughput": view.throughput,
        "summaries": [_summary(summary) for summary in view.summaries],
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


def _record(run: Run) -> dict[str, Any]:
    """Return the run's fields that hold no arrays and stand nowhere else in the document."""
    names = [name for name in run.__struct_fields__ if name not in (*_HEAVY, *_ELSEWHERE)]
    return {name: msgspec.to_builtins(getattr(run, name)) for name in names}


def _summary(summary: Summary) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(summary)
    made["percentiles"] = [_percentile(percentile) for percentile in summary.percentiles]
    return made


def _percentile(one: Percentile) -> dict[str, Any]:
    return {**msgspec.to_builtins(one), "is_supported": one.is_supported}
