"""A suite's results as a tidy table, a row for each cell and metric, or a row for each cell.

Speed-up over a baseline backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from enginescope.records.notice import NOT_FP16
from enginescope.records.suite.suite import Cell, CellFigure, CellRow, SuiteResult

#: A model in one batch and shape: what backends are compared in.
Case: TypeAlias = tuple[str, str]


def case_of(cell: Cell) -> Case:
    """Return what cells of different backends have in common."""
    return cell.model, cell.case


def baselines(result: SuiteResult) -> dict[Case, str]:
    """Return the backend that each case is counted from: the suite's, else the case's first."""
    named = result.plan.suite.baseline
    found: dict[Case, str] = {}
    for cell in result.plan.cells:
        case = case_of(cell)
        if cell.spec == named or case not in found:
            found[case] = cell.spec
    return found


def speed_ups(result: SuiteResult) -> dict[str, float]:
    """Return by the keys of cells how many times as fast as their baseline they are.

    Of the medians; cells without one, and whose baseline has none, are left out.
    """
    counted_from = baselines(result)
    by_case: dict[tuple[Case, str], float] = {}
    for row in result.rows:
        latency = row.figure("latency")
        if latency:
            by_case[case_of(row.cell), row.cell.spec] = latency
    found = {}
    for row in result.rows:
        case, latency = case_of(row.cell), row.figure("latency")
        base = by_case.get((case, counted_from[case]))
        if latency and base:
            found[row.cell.key] = base / latency
    return found


def precision_of(row: CellRow) -> str | None:
    """Return the precision that was asked for; ``None`` too if the runtime removed FP16."""
    return None if lost_fp16(row) else row.cell.job.backend.precision


def lost_fp16(row: CellRow) -> bool:
    """Whether the runtime computes a model in FP32 that was converted to FP16."""
    return NOT_FP16 in row.warnings


class _Line(NamedTuple):
    """What a line of a table is about; without `figure`: the whole cell."""

    suite: str
    row: CellRow
    baseline: str | None
    figure: CellFigure | None = None


class _Column(NamedTuple):
    name: str
    value: Callable[[_Line], Any]
    is_number: bool


def _text(name: str, value: Callable[[_Line], str | None]) -> _Column:
    return _Column(name, value, is_number=False)


def _number(name: str, value: Callable[[_Line], float | None]) -> _Column:
    return _Column(name, value, is_number=True)


def _of_figure(name: str) -> Callable[[_Line], Any]:
    return lambda line: getattr(line.figure, name) if line.figure else None


def _shapes(line: _Line) -> str | None:
    shapes = line.row.cell.job.workload.shapes
    return ",".join(f"{one.name}:{'x'.join(map(str, one.dims))}" for one in shapes) or None


def _versions(line: _Line) -> str | None:
    return " ".join(f"{name}={version}" for name, version in line.row.versions.items()) or None


#: Each column of the tables: its name, its type and its value, declared here alone.
_TABLE = (
    _text("suite", lambda line: line.suite),
    _text("cell", lambda line: line.row.cell.key),
    _text("model", lambda line: line.row.cell.model),
    _text("model_sha256", lambda line: line.row.cell.job.subject.sha256),
    _text("backend", lambda line: line.row.cell.job.backend.name),
    _text("precision", lambda line: precision_of(line.row)),
    _text("environment", lambda line: line.row.cell.environment),
    _text("spec", lambda line: line.row.cell.spec),
    _number("batch", lambda line: line.row.cell.job.workload.batch),
    _text("shapes", _shapes),
    _text("mode", lambda line: line.row.cell.mode),
    _text("input", lambda line: line.row.cell.input),
    _text("status", lambda line: line.row.status.value),
    _text("reason", lambda line: line.row.reason),
    _text("warnings", lambda line: " ".join(line.row.warnings) or None),
    _text("metric", _of_figure("metric")),
    _number("value", _of_figure("value")),
    _text("unit", _of_figure("unit")),
    _text("baseline", lambda line: line.baseline),
    _text("run", lambda line: line.row.run),
    _number("processes", lambda line: len(line.row.run_ids) or None),
    _text("runs", lambda line: " ".join(line.row.runs) or None),
    _number("attempts", lambda line: line.row.attempts),
    _text("started", lambda line: line.row.started),
    _text("ended", lambda line: line.row.ended),
    _text("host", lambda line: line.row.host),
    _text("cpu", lambda line: line.row.cpu),
    _text("gpu", lambda line: line.row.gpu),
    _text("versions", _versions),
)
COLUMNS = tuple(column.name for column in _TABLE)
#: Columns that hold numbers; the others hold text.
NUMBERS = frozenset(column.name for column in _TABLE if column.is_number)
_CELL_TABLE = tuple(one for one in _TABLE if one.name not in ("metric", "value", "unit"))
#: Columns of a table with one row for each cell, before those of the metrics.
CELL_COLUMNS = tuple(column.name for column in _CELL_TABLE)
_SPEED_UP = "speed_up"
_ENDINGS = {"ms": "_ms", "B": "_bytes", "/s": "_per_s"}


def tidy_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return the table by columns.

    A cell that ended without a figure has one row, with neither metric nor value; a cell that is
    not done has none. ``speed_up`` is counted from the median of ``baseline`` in the same shape.
    """
    counted_from, lines = baselines(result), []
    for row, figures in _cells(result):
        if not row.figures:
            lines.append(_Line(result.name, row, None))
        for figure in figures:
            base = counted_from[case_of(row.cell)] if figure.metric == _SPEED_UP else None
            lines.append(_Line(result.name, row, base, figure))
    return {column.name: [column.value(line) for line in lines] for column in _TABLE}


def cell_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return a row for each cell that has ended: `CELL_COLUMNS`, then a column for each metric.

    A metric in milliseconds ends in ``_ms``; `tidy_columns` has the unit of each.
    """
    counted_from, cells = baselines(result), list(_cells(result))
    lines = [_Line(result.name, row, counted_from[case_of(row.cell)]) for row, _ in cells]
    metrics = [
        {one.metric + _ENDINGS.get(one.unit, ""): one.value for one in figures}
        for _, figures in cells
    ]
    names = dict.fromkeys(name for row in metrics for name in row)
    return {
        **{column.name: [column.value(line) for line in lines] for column in _CELL_TABLE},
        **{name: [row.get(name) for row in metrics] for name in names},
    }


def _cells(result: SuiteResult) -> Iterator[tuple[CellRow, tuple[CellFigure, ...]]]:
    """Yield the cells that have ended, with all their figures."""
    faster = speed_ups(result)
    for row in result.rows:
        times = faster.get(row.cell.key)
        gain = () if times is None else (CellFigure(metric=_SPEED_UP, value=times, unit="×"),)
        yield row, (*row.figures, *_of_providers(row), *gain)


def _of_providers(row: CellRow) -> list[CellFigure]:
    made = []
    for provider in row.providers:
        if provider.nodes is not None:
            made.append(
                CellFigure(metric=f"nodes:{provider.provider}", value=provider.nodes, unit="1")
            )
        if provider.time_ms is not None:
            made.append(
                CellFigure(
                    metric=f"kernel_time:{provider.provider}", value=provider.time_ms, unit="ms"
                )
            )
    return made
