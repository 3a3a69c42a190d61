"""A suite's results as one tidy table: a row for each cell and metric.

Speed-up over a baseline backend, and the gains that ONNX Runtime's scripts printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from enginescope.core.record import Record
from enginescope.records.notice import NOT_FP16
from enginescope.records.suite.suite import Cell, CellFigure, CellRow, SuiteResult

#: A model in one batch and shape: what backends are compared in.
Case: TypeAlias = tuple[str, str]


class Gain(Record, frozen=True, kw_only=True):
    """How much less time one backend takes than another, as those scripts counted it.

    ``(b - a) ÷ b`` of the two mean latencies, in percent: positive where `label`'s first is faster.
    No interval belongs to it: it is one measurement a side, and not a verdict.
    """

    name: str
    percent: float


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


#: Name of a gain -> the backends whose mean latencies it is of: of the first over the second.
GAINS = {
    "TRT_CUDA_gain(%)": ("ORT-TRTFp32", "ORT-CUDAFp32"),
    "TRT_CUDA_fp16_gain(%)": ("ORT-TRTFp16", "ORT-CUDAFp16"),
    "TRT_Standalone_gain(%)": ("ORT-TRTFp32", "TRTFp32"),
    "TRT_Standalone_fp16_gain(%)": ("ORT-TRTFp16", "TRTFp16"),
}


def gains_of(rows: Sequence[tuple[str, CellRow]]) -> tuple[Gain, ...]:
    """Return the gains of one case, given its rows by the names of the scripts' providers."""
    means = {name: row.figure("mean") for name, row in rows}
    found = []
    for gain, (first, second) in GAINS.items():
        a, b = means.get(first), means.get(second)
        if a is not None and b:
            found.append(Gain(name=gain, percent=100 * (b - a) / b))
    return tuple(found)


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
