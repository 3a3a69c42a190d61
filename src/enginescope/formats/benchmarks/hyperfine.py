"""hyperfine's ``--export-json``: whole commands, times in seconds."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import encode
from enginescope.formats.benchmarks import benchmark_series
from enginescope.formats.lenient_json import Document
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.build import LogMessage, ToolReport

_MS = 1e3


def is_hyperfine(value: Any) -> bool:
    """Whether JSON values are results of hyperfine."""
    results = value.get("results") if isinstance(value, dict) else None
    return bool(results) and isinstance(results, list) and all(map(_is_result, results))


def _is_result(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("command"), str)
        and ("times" in value or {"mean", "min", "max"} <= value.keys())
    )


def hyperfine_results(
    document: Document, _path: Path
) -> tuple[benchmark_series.BenchmarkResult, ...]:
    """Return the commands of a file."""
    readers = {
        f"{result['command']} ({at})" if at else result["command"]: partial(
            _result, result, document
        )
        for at, result in enumerate(document.value["results"])
    }
    return benchmark_series.readable_results(readers, document.source)


def _result(result: dict[str, Any], document: Document) -> benchmark_series.BenchmarkResult:
    source = document.source
    times = [benchmark_series.milliseconds(value, _MS) for value in result.get("times") or ()]
    known = [value for value in times if value is not None]
    summary = benchmark_series.reported("latency", result, _MS)
    if len(known) < len(times) or (not known and summary.mean_ms is None):
        why = f"no times of {result['command']}"
        raise FormatError(source, why=why, expected="hyperfine's JSON")
    text = f"hyperfine timed whole commands in {source}: the start of each process counts"
    whole = benchmark_series.file_notice(text, source)
    parameters = result.get("parameters")
    stated = parameters if isinstance(parameters, dict) else {}
    return benchmark_series.BenchmarkResult(
        name=result["command"],
        samples=Samples(metric="latency", values_ms=frozen(known)) if known else None,
        report=ToolReport(
            tool="hyperfine",
            command=result["command"],
            options={"Parameters": {str(key): str(value) for key, value in stated.items()}},
            summaries=(summary,),
            messages=_failures(result.get("exit_codes")),
        ),
        # of requests, which `runs export` wrote, there is nothing to say
        notices=document.notices if "enginescope" in result else (*document.notices, whole),
    )


def _failures(codes: Any) -> tuple[LogMessage, ...]:
    if not isinstance(codes, list):
        return ()
    return tuple(
        LogMessage(level="warning", text=f"{count} of {len(codes)} runs ended with {code}")
        for code, count in Counter(str(code) for code in codes if code != 0).items()
    )


def hyperfine_files(
    series: Sequence[benchmark_series.ExportedSeries], name: str
) -> dict[str, bytes]:
    """Return a result for each series, times in seconds; what is not known is left out."""
    return {name: encode({"results": [_exported(one) for one in series]})}


def _exported(series: benchmark_series.ExportedSeries) -> dict[str, Any]:
    seconds = series.values_ms / _MS
    parameters = {"backend": series.backend}
    if series.batch is not None:
        parameters["batch"] = str(series.batch)
    return {
        "command": series.name,
        "mean": float(seconds.mean()),
        "stddev": float(seconds.std(ddof=1)) if seconds.size > 1 else None,
        "median": float(np.median(seconds)),
        "min": float(seconds.min()),
        "max": float(seconds.max()),
        "times": seconds.tolist(),
        "parameters": parameters,
        "enginescope": benchmark_series.origin(series),
    }
