"""A suite as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.analysis.suites.suite_perf_tables import printed_gains
from enginescope.core.units import format_significant
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.figures import Figures
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.suites.suite import suite_charts
from enginescope.render.suites.suite_phrases import (
    backend_names,
    baseline_sentence,
    cell_text,
    counts_sentence,
    coverage_text,
    matrix,
    options_sentence,
    processes_sentence,
    reason_text,
    status_text,
    took_sentence,
    weakness_sentence,
)

#: A larger table is not carried by the page: it lies beside it.
_CARRIED_BYTES = 2 << 20
#: Failures listed above all cells.
_FAILURES = 100
_FIGURES = (
    ("latency", "median, ms", 4),
    ("latency_low", "95 % CI from, ms", 4),
    ("latency_high", "to, ms", 4),
    ("device_latency", "without copies, ms", 4),
    ("copies", "copies, ms", 4),
    ("p99", "p99, ms", 4),
    ("throughput", "throughput, /s", 1),
    ("load", "load, ms", 1),
    ("first_inference", "first inference, ms", 2),
    ("max_abs_error", "largest error", 6),
)
#: … of a figure too small for its decimals.
_DIGITS = 3


_EXPLAINED = (options_sentence, baseline_sentence, processes_sentence, weakness_sentence)


def suite_page(result: SuiteResult, table: bytes) -> bytes:
    """Return the page over a suite, done or not yet.

    Args:
        table: ``results.csv``, which the page carries where it is not too long.
    """
    charts = suite_charts(result)
    cells = _cells(result)
    files = {"results.csv": table.decode()} if len(table) <= _CARRIED_BYTES else {}
    tables = {f"table-{cells.key}": {**cells.packed(), "prefix": ""}} if cells else {}
    return page_bytes(
        "suite.html.j2",
        PageData(charts=charts_data(charts), tables=tables, files=files),
        title=result.name,
        answer=f"{result.name} · {counts_sentence(result)}",
        facts=_facts(result),
        explained=[text for say in _EXPLAINED if (text := say(result))],
        notices=result.notices,
        heat=charts[0],
        charts=charts[1:],
        matrix=_matrix(result),
        failures=_failures(result),
        gains=_gains(result),
        cells=cells,
        left_out=[] if files else ["The table is long: see results.csv next to this page."],
    )


def _several(values: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def _versions(result: SuiteResult) -> list[tuple[str, str]]:
    """Return the versions of each Python that cells ran in, by what backends call it."""
    environments = dict.fromkeys(one.cell.environment for one in result.rows)
    shown = ("onnxruntime", "tensorrt", "enginescope", *(("python",) if any(environments) else ()))
    return [
        (
            f"versions @{environment}" if environment else "versions",
            _several(
                f"{name} {row.versions[name]}"
                for row in result.rows
                if row.cell.environment == environment
                for name in row.versions
                if name.startswith(shown)
            ),
        )
        for environment in environments
    ]


def _facts(result: SuiteResult) -> list[tuple[str, str]]:
    rows, count = result.rows, result.plan.suite.processes
    ended = max((row.ended for row in rows), default="")
    facts = [
        ("machine", _several(row.host for row in rows)),
        ("processor", _several(row.cpu for row in rows)),
        ("GPU", _several(row.gpu for row in rows)),
        *_versions(result),
        ("mode", result.plan.suite.mode),
        ("inputs", _several(cell.input for cell in result.plan.cells)),
        ("processes", f"{count:,} a cell" if count > 1 else ""),
        ("time", took_sentence(result) or ""),
        ("last cell", ended.replace("T", " ").removesuffix("+00:00") + " UTC" if ended else ""),
        ("command", result.plan.command or ""),
    ]
    return [(name, value) for name, value in facts if value]


def _matrix(result: SuiteResult) -> Figures:
    return Figures(
        caption="Median latency, speed-up over the baseline, or how the cell ended",
        headers=("model", *backend_names(result).values()),
        rows=tuple((one.name, *map(cell_text, one.cells)) for one in matrix(result)),
    )


def _failures(result: SuiteResult) -> Figures | None:
    rows = tuple(
        (row.cell.label, status_text(row.status), row.ended[:10], reason_text(row))
        for row in result.rows
        if row.status is not CellStatus.OK
    )
    if not rows:
        return None
    caption = "Cells that did not end well; enginescope suite --retry-failed runs them again"
    if len(rows) > _FAILURES:
        caption += f"; {_FAILURES} of {len(rows):,}, the others are among all cells below"
    return Figures(
        caption=caption,
        headers=("cell", "status", "since", "why"),
        rows=rows[:_FAILURES],
        sentences=(3,),
    )


def _gains(result: SuiteResult) -> Figures | None:
    rows = tuple(
        (name, gain, f"{format_significant(pct)} %") for name, gain, pct in printed_gains(result)
    )
    if not rows:
        return None
    return Figures(
        caption="As ONNX Runtime's scripts counted them: (b − a) ÷ b of two means, no interval",
        headers=("model", "gain", "percent"),
        rows=rows,
        numbers=(2,),
    )


def _cells(result: SuiteResult) -> DataTable | None:
    rows = result.rows
    if not rows:
        return None
    cells = [row.cell for row in rows]
    several = any(row.runs for row in rows)
    columns = [
        column("model", [cell.model for cell in cells]),
        column("backend", [cell.spec for cell in cells], is_choice=True),
        column("batch, shapes", [cell.case or None for cell in cells]),
        column("status", [status_text(row.status) for row in rows], is_choice=True),
        *(
            column(title, [row.figure(name) for row in rows], places, digits=_DIGITS)
            for name, title, places in _FIGURES
        ),
        column("peak host memory, MiB", [_mebibytes(row, "peak_memory") for row in rows], 0),
        column("device memory, MiB", [_mebibytes(row, "device_memory") for row in rows], 0),
        column("which provider took what", [_coverage(row) for row in rows]),
        column("input", [cell.input for cell in cells]),
        *([column("processes", [len(row.run_ids) or None for row in rows], 0)] if several else []),
        column("run", [row.run[:8] if row.run else None for row in rows]),
        column("why", [row.reason for row in rows]),
        column("weakened by", [" ".join(row.warnings) or None for row in rows]),
    ]
    return data_table("cells", "All cells that have ended", ("cell", "cells"), columns)


def _coverage(row: CellRow) -> str | None:
    """Return who took what, but for the CPU's provider where there is no other."""
    return coverage_text(row) if row.cell.job.backend.name != "ort-cpu" else None


def _mebibytes(row: CellRow, metric: str) -> float | None:
    value = row.figure(metric)
    return value / 2**20 if value is not None else None
