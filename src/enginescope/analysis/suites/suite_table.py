"""A suite's results as one tidy table: a row for each cell and metric."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.suites.suite_gains import baselines, case_of, speed_ups
from enginescope.records.suite.suite import CellFigure, CellRow, SuiteResult

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


def tidy_columns(result: SuiteResult) -> dict[str, list[Any]]:
    """Return the table by columns.

    A cell that ended without a figure has one row, with neither metric nor value; a cell that is
    not done has none. ``speed_up`` is counted from the median of ``baseline`` in the same shape.
    """
    faster, counted_from = speed_ups(result), baselines(result)
    rows = []
    for row in result.rows:
        head = _head(result, row)
        figures: tuple[CellFigure | None, ...] = row.figures or (None,)
        rows += [{**head, **_value(one)} for one in (*figures, *_of_providers(row))]
        if row.cell.key in faster:
            figure = CellFigure(metric="speed_up", value=faster[row.cell.key], unit="×")
            rows.append({**head, **_value(figure), "baseline": counted_from[case_of(row.cell)]})
    return {name: [one.get(name) for one in rows] for name in COLUMNS}


def _head(result: SuiteResult, row: CellRow) -> dict[str, Any]:
    cell = row.cell
    work = cell.job.workload
    return {
        "suite": result.name,
        "cell": cell.key,
        "model": cell.model,
        "model_sha256": cell.job.subject.sha256,
        "backend": cell.job.backend.name,
        "precision": cell.job.backend.precision,
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


def _value(figure: CellFigure | None) -> dict[str, Any]:
    if figure is None:
        return {}
    return {"metric": figure.metric, "value": figure.value, "unit": figure.unit}


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
