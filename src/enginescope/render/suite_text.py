"""A suite on the terminal: the matrix, what failed, coverage, gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.suite_perf_tables import case_name, printed_gains
from enginescope.core.record import Record
from enginescope.core.units import format_significant
from enginescope.model.suite import CellStatus, SuiteResult
from enginescope.render.suite_phrases import (
    MatrixLine,
    cell_text,
    coverage_text,
    matrix,
    reason_text,
    specs_of,
    status_text,
)

#: Lines of each table; the rest is in the files.
MOST_LINES = 40
_CELL_WIDTH = 18
_NAME_WIDTH = 28


class SuiteTable(Record, frozen=True, kw_only=True):
    """A table with a title; `left_out`: lines that are only in the files."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()
    left_out: int = 0


def suite_tables(result: SuiteResult, *, width: int = 80) -> tuple[SuiteTable, ...]:
    """Return what a suite came to, as tables that fit into `width` columns."""
    made = [*_matrix_tables(result, width), _failures(result), _coverage(result), _gains(result)]
    return tuple(one for one in made if one is not None)


def _matrix_tables(result: SuiteResult, width: int) -> Iterator[SuiteTable]:
    """Yield the matrix, its backends in as many tables as the width asks for."""
    lines, specs = matrix(result), specs_of(result)
    fitting = max(1, (width - _NAME_WIDTH) // _CELL_WIDTH)
    for start in range(0, len(specs), fitting):
        chosen = specs[start : start + fitting]
        rows = [row for line in lines if (row := _line(line, chosen)) is not None]
        title = "latency (median) and speed-up" if _has_latency(result) else "answers"
        yield SuiteTable(
            title=title,
            headers=("model", *chosen),
            rows=tuple(rows[:MOST_LINES]),
            left_out=max(0, len(rows) - MOST_LINES),
        )


def _line(line: MatrixLine, specs: Sequence[str]) -> tuple[str, ...] | None:
    cells = {one.spec: one for one in line.cells if one.is_asked}
    if not any(one in cells for one in specs):
        return None
    return (line.name, *(cell_text(cells[one]) if one in cells else "" for one in specs))


def _has_latency(result: SuiteResult) -> bool:
    return any(one.figure("latency") is not None for one in result.rows)


def _failures(result: SuiteResult) -> SuiteTable | None:
    rows = [
        (status_text(one.status), f"{one.cell.label}\n{reason_text(one)}")
        for one in result.rows
        if one.status is not CellStatus.OK
    ]
    if not rows:
        return None
    return SuiteTable(
        title="failing models and backends",
        headers=("status", "cell, and why"),
        rows=tuple(rows[:MOST_LINES]),
        left_out=max(0, len(rows) - MOST_LINES),
    )


def _coverage(result: SuiteResult) -> SuiteTable | None:
    """Return which provider took what, of cells in which more than the CPU's could."""
    found = [one for one in result.rows if one.providers and one.cell.job.backend.name != "ort-cpu"]
    rows = [(case_name(one), one.cell.spec, coverage_text(one) or "") for one in found]
    if not rows:
        return None
    return SuiteTable(
        title="which provider took what",
        headers=("model", "backend", "nodes and time"),
        rows=tuple(rows[:MOST_LINES]),
        left_out=max(0, len(rows) - MOST_LINES),
    )


def _gains(result: SuiteResult) -> SuiteTable | None:
    rows = [
        (name, gain, f"{format_significant(pct)} %") for name, gain, pct in printed_gains(result)
    ]
    if not rows:
        return None
    return SuiteTable(
        title="gains as ONNX Runtime's scripts had them: (b − a) ÷ b of two means, no interval",
        headers=("model", "gain", "percent"),
        rows=tuple(rows[:MOST_LINES]),
        right=("percent",),
        left_out=max(0, len(rows) - MOST_LINES),
    )
