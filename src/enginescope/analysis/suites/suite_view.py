"""A suite that was run: rows, gains, and the tables of ONNX Runtime's TensorRT scripts.

Deleted with the scripts in 2026; dashboards that read them still want files of this form. What
those columns mean, and where the figures are better founded here: ``docs/reference/suites.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from enginescope.analysis.frames import Frames
from enginescope.analysis.suites.suite_table import case_of, precision_of, speed_ups, tidy_columns
from enginescope.core.record import Record, Result
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, SuiteResult

if TYPE_CHECKING:
    from enginescope.judge.notice import Notice


#: Backend and precision -> the name those scripts knew it by.
_LABELS = {
    ("ort-cpu", None): "ORT-CPUFp32",
    ("ort-cuda", None): "ORT-CUDAFp32",
    ("ort-trt", None): "ORT-TRTFp32",
    ("trt", None): "TRTFp32",
    ("trtexec", None): "TRTFp32",
    ("ort-cuda", "fp16"): "ORT-CUDAFp16",
    ("ort-trt", "fp16"): "ORT-TRTFp16",
    ("trt", "fp16"): "TRTFp16",
    ("trtexec", "fp16"): "TRTFp16",
}
#: In the order of their columns.
_PROVIDERS = tuple(dict.fromkeys(_LABELS.values()))
#: Column of a gain -> the backends whose mean latencies it is of: of the first over the second.
_GAINS = {
    "TRT v CUDA EP fp32 \ngain (mean) (%)": ("ORT-TRTFp32", "ORT-CUDAFp32"),
    "EP v Standalone TRT fp32 \ngain (mean) (%)": ("ORT-TRTFp32", "TRTFp32"),
    "TRT v CUDA EP fp16 \ngain (mean) (%)": ("ORT-TRTFp16", "ORT-CUDAFp16"),
    "EP v Standalone TRT fp16 \ngain (mean) (%)": ("ORT-TRTFp16", "TRTFp16"),
}
_TRT, _CUDA = "TensorrtExecutionProvider", "CUDAExecutionProvider"
_SUCCESS = (
    *("engine", "version", "device", "fp16", "io_binding", "graph_optimizations", "enable_cache"),
    *("model_name", "inputs", "batch_size", "sequence_length", "datetime", "test_times", "QPS"),
    *("average_latency_ms", "latency_variance"),
    *("latency_90_percentile", "latency_95_percentile", "latency_99_percentile"),
)
_METRICS = (
    *("Model", "% CUDA operators (not fall back to CPU)", "Total TRT operators"),
    *("Total operators", "% TRT operator"),
    *("Total TRT execution time", "Total execution time", "% TRT execution time"),
)


class PerfTable(Record, frozen=True, kw_only=True):
    """One of the tables; `name` stands in its file's name."""

    name: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def provider_label(cell: Cell) -> str:
    """Return what those scripts called a backend; where they had no name, as it is typed."""
    backend = cell.job.backend
    return _LABELS.get((backend.name, backend.precision), cell.spec)


def case_name(row: CellRow) -> str:
    """Return the model's name, with batch and shape where they were asked for."""
    model, case = case_of(row.cell)
    return f"{model} · {case}" if case else model


def by_case(rows: Sequence[CellRow]) -> dict[str, dict[str, CellRow]]:
    """Return the rows by model (with batch and shape) and by provider, in order."""
    found: dict[str, dict[str, CellRow]] = {}
    named = _names(rows)
    for row in rows:
        found.setdefault(case_name(row), {})[named(row.cell)] = row
    return found


def _names(rows: Iterable[CellRow]) -> Callable[[Cell], str]:
    """Return what names the backend of each cell, alike in all tables and models.

    A name of those scripts is of one backend as it is typed: of one that can run the provider, in
    this Python, with the fewest options. The others are called as they are typed.
    """
    variants: dict[str, dict[str, CellRow]] = {}
    able: set[str] = set()
    for row in rows:
        variants.setdefault(provider_label(row.cell), {}).setdefault(row.cell.spec, row)
        able |= {row.cell.spec} if row.status is not CellStatus.UNSUPPORTED else set()

    def ease(row: CellRow) -> tuple[bool, bool, int]:
        cell = row.cell
        return cell.spec not in able, cell.environment is not None, len(cell.job.backend.options)

    homes = {label: min(rows.values(), key=ease).cell.spec for label, rows in variants.items()}

    def named(cell: Cell) -> str:
        label = provider_label(cell)
        return label if homes.get(label) == cell.spec else cell.spec

    return named


def perf_tables(result: SuiteResult) -> tuple[PerfTable, ...]:
    """Return fail, success, latency, metrics, status, session and system_info."""
    cases = by_case(result.rows)
    names = dict.fromkeys(name for own in cases.values() for name in own)
    more = [name for name in names if name not in _PROVIDERS]
    providers = (*_PROVIDERS, *more)
    # of the sessions those scripts timed ONNX Runtime's alone
    sessions = [name for name in providers if name.startswith("ORT") or name in more]
    named = _names(result.rows)
    timed = [row for row in result.rows if row.figure("mean") is not None]
    success = tuple(_success_row(row, named(row.cell)) for row in timed)
    return (
        _fail(result.rows),
        PerfTable(name="success", headers=_SUCCESS, rows=success),
        _latency(cases, providers),
        _metrics(cases),
        _status(cases, providers),
        _session(cases, sessions),
        _system_info(result.rows),
    )


def _fail(rows: Sequence[CellRow]) -> PerfTable:
    made, named = [], _names(rows)
    for row in rows:
        if row.status is not CellStatus.OK:
            is_wrong = row.status is CellStatus.WRONG
            error = "result accuracy issue" if is_wrong else "runtime error"
            word = row.status.value.replace("_", " ")
            message = f"{word}: {row.reason}" if row.reason else word
            made.append((case_name(row), named(row.cell), error, message))
    headers = ("model", "ep", "error type", "error message")
    return PerfTable(name="fail", headers=headers, rows=tuple(made))


def _success_row(row: CellRow, label: str) -> tuple[Any, ...]:
    backend, mean, sd = row.cell.job.backend, row.figure("mean"), row.figure("sd")
    batch = row.cell.job.workload.batch or 1
    is_ours = backend.name.startswith("ort")
    name = "tensorrt" if backend.name in ("trt", "trtexec") else backend.name
    engine = "onnxruntime" if is_ours else name
    packages = (row.versions[package] for package in row.versions if package.startswith(engine))
    return (
        engine,
        _onnxruntime(row) if is_ours else next(packages, None),
        label,
        precision_of(row) == "fp16",
        backend.options.get("io_binding"),
        backend.options.get("graph_optimization_level"),
        backend.options.get("trt_engine_cache_enable"),
        case_name(row),
        _count(row.figure("inputs")),
        batch,
        None,
        row.ended,
        _count(row.figure("samples")),
        1e3 * batch / mean if mean else None,
        mean,
        # of seconds, times 1,000: as they had it
        1e3 * (sd / 1e3) ** 2 if sd is not None else None,
        row.figure("p90"),
        row.figure("p95"),
        row.figure("p99"),
    )


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)


def _latency(cases: dict[str, dict[str, CellRow]], providers: Sequence[str]) -> PerfTable:
    headers = ["Model"]
    for provider in providers:
        headers += [f"{provider} \nmean (ms)", f"{provider} \n90th percentile (ms)"]
        headers += [f"{provider} \npeak memory usage (MiB)"] if provider != _PROVIDERS[0] else []
    made = []
    for name, own in cases.items():
        cells: list[Any] = [name]
        for provider in providers:
            row = own.get(provider)
            cells += [row.figure("mean"), row.figure("p90")] if row else [None, None]
            if provider != _PROVIDERS[0]:
                memory = row.figure("device_memory") if row else None
                cells.append(memory / 2**20 if memory is not None else None)
        means = {provider: row.figure("mean") for provider, row in own.items()}
        pairs = ((means.get(first), means.get(second)) for first, second in _GAINS.values())
        gains = (100 * (b - a) / b if a is not None and b else None for a, b in pairs)
        made.append((*cells, *gains))
    return PerfTable(name="latency", headers=(*headers, *_GAINS), rows=tuple(made))


def _metrics(cases: dict[str, dict[str, CellRow]]) -> PerfTable:
    made = []
    for name, own in cases.items():
        for precision, shown in (("Fp32", name), ("Fp16", f"{name} (FP16)")):
            trt, cuda = own.get(f"ORT-TRT{precision}"), own.get(f"ORT-CUDA{precision}")
            if any(one is not None and one.providers for one in (trt, cuda)):
                made.append((shown, *_shares(trt, cuda)))
    return PerfTable(name="metrics", headers=_METRICS, rows=tuple(made))


def _shares(trt: CellRow | None, cuda: CellRow | None) -> tuple[Any, ...]:
    """Return shares as those scripts had them: 0…1, and times in µs."""
    on_cuda, of_cuda = _nodes(cuda, _CUDA), _nodes(cuda)
    by_trt, of_trt = _nodes(trt, _TRT), _nodes(trt)
    trt_us, all_us = _time_us(trt, _TRT), _time_us(trt)
    return (
        on_cuda / of_cuda if on_cuda is not None and of_cuda else None,
        by_trt,
        of_trt,
        by_trt / of_trt if by_trt is not None and of_trt else None,
        trt_us,
        all_us,
        trt_us / all_us if trt_us is not None and all_us else None,
    )


def _nodes(row: CellRow | None, provider: str | None = None) -> int | None:
    if row is None or not any(one.nodes for one in row.providers):
        return None
    return sum(one.nodes or 0 for one in row.providers if provider in (None, one.provider))


def _time_us(row: CellRow | None, provider: str | None = None) -> float | None:
    if row is None or all(one.time_ms is None for one in row.providers):
        return None
    rows = (one for one in row.providers if provider in (None, one.provider))
    return sum(1e3 * (one.time_ms or 0.0) for one in rows)


def _status(cases: dict[str, dict[str, CellRow]], providers: Sequence[str]) -> PerfTable:
    made = []
    for name, own in cases.items():
        words = {key: "Pass" if row.status is CellStatus.OK else "Fail" for key, row in own.items()}
        made.append((name, *(words.get(provider) for provider in providers)))
    return PerfTable(name="status", headers=("Model", *providers), rows=tuple(made))


def _session(cases: dict[str, dict[str, CellRow]], providers: Sequence[str]) -> PerfTable:
    """Return the creation times: cold, and with caches where a cold one was timed too."""
    headers = [f"{provider} \nsession creation time (s)" for provider in providers]
    headers += [f"{provider} \nsecond session creation time (s)" for provider in providers]
    made = []
    for name, own in cases.items():
        rows = [own.get(provider) for provider in providers]
        first = [_seconds(row, "cold_load", "load") for row in rows]
        cold = [row if row and row.figure("cold_load") is not None else None for row in rows]
        made.append((name, *first, *(_seconds(row, "load") for row in cold)))
    return PerfTable(name="session", headers=("Model", *headers), rows=tuple(made))


def _seconds(row: CellRow | None, *metrics: str) -> float | None:
    """Return the first of the figures that there is, in seconds."""
    known = (row.figure(metric) for metric in metrics) if row else ()
    value = next((one for one in known if one is not None), None)
    return value / 1e3 if value is not None else None


def _system_info(rows: Sequence[CellRow]) -> PerfTable:
    versions = dict.fromkeys(one for row in rows for one in row.versions.items())
    optioned = (row for row in rows if row.cell.job.backend.options)
    found = {
        "CPU": [one for name, one in versions if name == "cpu"],
        "GPU": [one for name, one in versions if name.startswith("gpu")],
        "TensorRT": [f"{name} {one}" for name, one in versions if name.startswith("tensorrt")],
        "CUDA": [one for name, one in versions if name == "cuda-bindings"],
        "CuDNN": [],
        "ONNX Runtime": dict.fromkeys(filter(None, map(_onnxruntime, rows))),
        "EPOptionOverrides": dict.fromkeys(row.cell.spec for row in optioned),
    }
    texts = ((name, "; ".join(several) or None) for name, several in found.items())
    numbered = tuple((number, *row) for number, row in enumerate(texts))
    return PerfTable(name="system_info", headers=(".", "Spec", "Version"), rows=numbered)


def _onnxruntime(row: CellRow) -> str | None:
    return row.versions.get("onnxruntime-gpu") or row.versions.get("onnxruntime")


class SuiteView(Frames, Result):
    """A suite with the rows of its cells."""

    def __init__(self, result: SuiteResult) -> None:
        self.result = result

    def _summary(self) -> str:
        return f"{self.result.name}: {len(self.rows)} rows"

    @property
    def rows(self) -> tuple[CellRow, ...]:
        """The row of each cell that ended, in the suite's order."""
        return self.result.rows

    @property
    def failed(self) -> tuple[CellRow, ...]:
        """Rows that are not ``ok``, each with its reason."""
        return tuple(row for row in self.rows if row.status is not CellStatus.OK)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Lines of the suite's files that cannot be read."""
        return self.result.notices

    @cached_property
    def speed_ups(self) -> dict[str, float]:
        """How many times as fast as their baseline cells are, by their keys."""
        return speed_ups(self.result)

    @cached_property
    def perf_tables(self) -> dict[str, PerfTable]:
        """The tables of ONNX Runtime's scripts: fail, success, latency, metrics, status, …"""
        return {table.name: table for table in perf_tables(self.result)}

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as columns, a row for each cell and metric."""
        return tidy_columns(self.result)
