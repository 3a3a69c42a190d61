"""Google Benchmark's ``--benchmark_out_format=json``: repetitions, each the mean of iterations."""

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.core.errors import FormatError
from enginescope.formats.benchmarks import benchmark_series
from enginescope.formats.lenient_json import Document, whole_number
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Host
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.samples import ReportedSummary

#: Unit -> milliseconds.
_UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


def is_google_benchmark(value: Any) -> bool:
    """Whether JSON values are results of Google Benchmark, with or without their context."""
    entries = value.get("benchmarks") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return False
    is_named = all("name" in entry and "states" not in entry for entry in entries)
    has_times = any(not _TIMES.isdisjoint(entry) for entry in entries)
    return bool(entries) and is_named and (has_times or isinstance(value.get("context"), dict))


_TIMES = frozenset({"real_time", "cpu_time", "real_coefficient"})


def google_results(document: Document, _path: Path) -> tuple[benchmark_series.BenchmarkResult, ...]:
    """Return the benchmarks of a file, repetitions and aggregates of each together."""
    context = document.value.get("context")
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in document.value["benchmarks"]:
        groups.setdefault(str(entry.get("run_name", entry["name"])), []).append(entry)
    stated = context if isinstance(context, dict) else {}
    return benchmark_series.readable_results(
        {name: partial(_result, name, some, stated, document) for name, some in groups.items()},
        document.source,
    )


def _result(
    name: str, entries: Sequence[dict[str, Any]], context: dict[str, Any], document: Document
) -> benchmark_series.BenchmarkResult:
    source = document.source
    errors = [entry for entry in entries if entry.get("error_occurred") or entry.get("skipped")]
    each = [entry for entry in entries if not _is_aggregate(entry) and entry not in errors]
    values = [_time_ms(entry, source) for entry in each]
    summary = _summary(entries, values, source)
    if not errors and not values and summary is None:
        why = "it has no time"
        raise FormatError(source, where=name, why=why, expected="real_time of a run or of a mean")
    messages = (entry.get("error_message") or entry.get("skip_message") for entry in errors)
    cores_logical = whole_number(context.get("num_cpus"))
    return benchmark_series.BenchmarkResult(
        name=name,
        samples=Samples(metric="latency", values_ms=frozen(values)) if len(values) > 1 else None,
        report=ToolReport(
            tool="google-benchmark",
            tool_version=_text(context.get("library_version")),
            command=_text(context.get("executable")),
            passed=False if errors else None,
            options={"Context": {key: str(context[key]) for key in _CONTEXT if key in context}},
            summaries=(summary,) if summary else (),
            messages=tuple(LogMessage(level="error", text=str(text)) for text in messages if text),
        ),
        notices=(*document.notices, *_notices(each, source)),
        host=Host(name=_text(context.get("host_name")), cores_logical=cores_logical),
    )


def _is_aggregate(entry: dict[str, Any]) -> bool:
    """Whether an entry is of several runs: a fitted complexity has no name of its own."""
    return entry.get("run_type") == "aggregate" and bool(
        entry.get("aggregate_name") or "real_time" not in entry
    )


_CONTEXT = ("date", "mhz_per_cpu", "cpu_scaling_enabled", "aslr_enabled", "library_build_type")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _time_ms(entry: dict[str, Any], source: str) -> float:
    unit = entry.get("time_unit", "ns")
    factor = _UNITS.get(unit) if isinstance(unit, str) else None
    value = benchmark_series.milliseconds(entry.get("real_time"), factor or 0.0)
    if factor is None or value is None:
        expected = f"real_time, and time_unit as one of {', '.join(_UNITS)}"
        why, where = "it has no time in a known unit", str(entry["name"])[:80]
        raise FormatError(source, where=where, why=why, expected=expected)
    return value


def _summary(
    entries: Sequence[dict[str, Any]], values: Sequence[float], source: str
) -> ReportedSummary | None:
    stated = {
        entry.get("aggregate_name"): _time_ms(entry, source)
        for entry in entries
        if entry.get("aggregate_name") in ("mean", "median") and "real_time" in entry
    }
    if len(values) == 1:  # of one repetition the file has the mean of its iterations
        stated.setdefault("mean", values[0])
    if not stated:
        return None
    mean_ms, median_ms = stated.get("mean"), stated.get("median")
    return ReportedSummary(metric="latency", mean_ms=mean_ms, median_ms=median_ms)


def _notices(each: Sequence[dict[str, Any]], source: str) -> tuple[Notice, ...]:
    iterations = [whole_number(one.get("iterations")) or 0 for one in each]
    if len(each) < 2:
        text = f"{source} has no repetitions, so its mean is a printed figure without an interval"
    elif max(iterations) > 1:
        mean = f"the mean of up to {max(iterations):,} iterations"
        alone = "its percentiles are not those of single requests"
        text = f"a sample of {source} is a repetition, {mean}: {alone}"
    else:
        return ()
    return (benchmark_series.file_notice(text, source),)


#: Readers need a number; no process measures it.
_CPU_TIME = "not measured: cpu_time repeats real_time"


def google_files(series: Sequence[benchmark_series.ExportedSeries], name: str) -> dict[str, bytes]:
    """Return repetitions, then aggregates, in ns.

    Of several processes each is a repetition, the mean of its samples; of one process each sample
    is a repetition of one iteration.
    """
    context = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "executable": "enginescope",
        "json_schema_version": 1,
        "enginescope": {"cpu_time": _CPU_TIME},
    }
    entries = [entry for family, one in enumerate(series) for entry in _exported(one, family)]
    return {name: msgspec.json.encode({"context": context, "benchmarks": entries})}


def _exported(series: benchmark_series.ExportedSeries, family: int) -> list[dict[str, Any]]:
    if len(series.processes_ms) > 1:
        values = np.array([process.mean() for process in series.processes_ms]) / _UNITS["ns"]
        iterations = [int(process.size) for process in series.processes_ms]
    else:
        values, iterations = series.values_ms / _UNITS["ns"], [1] * series.values_ms.size
    shared = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": series.name,
        "repetitions": int(values.size),
        "threads": 1,
        "time_unit": "ns",
    }

    def entry(name: str, value: float, **more: Any) -> dict[str, Any]:
        return {"name": name, **shared, **more, "real_time": value, "cpu_time": value}

    times = [
        entry(series.name, value, run_type="iteration", repetition_index=at, iterations=count)
        for at, (value, count) in enumerate(zip(values.tolist(), iterations, strict=True))
    ]
    times[0]["enginescope"] = benchmark_series.origin(series)
    aggregates = {"mean": float(values.mean()), "median": float(np.median(values))}
    if values.size > 1:
        aggregates["stddev"] = float(values.std(ddof=1))
    of_time = {"run_type": "aggregate", "aggregate_unit": "time", "iterations": int(values.size)}
    return times + [
        entry(f"{series.name}_{name}", value, aggregate_name=name, **of_time)
        for name, value in aggregates.items()
    ]
