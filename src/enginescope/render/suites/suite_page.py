"""A suite as one HTML file that needs no network and reads without JavaScript."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from enginescope.analysis.suites.suite_table import Win, case_of, cell_columns, tidy_columns, wins
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.data_table import DataColumn, DataTable, column, csv_bytes, data_table
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import stated
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.suites.suite_answer import (
    UNSTABLE_MARK,
    MatrixCell,
    MatrixLine,
    backend_names,
    cell_text,
    counts_sentence,
    coverage_text,
    explained,
    failure_groups,
    matrix,
    next_steps,
    reason_text,
    status_text,
    suite_answer,
    took_sentence,
    weakness_sentence,
    win_text,
)
from enginescope.render.suites.suite_pareto import pareto_charts


def matrix_table(result: SuiteResult, links: Mapping[str, str]) -> DataTable | None:
    """Return a row for each model in each batch and shape, a column for each backend.

    Args:
        links: By the keys of cells, where they lead.
    """
    lines, called = matrix(result), backend_names(result)
    by_case = {win.case: win for win in wins(result)}
    won = [by_case.get((line.model, line.case)) for line in lines]
    fastest = Counter(win.fastest.cell.spec for win in won if win is not None and win.is_decided)
    order = sorted(enumerate(called), key=lambda one: -fastest[one[1]])
    columns = [
        column("model", [line.model for line in lines]),
        column("batch, shapes", [line.case or None for line in lines], is_choice=True),
        *(_of_fastest(won, called) if len(called) > 1 else ()),
        *(_backend(lines, at, spec, links) for at, spec in order),
        column("failures", [_matrix_failures(line) for line in lines], is_mark=True),
    ]
    caption = "Median latency and speed-up over the baseline, or how the cell ended"
    return data_table("matrix", caption, ("model", "models"), columns)


def heat(cell: MatrixCell) -> str:
    """Return a class of the style sheet: how the cell ended, or how it compares with the best."""
    if cell.row is not None and cell.row.status is not CellStatus.OK:
        return "unsupported" if cell.row.status is CellStatus.UNSUPPORTED else "bad"
    if cell.of_best is None:
        return "plain"
    # below which ratio to the line's best
    looks = ((1.05, "best"), (1.5, "near"), (3.0, "far"), (10.0, "slow"))
    return next((name for bound, name in looks if cell.of_best < bound), "slowest")


def _of_fastest(won: list[Win | None], called: Mapping[str, str]) -> Iterator[DataColumn]:
    best = [win.fastest.figure("latency") if win and win.is_decided else None for win in won]
    yield column("latency, ms", best, 4, meaning="Of the fastest backend: its median")
    names = [
        (called[win.fastest.cell.spec] if win.is_decided else "inconclusive")
        if win and win.second is not None
        else None
        for win in won
    ]
    meaning = "The fastest backend; inconclusive where the interval of the lead reaches 1, or at !"
    yield column("fastest", names, is_choice=True, meaning=meaning)
    yield column(
        "lead over next",
        [win.ratio if win else None for win in won],
        2,
        texts=tuple(win_text(win) or "—" if win else "—" for win in won),
        meaning="How many times as fast as the next fastest backend, with the 95 % interval",
    )


def _matrix_failures(line: MatrixLine) -> str | None:
    ended = [cell.row.status for cell in line.cells if cell.row is not None]
    bad = [status_text(status) for status in ended if status is not CellStatus.OK]
    return f"{len(bad)} of {sum(cell.is_asked for cell in line.cells)}" if bad else None


def _backend(
    lines: tuple[MatrixLine, ...], at: int, spec: str, links: Mapping[str, str]
) -> DataColumn:
    cells = [line.cells[at] for line in lines]
    is_unstable = any(cell.row is not None and cell.row.is_unstable for cell in cells)
    return column(
        cells[0].backend,
        [cell.figure("latency") for cell in cells],
        4,
        texts=tuple(_text(cell) for cell in cells),
        links=tuple(links.get(cell.row.cell.key) if cell.row else None for cell in cells),
        looks=tuple(heat(cell) for cell in cells),
        meaning=f"{spec}; {UNSTABLE_MARK}" if is_unstable else spec,
    )


def _text(cell: MatrixCell) -> str:
    error = cell.figure("max_abs_error")
    if error is None or cell.figure("latency") is None:
        return cell_text(cell)
    shown = f"{error:.1e}" if 0 < error < 1e-3 else format_significant(error, 2)
    return f"{cell_text(cell)} · error {shown}"


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


def suite_files(result: SuiteResult) -> dict[str, bytes]:
    """Return the tables of a suite by the names of their files."""
    tables = {"results.csv": tidy_columns(result), "cells.csv": cell_columns(result)}
    return {
        name: csv_bytes([*columns], zip(*columns.values(), strict=True))
        for name, columns in tables.items()
    }


def suite_page(
    result: SuiteResult, *, runs: Mapping[str, str] | None = None, script_address: str | None = None
) -> bytes:
    """Return the page over a suite, done or not yet.

    Args:
        runs: Addresses of runs by their ids, where there is a server; the cells of the matrix lead
            there. Others open what the page knows of them.
    """
    pareto, cells = pareto_charts(result), _cells(result)
    known = [(row.cell.key, (runs or {}).get(row.run or "")) for row in result.rows]
    matrix = matrix_table(result, {key: address or f"#cell-{key}" for key, address in known})
    places = _several(row.gpu for row in result.rows) or _several(row.cpu for row in result.rows)
    whole = suite_files(result)
    files = {name: data.decode() for name, data in whole.items() if len(data) <= _CARRIED_BYTES}
    missing = " and ".join(name for name in whole if name not in files)
    tables = {f"table-{one.key}": {**one.packed(), "prefix": ""} for one in (matrix, cells) if one}
    more = {"cells": _opened(result)}
    return page_bytes(
        "suite.html.j2",
        PageData(charts=charts_data(pareto), tables=tables, files=files, more=more),
        parts=("suite",),
        script_address=script_address,
        title=result.name,
        answer=suite_answer(result),
        steps=[*next_steps(result)],
        mode=result.plan.suite.mode,
        about=" · ".join(filter(None, (result.name, counts_sentence(result), places))),
        facts=_facts(result),
        explained=explained(result),
        weakness=weakness_sentence(result),
        notices=result.notices,
        pareto=pareto,
        matrix=matrix,
        failures=_failures(result),
        cells=cells,
        left_out=[f"Too long for this page: {missing}, next to it."] if missing else [],
    )


def _opened(result: SuiteResult) -> dict[str, Any]:
    """Return for each cell that has ended its row in the table of cells, and what to run next."""
    best = {win.case: win.fastest for win in wins(result)}
    words = shlex.split(result.plan.command or "")
    at = words.index("--store") + 1 if "--store" in words else len(words)
    # the next command needs the store of the suite's, too
    at_store = f" --store {shlex.quote(words[at])}" if at < len(words) else ""
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


def _several(values: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(filter(None, values)))


def _versions(result: SuiteResult) -> list[tuple[str, str]]:
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


def _facts(result: SuiteResult) -> tuple[tuple[str, str], ...]:
    rows, count = result.rows, result.plan.suite.processes
    ended = max((row.ended for row in rows), default="")
    return stated(
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
    )


def _failures(result: SuiteResult) -> TextTable | None:
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
    headers = ("status", "cells", "since", "backends and models", "why")
    return TextTable(
        title=caption,
        headers=headers,
        rows=rows[:_FAILURES],
        numbers=headers[1:2],
        sentences=headers[3:],
    )


def _cells(result: SuiteResult) -> DataTable | None:
    rows = result.rows
    if not rows:
        return None
    cells = [row.cell for row in rows]
    several = any(row.runs for row in rows)
    took = [None if row.cell.job.backend.is_cpu else coverage_text(row) for row in rows]
    columns = [
        column("model", [cell.model for cell in cells]),
        column("backend", [cell.spec for cell in cells], is_choice=True),
        column("batch, shapes", [cell.case or None for cell in cells]),
        column("status", [status_text(row.status) for row in rows], is_choice=True),
        *(
            column(title, [row.figure(name) for row in rows], places, digits=3)
            for name, title, places in _FIGURES
        ),
        column("peak host memory, MiB", [_mebibytes(row, "peak_memory") for row in rows], 0),
        column("device memory, MiB", [_mebibytes(row, "device_memory") for row in rows], 0),
        column("which provider took what", took),
        column("input", [cell.input for cell in cells]),
        *([column("processes", [len(row.run_ids) or None for row in rows], 0)] if several else []),
        column("run", [row.run for row in rows]),
        column("why", [row.reason for row in rows]),
        column("warnings", [" ".join(row.warnings) or None for row in rows]),
    ]
    return data_table("cells", "All cells that have ended", ("cell", "cells"), columns)


def _mebibytes(row: CellRow, metric: str) -> float | None:
    value = row.figure(metric)
    return value / 2**20 if value is not None else None
