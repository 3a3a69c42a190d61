"""A suite on the terminal: the matrix, what failed, coverage, gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.suites.suite_perf_tables import case_name, printed_gains
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import SuiteResult
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text_table import shorten_apart
from enginescope.render.suites.suite_phrases import (
    MatrixLine,
    backend_names,
    cell_text,
    coverage_text,
    failure_groups,
    matrix,
    status_text,
)

#: Lines of each table; the rest is in the files.
MOST_LINES = 40
_NAME_WIDTH = 28
_GAP = 2


def suite_tables(result: SuiteResult, *, width: int = 80) -> tuple[TextTable, ...]:
    """Return what a suite came to, as tables that fit into `width` columns."""
    made = [*_matrix_tables(result, width), _failures(result), _coverage(result), _gains(result)]
    return tuple(one for one in made if one is not None)


def _matrix_tables(result: SuiteResult, width: int) -> Iterator[TextTable]:
    """Yield the matrix, its backends in as many tables as the width asks for."""
    lines = matrix(result)
    count = result.plan.suite.processes
    of = f"median of {count} processes" if count > 1 else "median"
    title = f"latency ({of}) and speed-up"
    if not any(row.figure("latency") is not None for row in result.rows):
        title = "status" if result.plan.suite.mode == "benchmark" else "outputs"
    called = backend_names(result)
    names = shorten_apart([one.name for one in lines], _NAME_WIDTH)
    name_width = max(map(len, names), default=0)
    for chosen in _fitting(lines, list(called.values()), width - name_width):
        rows = [
            row
            for line, name in zip(lines, names, strict=True)
            if (row := _line(line, name, chosen)) is not None
        ]
        yield TextTable(
            title=title,
            headers=("model", *chosen),
            rows=tuple(rows[:MOST_LINES]),
            left_out=max(0, len(rows) - MOST_LINES),
        )


def _fitting(
    lines: Sequence[MatrixLine], backends: Sequence[str], width: int
) -> Iterator[tuple[str, ...]]:
    """Yield backends in groups whose columns fit into `width`, in order, at least one each."""
    group: list[str] = []
    used = 0
    for at, backend in enumerate(backends):
        needed = _GAP + max(len(backend), *(len(cell_text(line.cells[at])) for line in lines))
        if group and used + needed > width:
            yield tuple(group)
            group, used = [], 0
        group.append(backend)
        used += needed
    if group:
        yield tuple(group)


def _line(line: MatrixLine, name: str, backends: Sequence[str]) -> tuple[str, ...] | None:
    cells = {cell.backend: cell for cell in line.cells if cell.is_asked}
    if not any(backend in cells for backend in backends):
        return None
    return (name, *(cell_text(cells[backend]) if backend in cells else "" for backend in backends))


def _failures(result: SuiteResult) -> TextTable | None:
    """Return the cells that are not ``ok``, those that ended alike together."""
    rows = [
        (status_text(group.status), f"{group.cells}\n{group.reason}")
        for group in failure_groups(result)
    ]
    if not rows:
        return None
    return TextTable(
        title="cells that are not ok",
        headers=("status", "backend and models, and why"),
        rows=tuple(rows[:MOST_LINES]),
        left_out=max(0, len(rows) - MOST_LINES),
    )


def _coverage(result: SuiteResult) -> TextTable | None:
    """Return which provider took what, of cells in which more than the CPU's could."""
    found = [row for row in result.rows if row.providers and row.cell.job.backend.name != "ort-cpu"]
    called = backend_names(result)
    rows = [(case_name(one), called[one.cell.spec], coverage_text(one) or "") for one in found]
    if not rows:
        return None
    return TextTable(
        title="which provider took what",
        headers=("model", "backend", "nodes and time"),
        rows=tuple(rows[:MOST_LINES]),
        left_out=max(0, len(rows) - MOST_LINES),
    )


def _gains(result: SuiteResult) -> TextTable | None:
    rows = [
        (name, gain, f"{format_significant(pct)} %") for name, gain, pct in printed_gains(result)
    ]
    if not rows:
        return None
    return TextTable(
        title="gains as ONNX Runtime's scripts had them: (b − a) ÷ b of two means, no interval",
        headers=("model", "gain", "percent"),
        rows=tuple(rows[:MOST_LINES]),
        numbers=("percent",),
        left_out=max(0, len(rows) - MOST_LINES),
    )
