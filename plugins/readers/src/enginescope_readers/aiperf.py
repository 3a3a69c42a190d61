"""AIPerf's and GenAI-Perf's exports: statistics as CSV and JSON, and AIPerf's record a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.record import Record, replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.readers import ForeignFile
from enginescope.formats.lenient_json import Document, decode_text, read_json, whole_number
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.units import counted
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope_readers.results import (
    about,
    holds,
    is_json,
    name_of,
    noting,
    reading,
    skipped,
    texts,
    unusable,
)
from enginescope_readers.summaries import summary_of
from enginescope_readers.tables import (
    Table,
    heading,
    milliseconds,
    name_and_unit,
    number,
    tables_in,
)

_EXPECTED = "an export of AIPerf or GenAI-Perf"
#: A metric of an export -> ours. AIPerf's time between tokens is the mean of a request's tokens.
_METRICS = {
    "request_latency": "latency",
    "time_to_first_token": "time_to_first_token",
    "ttft": "time_to_first_token",
    "inter_token_latency": "time_per_token",
}
_RATE = "request_throughput"
_RATE_UNITS = ("requests/sec", "per sec")
_TOOLS = ("aiperf", "genai-perf")
#: Beginning of a record, in the releases so far.
_RECORD = '{"metadata":{"'


class _Metric(Record, frozen=True, kw_only=True):
    """One metric of an export.

    Attributes:
        key: ``request_latency``.
        title: As the file names it.
        stated: Its statistics as the file has them.
    """

    key: str
    title: str
    unit: str | None
    stated: dict[str, Any]


def fits(file: ForeignFile) -> bool:
    """Whether a file is an export of AIPerf or GenAI-Perf."""
    return holds(file, _is_export)


def read(file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    """Return the result of a file.

    Raises:
        FormatError: It states no time of a request.
    """
    with reading(file, _EXPECTED):
        data = file.content()
        if not is_json(data):
            return (_of_csv(data, file),)
        if _is_records(data[:4096].decode("utf-8", "replace")):
            return (_of_records(data, file),)
        return (_of_json(read_json(data, file.name), file),)


def _is_export(text: str) -> bool:
    if text[:1] == "{":
        return _is_records(text) or ('"request_latency"' in text and '"unit"' in text)
    return any(_is_statistics(line.split(",")) for line in text.splitlines()[:200])


def _is_records(text: str) -> bool:
    """Whether a text begins with the record of a request."""
    first = text.lstrip().partition("\n")[0].replace(" ", "")
    return first.startswith(_RECORD) and '"metrics":{' in first


def _is_statistics(cells: Sequence[str]) -> bool:
    return len(cells) > 2 and cells[0] == "Metric" and "avg" in cells


def _is_table(cells: Sequence[str]) -> bool:
    return _is_statistics(cells) or tuple(cells) == ("Metric", "Value")


def _of_csv(data: bytes, file: ForeignFile) -> BenchmarkResult:
    """Return the result of the first statistics, and of the single figures below them.

    Further tables are of GPUs, or of slices of the time.
    """
    text, notices = decode_text(data, file.name)
    tables, others = tables_in(text, _is_table)
    starts = [at for at, table in enumerate(tables) if _is_statistics(table.headings)]
    end = starts[1] if len(starts) > 1 else len(tables)
    used, rest = tables[:end], tables[end:]
    others += sum(len(table.rows) for table in rest)
    result = _result(
        [metric for table in used for metric in _rows(table)],
        ToolReport(tool=_tool(None, is_genai=_is_falling(tables[starts[0]]))),
        file,
    )
    damaged = unusable(sum(table.damaged for table in used), "row", file, "cells are missing")
    apart = skipped(others, "row", file, "they are of GPUs, or of slices of the time")
    return noting(result, (*notices, *damaged, *apart))


def _rows(table: Table) -> Iterator[_Metric]:
    for record in table.records():
        title, unit = name_and_unit(record.pop("Metric"))
        stated = {"avg" if name == "Value" else name: cell for name, cell in record.items()}
        yield _Metric(key=title.lower().replace(" ", "_"), title=title, unit=unit, stated=stated)


def _is_falling(table: Table) -> bool:
    """Whether the highest percentile stands first, as in GenAI-Perf's files alone."""
    names = [name for name in table.headings if name[:1] == "p" and name[1:].isdigit()]
    return names.index("p99") < names.index("p50") if {"p50", "p99"} <= set(names) else False


def _of_json(document: Document, file: ForeignFile) -> BenchmarkResult:
    root = document.value
    records = root.get("records")
    metrics = [
        _Metric(
            key=key,
            title=str(value.get("header") or key),
            unit=value["unit"],
            stated={name: cell for name, cell in value.items() if number(cell) is not None},
        )
        for key, value in (records if isinstance(records, dict) else root).items()
        if isinstance(value, dict) and isinstance(value.get("unit"), str)
    ]
    command, version = _command(root), root.get("aiperf_version")
    report = ToolReport(
        tool=_tool(command, is_genai=version is None and records is None),
        tool_version=version if isinstance(version, str) else None,
        command=command,
        messages=tuple(_messages(root)),
    )
    config = root.get("input_config")
    model = _model(config) if isinstance(config, dict) else None
    return noting(_result(metrics, report, file, model), document.notices)


def _result(
    metrics: Sequence[_Metric], report: ToolReport, file: ForeignFile, model: str | None = None
) -> BenchmarkResult:
    known = (metric for metric in metrics if metric.key in _METRICS)
    summaries = (summary_of(_METRICS[one.key], one.stated, one.unit) for one in known)
    rates = (
        one.stated.get("avg") for one in metrics if one.key == _RATE and one.unit in _RATE_UNITS
    )
    rate = number(next(rates, None))
    report = replace(
        report,
        summaries=tuple(summary for summary in summaries if summary is not None),
        throughput_per_s=None if rate is None else float(rate),
        options={heading(metric.title, metric.unit): texts(metric.stated) for metric in metrics},
    )
    if not report.summaries:
        raise FormatError(file.path.name, why="it states no time of a request", expected=_EXPECTED)
    text = (
        f"{report.tool} printed the figures of {file.name}: times of requests to a server, which "
        "may overlap, as its client saw them"
    )
    return BenchmarkResult(name=model or name_of(file), report=report, notices=(about(text, file),))


def _of_records(data: bytes, file: ForeignFile) -> BenchmarkResult:
    """Return the latency of each request that succeeded, in the order of their starts."""
    lines = [line for line in data.splitlines() if line.strip()]
    records = [record for record in map(_record, lines) if record is not None]
    measured = [record for record in records if not _is_warmup(record)]
    failed = [record["error"] for record in measured if record.get("error")]
    spans = sorted(
        span for record in measured if not record.get("error") and (span := _span(record))
    )
    if not spans:
        raise FormatError(file.path.name, why="no request of it has a latency", expected=_EXPECTED)
    first = spans[0][0]
    lost = len(lines) - len(records) + len(measured) - len(failed) - len(spans)
    text = (
        f"a sample of {file.name} is the time of one request to a server, as its client saw it; "
        "requests may overlap"
    )
    failures = Counter(map(_failure, failed))
    return BenchmarkResult(
        name=name_of(file),
        samples=Samples(
            metric="latency",
            values_ms=frozen([latency for _, latency in spans]),
            start_ms=frozen([milliseconds(start - first, "ns") for start, _ in spans]),
        ),
        report=ToolReport(
            tool="aiperf",
            messages=tuple(_ended(count, failure) for failure, count in failures.items()),
        ),
        notices=(
            *unusable(lost, "request", file, "they have no latency"),
            *skipped(len(records) - len(measured), "request", file, "they are of the warm-up"),
            about(text, file, requests=len(spans), failed=len(failed)),
        ),
    )


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record in a line; ``None`` if it is damaged."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    parts = [record.get(key) for key in ("metadata", "metrics")] if isinstance(record, dict) else []
    return record if parts and all(isinstance(part, dict) for part in parts) else None


def _is_warmup(record: Mapping[str, Any]) -> bool:
    metadata = record["metadata"]
    phase = metadata.get("benchmark_phase", metadata.get("credit_phase"))
    return bool(phase == "warmup")


def _span(record: Mapping[str, Any]) -> tuple[int, float] | None:
    """Return start in ns and latency in ms of a request; ``None`` where either is unknown."""
    metadata, metric = record["metadata"], record["metrics"].get("request_latency")
    start = whole_number(metadata.get("request_start_ns", metadata.get("timestamp_ns")))
    is_known = isinstance(metric, dict)
    latency = milliseconds(metric.get("value"), metric.get("unit")) if is_known else None
    return None if start is None or latency is None else (start, latency)


def _failure(error: Any) -> str:
    parts = (error.get("type"), error.get("message")) if isinstance(error, dict) else (error,)
    return ": ".join(str(part) for part in parts if part)


def _ended(count: Any, failure: str) -> LogMessage:
    requests = counted(count, "request") if isinstance(count, int) else "requests"
    return LogMessage(level="warning", text=f"{requests} ended with {failure}")


def _messages(root: Mapping[str, Any]) -> Iterator[LogMessage]:
    for error in root.get("error_summary") or ():
        if isinstance(error, dict):
            yield _ended(error.get("count"), _failure(error.get("error_details")))
    if root.get("was_cancelled") is True:
        yield LogMessage(level="warning", text="the benchmark was cancelled")


def _tool(command: str | None, *, is_genai: bool) -> str:
    """Return the tool's name: from its command line, else from the form of its file."""
    first = command.split(maxsplit=1)[0] if command else ""
    return first if first in _TOOLS else _TOOLS[is_genai]


def _command(root: Mapping[str, Any]) -> str | None:
    for part in (root.get("run_info"), root.get("input_config")):
        command = part.get("cli_command") if isinstance(part, dict) else None
        if isinstance(command, str) and command.strip():
            return command
    return None


def _model(config: Mapping[str, Any]) -> str | None:
    """Return the models' names: of AIPerf in both layouts of its configuration, or GenAI-Perf."""
    endpoint, models = config.get("endpoint"), config.get("models")
    names = config.get("model_names")
    if isinstance(endpoint, dict) and "model_names" in endpoint:
        names = endpoint["model_names"]
    if isinstance(models, dict):
        names = [item.get("name") for item in models.get("items") or () if isinstance(item, dict)]
    found = [name for name in names or () if isinstance(name, str)]
    return ", ".join(found) or None
