"""Where an error starts, as JSON."""

from __future__ import annotations

import math
from typing import Any

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep


def bisect_data(found: Bisected) -> dict[str, Any]:
    """Return what was found in a side, every tensor looked at included."""
    odd = found.first_not_finite
    return {
        "first": _step(found.first_step) if found.first_step else None,
        "cause": found.cause,
        "overflowing": found.overflowing,
        "beyond_range": found.beyond,
        "not_compared": found.not_compared,
        "first_not_finite": odd.tensor if odd else None,
        "starts": [start.tensor for start in found.starts],
        "reference": found.reference,
        "limits": {
            "tolerance": found.tolerance,
            "error_to_spread": found.limit,
            "peak_to_spread": found.peak_limit,
            "largest": found.largest,
        },
        "samples": found.samples,
        "tensors": found.tensors,
        "looked_at": len(found.steps),
        "without_counterpart": found.alone,
        "marked_copies": found.rounds,
        "optimisation": found.optimisation,
        "notices": found.notices,
        "growth": [_step(step) for step in found.steps],
    }


def _step(one: GrowthStep) -> dict[str, Any]:
    error = one.error
    return {
        "position": one.position,
        "tensor": one.tensor,
        "side_tensor": one.pair.candidate,
        "node": one.pair.node,
        "operator": one.pair.operator,
        "paired_by": one.pair.how,
        "over": error.over,
        "error_to_spread": error.error,
        "peak_to_spread": error.peak,
        "max_abs_error": error.max_abs_error,
        "reference_peak": error.reference_peak,
        "elements": error.elements,
        "nan": error.nan,
        "infinite": error.infinite,
        "finite_only_here": error.finite_only_here,
        "inputs": one.inputs,
        "inputs_error_to_spread": one.inputs_error,
        "own_error_to_spread": one.own_error if one.own_error != math.inf else None,
        "own_is_finite": None if one.own_error is None else one.own_error != math.inf,
        "reaches_output": one.reaches_output,
        "is_output": one.pair.is_output,
    }
