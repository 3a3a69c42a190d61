"""A suite as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from enginescope.analysis.suites.suite_perf_tables import printed_gains
from enginescope.analysis.suites.suite_table import case_of
from enginescope.analysis.suites.suite_wins import wins
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.figures import Figures
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes, scripts, style
from enginescope.render.suites.suite import suite_charts
from enginescope.render.suites.suite_answer import suite_answer
from enginescope.render.suites.suite_matrix import cell_anchors, matrix_table
from enginescope.render.suites.suite_pareto import pareto_charts
from enginescope.render.suites.suite_phrases import (
    baseline_sentence,
    counts_sentence,
    coverage_text,
    failure_groups,
    options_sentence,
    processes_sentence,
    reason_text,
    single_process_sentence,
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
    ("time_to_first_token", "first token, ms", 4),
    ("time_per_token", "per token, ms", 4),
    ("p99", "p99, ms", 4),
    ("p99_low", "p99: 95 % CI from, ms", 4),
    ("p99_high", "p99: to, ms", 4),
    ("throughput", "throughput, /s", 1),
    ("load", "load, ms", 1),
    ("first_inference", "first inference, ms", 2),
    ("max_abs_error", "largest error", 6),
)
#: … of a figure too small for its decimals.
_DIGITS = 3


_EXPLAINED = (
    options_sentence,
    baseline_sentence,
    processes_sentence,
    single_process_sentence,
    weakness_sentence,
)


def suite_page(
    result: SuiteResult,
    table: bytes,
    *,
    runs: Mapping[str, str] | None = None,
    script_address: str | None = None,
) -> bytes:
    """Return the page over a suite, done or not yet.

    Args:
        table: ``results.csv``, which the page carries where it is not too long.
        runs: Addresses of runs by their ids, where there is a server; the cells of the matrix lead
            there. Others open what the page knows of them.
        script_address: See `page_bytes`.
    """
    charts, pareto, cells = suite_charts(result), pareto_charts(result), _cells(result)
    matrix = matrix_table(result, _links(result, runs or {}))
    files = {"results.csv": table.decode()} if len(table) <= _CARRIED_BYTES else {}
    tables = {f"table-{one.key}": {**one.packed(), "prefix": ""} for one in (matrix, cells) if one}
    return page_bytes(
        "suite.html.j2",
        PageData(
            charts=charts_data((*pareto, *charts)),
            tables=tables,
            files=files,
            more={"cells": _opened(result)},
        ),
        parts=scripts("suite.js"),
        script_address=script_address,
        css=style("suite.css"),
        title=result.name,
        answer=suite_answer(result),
        about=f"{result.name} · {counts_sentence(result)}",
        facts=_facts(result),
        explained=[text for say in _EXPLAINED if (text := say(result))],
        notices=result.notices,
        pareto=pareto,
        charts=charts,
        matrix=matrix,
        failures=_failures(result),
        gains=_gains(result),
        cells=cells,
        left_out=[] if files else ["The table is long: see results.csv next to this page."],
    )


def _links(result: SuiteResult, runs: Mapping[str, str]) -> dict[str, str]:
    """Return where cells lead, by their keys: to their run, else to their place on the page."""
    there = {row.cell.key: runs[row.run] for row in result.rows if row.run and row.run in runs}
    return {**cell_anchors(result), **there}


def _opened(result: SuiteResult) -> dict[str, Any]:
    """Return for each cell that has ended its row in the table of cells, and what to run next."""
    best = {win.case: win.fastest for win in wins(result)}
    at_store = _store_option(result.plan.command)
    opened: dict[str, Any] = {}
    for at, row in enumerate(result.rows):
        commands = [f"enginescope report {row.run}{at_store}"] if row.run else []
        fastest = best.get(case_of(row.cell))
        if row.run and fastest is not None and fastest.run and fastest.run != row.run:
            commands.append(f"enginescope compare {fastest.run} {row.run}{at_store}")
        opened[row.cell.key] = {
            "row": at,
            "title": row.cell.label,
            "why": None if row.status is CellStatus.OK else reason_text(row),
            "detail": row.detail,
            "commands": commands,
        }
    return opened


def _store_option(command: str | None) -> str:
    """Return ``--store`` as the suite's command has it: the next command needs it too."""
    words = shlex.split(command or "")
    at = words.index("--store") + 1 if "--store" in words else len(words)
    return f" --store {shlex.quote(words[at])}" if at < len(words) else ""


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


def _failures(result: SuiteResult) -> Figures | None:
    rows = tuple(
        (
            status_text(group.status),
            f"{len(group.rows):,}",
            min(row.ended for row in group.rows)[:10],
            group.cells,
            group.reason,
        )
        for group in failure_groups(result)
    )
    if not rows:
        return None
    caption = "Cells that are not ok; run the command under Conditions with --retry-failed"
    if len(rows) > _FAILURES:
        caption += f"; {_FAILURES} of {len(rows):,}, the others are among all cells below"
    return Figures(
        caption=caption,
        headers=("status", "cells", "since", "backends and models", "why"),
        rows=rows[:_FAILURES],
        numbers=(1,),
        sentences=(3, 4),
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
        column("run", [row.run for row in rows]),
        column("why", [row.reason for row in rows]),
        column("warnings", [" ".join(row.warnings) or None for row in rows]),
    ]
    return data_table("cells", "All cells that have ended", ("cell", "cells"), columns)


def _coverage(row: CellRow) -> str | None:
    """Return who took what, but for the CPU's provider where there is no other."""
    return coverage_text(row) if row.cell.job.backend.name != "ort-cpu" else None


def _mebibytes(row: CellRow, metric: str) -> float | None:
    value = row.figure(metric)
    return value / 2**20 if value is not None else None
