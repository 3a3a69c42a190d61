"""A suite's results as a tidy table, a row for each cell and metric, or a row for each cell.

Speed-up over a baseline backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

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


#: Columns that hold numbers; the others hold text.
NUMBERS = frozenset({"value", "batch", "attempts", "processes"})
COLUMNS = (
    "suite",
    "cell",
    "model",
    "model_sha256",
    "backend",
    "precision",
    "environment",
    "spec",
    "batch",
    "shapes",
    "mode",
    "input",
    "status",
    "reason",
    "warnings",
    "metric",
    "value",
    "unit",
    "baseline",
    "run",
    "processes",
    "runs",
    "attempts",
    "started",
    "ended",
    "host",
    "cpu",
    "gpu",
    "versions",
)
#: Columns of a table with one row for each cell, before those of the metrics.
CELL_COLUMNS = tuple(name for name in COLUMNS if name not in ("metric", "value", "unit"))
_SPEED_UP = "speed_up"
_ENDINGS = {"ms": "_ms", "B": "_bytes", "/s": "_per_s"}


def tidy_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return the table by columns.

    A cell that ended without a figure has one row, with neither metric nor value; a cell that is
    not done has none. ``speed_up`` is counted from the median of ``baseline`` in the same shape.
    """
    counted_from, rows = baselines(result), []
    for row, figures in _cells(result):
        head = _head(result, row)
        if not row.figures:
            rows.append(head)
        for one in figures:
            base = counted_from[case_of(row.cell)] if one.metric == _SPEED_UP else None
            value = {"metric": one.metric, "value": one.value, "unit": one.unit}
            rows.append({**head, **value, "baseline": base})
    return {name: [one.get(name) for one in rows] for name in COLUMNS}


def cell_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return a row for each cell that has ended: `CELL_COLUMNS`, then a column for each metric.

    A metric in milliseconds ends in ``_ms``; `tidy_columns` has the unit of each.
    """
    counted_from = baselines(result)
    rows = [
        {
            **_head(result, row),
            "baseline": counted_from[case_of(row.cell)],
            **{one.metric + _ENDINGS.get(one.unit, ""): one.value for one in figures},
        }
        for row, figures in _cells(result)
    ]
    names = dict.fromkeys((*CELL_COLUMNS, *(name for row in rows for name in row)))
    return {name: [one.get(name) for one in rows] for name in names}


def _cells(result: SuiteResult) -> Iterator[tuple[CellRow, tuple[CellFigure, ...]]]:
    """Yield the cells that have ended, with all their figures."""
    faster = speed_ups(result)
    for row in result.rows:
        times = faster.get(row.cell.key)
        gain = () if times is None else (CellFigure(metric=_SPEED_UP, value=times, unit="×"),)
        yield row, (*row.figures, *_of_providers(row), *gain)


def _head(result: SuiteResult, row: CellRow) -> dict[str, Any]:
    cell = row.cell
    work = cell.job.workload
    return {
        "suite": result.name,
        "cell": cell.key,
        "model": cell.model,
        "model_sha256": cell.job.subject.sha256,
        "backend": cell.job.backend.name,
        "precision": precision_of(row),
        "environment": cell.environment,
        "spec": cell.spec,
        "batch": work.batch,
        "shapes": ",".join(
            f"{shape.name}:{'x'.join(map(str, shape.dims))}" for shape in work.shapes
        )
        or None,
        "mode": cell.mode,
        "input": cell.input,
        "status": row.status.value,
        "reason": row.reason,
        "warnings": " ".join(row.warnings) or None,
        "run": row.run,
        "processes": len(row.run_ids) or None,
        "runs": " ".join(row.runs) or None,
        "attempts": row.attempts,
        "started": row.started,
        "ended": row.ended,
        "host": row.host,
        "cpu": row.cpu,
        "gpu": row.gpu,
        "versions": " ".join(f"{name}={one}" for name, one in row.versions.items()) or None,
    }


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
