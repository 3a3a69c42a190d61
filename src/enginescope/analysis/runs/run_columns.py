"""A run's samples and layers as columns of tables."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.records.run.run import Run
from enginescope.records.samples import Samples


def sample_columns(run: Run) -> dict[str, list[Any]]:
    """Return every sample of a run, one row each, warm-up first within a metric.

    Columns
    -------
    metric : str
        Tag of the metric.
    i : int
        Position within metric and phase, from 0.
    start_ms : float or None
        Since the metric's first steady sample began.
    value_ms : float
    phase : str
        ``"warm_up"`` or ``"steady_state"``.
    """
    columns: dict[str, list[Any]] = {
        "metric": [],
        "i": [],
        "start_ms": [],
        "value_ms": [],
        "phase": [],
    }
    for sample in run.samples:
        if sample.warmup_ms is not None:
            _extend(columns, sample.metric, sample.warmup_ms.tolist(), None, "warm_up")
        _extend(columns, sample.metric, sample.values_ms.tolist(), _starts(sample), "steady_state")
    return columns


def layer_columns(rows: tuple[LayerRow, ...]) -> dict[str, list[Any]]:
    """Return layers as columns: the fields of `LayerRow` that hold one value each."""
    fields = (
        "index name type subtype precision provider mean_ms median_ms total_ms share_pct tactic"
    )
    columns: dict[str, list[Any]] = {
        field: [getattr(row, field) for row in rows] for field in fields.split()
    }
    columns["onnx_nodes"] = [";".join(row.onnx_nodes) for row in rows]
    columns["is_container"] = [row.is_container for row in rows]
    return columns


def _starts(samples: Samples) -> list[float] | None:
    return None if samples.start_ms is None else samples.start_ms.tolist()


def _extend(
    columns: dict[str, list[Any]],
    metric: str,
    values: list[float],
    starts: list[float] | None,
    phase: str,
) -> None:
    n = len(values)
    columns["metric"] += [metric] * n
    columns["i"] += range(n)
    columns["start_ms"] += starts if starts is not None else [None] * n
    columns["value_ms"] += values
    columns["phase"] += [phase] * n
