"""What GPUs reported, as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.run.gpu_telemetry import CHANNELS, GpuTelemetry
from enginescope.render.base.csv_text import csv_bytes
from enginescope.stats.clock_around import held_by


def gpu_telemetry_csv(views: Sequence[RunView]) -> bytes:
    """Return a row for each sample: ``run, source, span, time_ms`` and every channel.

    ``source`` is ``pass`` or ``timed_loop``, ``span`` the stretch that the sample fell into. What
    was not reported is empty.
    """
    headers = ("run", "source", "span", "time_ms", *CHANNELS)
    rows = (row for view in views if view.run.gpu for row in _rows(view.id, view.run.gpu))
    return csv_bytes(headers, rows)


def gpu_summary(view: RunView) -> dict[str, Any] | None:
    """Return the GPU's part of a run's figures; ``None`` without one."""
    gpu = view.run.gpu
    if gpu is None:
        return None
    return {
        "device": gpu.gpu,
        "sm_clock": view.sm_clock
        and {**msgspec.to_builtins(view.sm_clock), "drop_pct": view.sm_clock.drop_pct},
        "cycles": view.cycles,
        "energy": view.energy,
        "throttled_by": [
            {"name": one.reason.name, "share_pct": one.share_pct} for one in held_by(gpu.timed)
        ],
        "other_processes": gpu.others,
        "spans": gpu.spans,
        "requests": gpu.requests,
        "interval_ms": gpu.interval_ms,
        "channels": {channel.name: _summary(channel.values) for channel in gpu.series.channels}
        if gpu.series
        else None,
    }


def _rows(run: str, gpu: GpuTelemetry) -> Iterator[tuple[Any, ...]]:
    for source, series in (("timed_loop", gpu.timed), ("pass", gpu.series)):
        if series is None:
            continue
        columns = [series.channel(name) for name in CHANNELS]
        for at, time_ms in enumerate(series.time_ms.tolist()):
            cells = (None if column is None else _known(float(column[at])) for column in columns)
            yield (run, source, _span_at(gpu, time_ms), time_ms, *cells)


def _span_at(gpu: GpuTelemetry, time_ms: float) -> str | None:
    return next((span.kind for span in gpu.spans if span.from_ms <= time_ms <= span.to_ms), None)


def _summary(values: Any) -> dict[str, float | int]:
    known = values[np.isfinite(values)]
    return {
        "least": float(known.min()),
        "mean": float(known.mean()),
        "greatest": float(known.max()),
        "missing": int(values.size - known.size),
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
