"""What came of keeping parts of a side in FP32, as JSON."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.bisection.precision_trials import PrecisionTrial, PrecisionTrials


def precision_data(found: PrecisionTrials) -> dict[str, Any]:
    """Return every trial, those on the Pareto front marked, and the suggestion."""
    front = {id(one) for one in found.front}
    suggested = found.suggested
    return {
        "way": found.way,
        "why_none": found.why_none,
        "samples": found.samples,
        "suggested": _trial(suggested, on_front=id(suggested) in front) if suggested else None,
        "trials": [_trial(trial, on_front=id(trial) in front) for trial in found.trials],
    }


def _trial(one: PrecisionTrial, *, on_front: bool) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "title": one.proposal.title,
        "kept_nodes": one.proposal.nodes,
        "specification": one.specification,
        "passes": one.passes,
        "error_to_spread": one.error,
        "latency_ms": one.latency_ms,
        "latency_low_ms": one.interval.low if one.interval else None,
        "latency_high_ms": one.interval.high if one.interval else None,
        "on_front": on_front,
        "failure": one.failure,
    }
