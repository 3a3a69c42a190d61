"""perf_analyzer's ``-f`` (CSV, a row a load) and ``--profile-export-file`` (JSON, every request).

Neither states a unit: times of the CSV are microseconds, stamps of the JSON nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.readers import ForeignFile
from enginescope.formats.lenient_json import Document, decode_text, read_json, whole_number
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.build import ToolReport
from enginescope_readers.results import (
    about,
    assumed,
    holds,
    is_json,
    name_of,
    noting,
    reading,
    texts,
    unusable,
)
from enginescope_readers.summaries import summary_of
from enginescope_readers.tables import milliseconds, number, tables_in

_EXPECTED = "perf_analyzer's CSV or its profile export"
_RATE = "Inferences/Second"
_LATENCY = " latency"
_AVERAGE = "Avg latency"
#: What a run of perf_analyzer holds constant.
_LOADS = ("Concurrency", "Request Rate")


def fits(file: ForeignFile) -> bool:
    """Whether a file is of perf_analyzer."""
    return holds(file, _is_file)


def read(file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    """Return a result for each load.

    Raises:
        FormatError: It has no time of a request.
    """
    with reading(file, _EXPECTED):
        data = file.content()
        results = (
            _of_json(read_json(data, file.name), file) if is_json(data) else _of_csv(data, file)
        )
    if not results:
        raise FormatError(file.path.name, why="it has no time of a request", expected=_EXPECTED)
    return results


def _is_file(text: str) -> bool:
    if text[:1] == "{":
        return '"experiments"' in text and '"response_timestamps"' in text
    return any(_is_heading(line.split(",")) for line in text.splitlines()[:50])


def _is_heading(cells: Sequence[str]) -> bool:
    return _RATE in cells and any(cell.endswith(_LATENCY) for cell in cells)


def _of_csv(data: bytes, file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    text, notices = decode_text(data, file.name)
    tables, others = tables_in(text, _is_heading)
    rows = [result for table in tables for row in table.records() if (result := _of_row(row, file))]
    lost = others + sum(len(table.rows) + table.damaged for table in tables) - len(rows)
    told = (*notices, *unusable(lost, "row", file, "they have no latency, or cells are missing"))
    return tuple(noting(row, told) for row in rows)


def _of_row(row: Mapping[str, str], file: ForeignFile) -> BenchmarkResult | None:
    """Return the statistics of one load; ``None`` where none can be read."""
    stated = {name.removesuffix(_LATENCY): cell for name, cell in row.items()}
    summary = summary_of("latency", {**stated, "avg": row.get(_AVERAGE)}, "us")
    if summary is None:
        return None
    rate = number(row[_RATE])
    load = next((name for name in _LOADS if row.get(name)), None)
    text = (
        f"perf_analyzer printed the figures of {file.name}: times of requests to a server; its "
        f"{_RATE} counts each item of a batch"
    )
    return BenchmarkResult(
        name=_named(file, load, row.get(load or "")),
        report=ToolReport(
            tool="perf_analyzer",
            summaries=(summary,),
            throughput_per_s=None if rate is None else float(rate),
            options={"Columns": texts(row)},
        ),
        notices=(assumed("us", "perf_analyzer", file), about(text, file)),
    )


def _named(file: ForeignFile, load: str | None, value: Any) -> str:
    return f"{name_of(file)} {load.lower()} {value}" if load else name_of(file)


def _of_json(document: Document, file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    root = document.value
    version = root.get("version")
    stated = texts({key: root.get(key) for key in ("service_kind", "endpoint")})
    report = ToolReport(
        tool="perf_analyzer",
        tool_version=version if isinstance(version, str) else None,
        options={"Profile export": stated} if stated else {},
    )
    each = (_of_experiment(experiment, report, file) for experiment in root["experiments"])
    return tuple(noting(result, document.notices) for some in each for result in some)


def _of_experiment(
    experiment: Mapping[str, Any], report: ToolReport, file: ForeignFile
) -> Iterator[BenchmarkResult]:
    requests = experiment["requests"]
    spans = sorted(span for request in requests if (span := _span(request)))
    if not spans:
        return
    first = spans[0][0]
    held = experiment.get("experiment") or {}
    load = held["mode"].replace("_", " ") if isinstance(held.get("mode"), str) else None
    text = (
        f"a sample of {file.name} is a request from its start to its last response, whether or "
        "not perf_analyzer took the window as steady; requests may overlap"
    )
    lost = unusable(len(requests) - len(spans), "request", file, "they have no response")
    yield BenchmarkResult(
        name=_named(file, load, held.get("value")),
        samples=Samples(
            metric="latency",
            values_ms=frozen([milliseconds(end - start, "ns") for start, end in spans]),
            start_ms=frozen([milliseconds(start - first, "ns") for start, _ in spans]),
        ),
        report=report,
        notices=(*lost, assumed("ns", "perf_analyzer", file), about(text, file)),
    )


def _span(request: Any) -> tuple[int, int] | None:
    """Return start and last response of a request in ns; ``None`` without a response."""
    if not isinstance(request, dict):
        return None
    start = whole_number(request.get("timestamp"))
    ends = [whole_number(end) for end in request.get("response_timestamps") or ()]
    known = [end for end in ends if end is not None]
    return (start, max(known)) if start is not None and known else None
