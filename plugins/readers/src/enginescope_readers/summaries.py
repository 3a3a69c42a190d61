"""Latency statistics that load generators print, by the names of enginescope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from enginescope.records.samples import ReportedSummary
from enginescope_readers.tables import milliseconds

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


def summary_of(metric: str, stated: Mapping[str, Any], unit: str | None) -> ReportedSummary | None:
    """Return ``avg``, ``min``, ``max``, and ``p90`` and its like; ``None`` if none is stated."""
    figures = {name: milliseconds(value, unit) for name, value in stated.items()}
    percentiles = sorted(
        (float(match[1]), value)
        for name, value in figures.items()
        if (match := _PERCENTILE.fullmatch(name)) and name != "p50" and value is not None
    )
    summary = ReportedSummary(
        metric=metric,
        min_ms=figures.get("min"),
        max_ms=figures.get("max"),
        mean_ms=figures.get("avg"),
        median_ms=figures.get("p50"),
        percentiles=tuple(percentiles),
    )
    return summary if any(value is not None for value in summary.figures.values()) else None
