"""How coarse imported times are, as notices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from enginescope.formats.clock_step import clock_step_ms
from enginescope.model.notice import Notice
from enginescope.model.samples import Array, Samples

_PRINTED_DIGITS = 6


def resolution_notices(
    source: str, samples: Sequence[Samples], enqueue_start_ms: Array | None
) -> tuple[float | None, tuple[Notice, ...]]:
    """Return the step of the clock, in milliseconds, and what to say of it.

    Parameters
    ----------
    source : str
        The file, for messages.
    samples : sequence of Samples
    enqueue_start_ms : numpy.ndarray, shape (n,), optional
        When each enqueue began, since the tool started, where enqueue times come from differences.
    """
    by_metric = {one.metric: one for one in samples}
    series = by_metric.get("gpu_compute") or by_metric.get("trtexec_latency")
    step = clock_step_ms(series.values_ms) if series else None
    notices = []
    if series and step is not None:
        notices.append(_clock(source, series, step))
    if "enqueue" in by_metric and enqueue_start_ms is not None:
        latest = float(np.max(np.abs(enqueue_start_ms)))
        if latest >= 1.0:
            notices.append(_enqueue(source, latest, by_metric["enqueue"]))
    return step, tuple(notices)


def _clock(source: str, series: Samples, step_ms: float) -> Notice:
    median_ms = float(np.median(series.values_ms))
    share = f", {100 * step_ms / median_ms:.2g} % of the median" if median_ms > 0 else ""
    return Notice(
        code="I-RESOLUTION",
        message=f"the times in {source} move in steps of {step_ms * 1e3:.3g} µs{share}",
        evidence={
            "file": source,
            "metric": series.metric,
            "step_ms": step_ms,
            "median_ms": median_ms,
        },
        level="info",
    )


def _enqueue(source: str, latest_ms: float, series: Samples) -> Notice:
    step_ms = 10.0 ** (math.floor(math.log10(latest_ms)) + 1 - _PRINTED_DIGITS)
    return Notice(
        code="I-ENQUEUE-RESOLUTION",
        message=f"enqueue times in {source} are differences of time stamps with six digits, "
        f"so they are only good to {step_ms * 1e3:.3g} µs",
        evidence={
            "file": source,
            "metric": series.metric,
            "step_ms": step_ms,
            "latest_ms": latest_ms,
        },
        level="info",
    )
