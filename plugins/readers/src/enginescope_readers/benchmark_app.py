"""benchmark_app's reports (``-report_type``, ``-report_folder``): results, and times of layers.

OpenVINO has it in Python and in C++, each with CSV and, by ``-json_stats``, JSON.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.readers import ForeignFile
from enginescope.formats.lenient_json import decode_text, read_json
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.samples import ReportedSummary
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
from enginescope_readers.tables import exact_milliseconds, milliseconds, number, tables_in

_EXPECTED = "a report of benchmark_app"
_TOOL = "benchmark_app"
#: Title of a section in CSV -> its key in JSON.
_SECTIONS = {
    "Command line parameters": "cmd_options",
    "Configuration setup": "configuration_setup",
    "Execution results": "execution_results",
}
_RESULTS, _SETUP = "Execution results", "Configuration setup"
_TITLES = (*_SECTIONS, "Group Latencies")
#: Keys of figures: Python's, of C++ in CSV, of C++ in JSON. All are in ms.
_FIGURES = {
    "mean_ms": ("avg latency", "Average latency (ms)", "latency_avg"),
    "min_ms": ("min latency", "Min latency (ms)", "latency_min"),
    "max_ms": ("max latency", "Max latency (ms)", "latency_max"),
}
#: Of the percentile that was asked for, the median by default.
_MEDIANS = ("latency (ms)", "Median latency (ms)", "latency_median")
_PERCENTILE = re.compile(r"latency \((\d+) percentile\) \(ms\)")
_BOUNDARIES = ("Percentile boundary", "percentile_boundary")
_THROUGHPUT = "throughput"
_BATCH = ("batch size", "batch_size")
_MODEL = "topology"
_ERROR = "error"
#: Column of layers in CSV -> key in JSON.
_COLUMNS = {
    "layerName": "name",
    "execStatus": "status",
    "layerType": "node_type",
    "execType": "exec_type",
    "cpuTime": "cpu_time",
}
_LISTS = ("detailed_performance", "avg_performance")


class _Layer(Record, frozen=True, kw_only=True):
    """A layer of one infer request.

    Attributes:
        stated: Its other columns as printed.
    """

    name: str
    kind: str
    real_ms: Decimal | None
    has_run: bool
    stated: dict[str, str]


def fits(file: ForeignFile) -> bool:
    """Whether a file is a report of benchmark_app."""
    return holds(file, _is_report)


def read(file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    """Return the result of a report.

    Raises:
        FormatError: It has neither a latency nor times of layers.
    """
    with reading(file, _EXPECTED):
        data = file.content()
        return (_of_json(data, file) if is_json(data) else _of_csv(data, file),)


def _is_report(text: str) -> bool:
    if text[:1] == "{":
        keys = ('"execution_results"', *(f'"{name}"' for name in _LISTS))
        return any(key in text for key in keys) and ("_time" in text or "throughput" in text)
    first = text.partition("\n")[0].strip()
    return first.removesuffix(";") in _SECTIONS or _is_layer_line(first)


def _is_layer_line(line: str) -> bool:
    return line.startswith(("layerName;execStatus;", "layerName,execStatus,"))


def _is_layers(cells: Sequence[str]) -> bool:
    return tuple(cells[:2]) == ("layerName", "execStatus")


def _of_csv(data: bytes, file: ForeignFile) -> BenchmarkResult:
    text, notices = decode_text(data, file.name)
    if not _is_layer_line(text.lstrip().partition("\n")[0]):
        return noting(_of_sections(_sections(text), file), notices)
    separator = text.lstrip()[len("layerName")]
    tables, others = tables_in(text, _is_layers, separator)
    passes = [
        [
            _layer(record, _COLUMNS, record["realTime"], table.units["realTime"])
            for record in table.records()
        ]
        for table in tables
    ]
    damaged = sum(table.damaged for table in tables) + others
    lost = unusable(damaged, "row", file, "cells are missing")
    return noting(_of_passes(passes, file), (*notices, *lost))


def _sections(text: str) -> dict[str, dict[str, str]]:
    """Return the values of each section by their names; a value may hold separators."""
    sections: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.partition(";")
        title = line.strip().removesuffix(";")
        if title in _TITLES:
            values = sections.setdefault(title, {})
        elif separator:
            values.setdefault(name.strip(), value.strip().removesuffix(";"))
    return sections


def _of_json(data: bytes, file: ForeignFile) -> BenchmarkResult:
    document = read_json(data, file.name)
    root = document.value
    found = [root[name] for name in _LISTS if name in root]
    if not found:
        sections = {
            title: texts(root[key])
            for title, key in _SECTIONS.items()
            if isinstance(root.get(key), dict)
        }
        return noting(_of_sections(sections, file), document.notices)
    requests = found[0] if isinstance(found[0], list) else [found[0]]
    keys = {key: key for key in _COLUMNS.values()}
    passes = [
        [_layer(node, keys, node.get("real_time"), "ms") for node in request["nodes"]]
        for request in requests
    ]
    return noting(_of_passes(passes, file), document.notices)


def _of_sections(sections: Mapping[str, Mapping[str, str]], file: ForeignFile) -> BenchmarkResult:
    results = sections.get(_RESULTS, {})
    setup = sections.get(_SETUP, {})
    error = results.get(_ERROR)
    summary = _summary(results)
    if summary is None and error is None:
        raise FormatError(file.path.name, why="it states no latency", expected=_EXPECTED)
    text = (
        f"benchmark_app printed the figures of {file.name}: times of infer requests, which overlap "
        "where it ran several at a time"
    )
    return BenchmarkResult(
        name=setup.get(_MODEL) or name_of(file),
        report=ToolReport(
            tool=_TOOL,
            passed=None if error is None else False,
            options={title: dict(values) for title, values in sections.items()},
            summaries=(summary,) if summary else (),
            throughput_per_s=_queries_per_s(results, setup),
            messages=(LogMessage(level="error", text=error),) if error else (),
        ),
        notices=(about(text, file),),
    )


def _summary(results: Mapping[str, str]) -> ReportedSummary | None:
    """Return the statistics of latency; ``None`` if there are none."""
    figures = {name: _first(results, keys) for name, keys in _FIGURES.items()}
    median_ms = _first(results, _MEDIANS)
    percentiles = [(int(match[1]), key) for key in results if (match := _PERCENTILE.fullmatch(key))]
    boundary = next((results[key] for key in _BOUNDARIES if key in results), "50")
    if boundary != "50" and not percentiles:  # C++ has it under the median's key in JSON
        percentiles = [(int(boundary), key) for key in _MEDIANS if key in results]
        median_ms = None
    times = [(float(p), milliseconds(results[key], "ms")) for p, key in percentiles]
    known = tuple((p, time) for p, time in times if time is not None)
    summary = ReportedSummary(metric="latency", median_ms=median_ms, percentiles=known, **figures)
    return summary if any(value is not None for value in summary.figures.values()) else None


def _first(results: Mapping[str, str], keys: Sequence[str]) -> float | None:
    return next((milliseconds(results[key], "ms") for key in keys if key in results), None)


def _queries_per_s(results: Mapping[str, str], setup: Mapping[str, str]) -> float | None:
    """Return requests per second: benchmark_app counts each item of a batch."""
    items = number(results.get(_THROUGHPUT))
    batch = number(next((setup[key] for key in _BATCH if key in setup), None))
    return float(items / batch) if items is not None and batch else None


def _layer(
    record: Mapping[str, Any], columns: Mapping[str, str], real: Any, unit: str | None
) -> _Layer:
    stated = {key: str(record.get(column) or "") for column, key in columns.items()}
    return _Layer(
        name=stated.pop("name"),
        kind=stated.pop("node_type"),
        real_ms=exact_milliseconds(real, unit),
        has_run=stated.pop("status").rpartition(".")[2] == "EXECUTED",
        stated=stated,
    )


def _of_passes(passes: Sequence[Sequence[_Layer]], file: ForeignFile) -> BenchmarkResult:
    """Return the mean time of each layer over the infer requests that the report has."""
    layers = [one for some in passes for one in _numbered(some)]
    ran = [(key, layer) for key, layer in layers if layer.has_run]
    times: dict[tuple[str, int], list[Decimal]] = defaultdict(list)
    for key, layer in ran:
        if layer.real_ms is not None:
            times[key].append(layer.real_ms)
    if not times:
        hint = "benchmark_app -json_stats writes means of the first layer alone; use its CSV"
        why = "no layer of it ran"
        raise FormatError(file.path.name, why=why, hint=hint if len(layers) == 1 else None)
    first = dict(reversed(ran))
    is_single = len(passes) == 1
    text = f"{file.name} has times of layers as OpenVINO reports them, in whole microseconds: " + (
        "one figure a layer" if is_single else f"means of {len(passes):,} infer requests"
    )
    return BenchmarkResult(
        name=name_of(file),
        report=ToolReport(
            tool=_TOOL,
            options={key[0]: texts(first[key].stated) for key in times} if is_single else {},
        ),
        profile=Profile(
            source="openvino",
            iterations=None if is_single else len(passes),
            layers=tuple(
                LayerTiming(
                    index=index,
                    name=key[0],
                    kind=first[key].kind or None,
                    mean_ms=float(sum(some) / len(passes)),
                    total_ms=None if is_single else float(sum(some)),
                )
                for index, (key, some) in enumerate(times.items())
            ),
        ),
        notices=(
            *unusable(len(ran) - sum(map(len, times.values())), "layer", file, "they have no time"),
            *skipped(
                len({key for key, _ in layers} - first.keys()),
                "layer",
                file,
                "benchmark_app says that they did not run",
            ),
            about(text, file),
        ),
    )


def _numbered(layers: Sequence[_Layer]) -> Iterator[tuple[tuple[str, int], _Layer]]:
    """Yield each layer of a request with its name and its number among those of that name."""
    seen: Counter[str] = Counter()
    for layer in layers:
        if layer.name == "Total" and not layer.kind:
            continue
        seen[layer.name] += 1
        yield (layer.name, seen[layer.name]), layer
