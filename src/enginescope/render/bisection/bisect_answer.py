"""Where an error starts and what to keep in FP32, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

import math
from typing import Any

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, telling_steps
from enginescope.analysis.bisection.precision_proposals import PrecisionTrial, PrecisionTrials
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.figures import TextTable
from enginescope.render.bisection.bisect_phrases import (
    FRONT,
    also_text,
    beside_text,
    failures,
    growth_row,
    not_finite_text,
    scope_text,
    spark,
    start_text,
    suggestion_text,
    trial_row,
    why_text,
)
from enginescope.render.bisection.growth_chart import error_growth
from enginescope.render.html.answer_page import Part

_STEP_HEADERS = ("tensor", "operator", "", "err ÷ spread", "inputs'", "own", "|reference|")
_TRIAL_HEADERS = ("kept in FP32", "nodes", "", "err ÷ spread", "median ms", "95 % CI ms", FRONT)
#: Columns of a row of bars, and of the names of operators on a terminal.
_BARS, _OPERATOR = 34, 12


def inside_part(found: Bisected, key: str) -> Part:
    """Return where the error starts, why, and the tensors that tell it.

    Args:
        key: Of its anchor and its chart; no other's.
    """
    steps = telling_steps(found)
    headers: tuple[str, ...] = _STEP_HEADERS
    rows = tuple(growth_row(step, found) for step in steps)
    if all(step.own_error is None for step in steps):
        headers = (*headers[:5], *headers[6:])
        rows = tuple((*row[:5], *row[6:]) for row in rows)
    table = TextTable(
        title="The start, what leads to it and what follows, and the outputs",
        headers=headers,
        rows=rows,
        numbers=headers[3:],
        shortened={"tensor": 0, "operator": _OPERATOR},
        spared=("own", "|reference|"),
    )
    chart = error_growth(found, f"{key}-growth")
    return Part(
        key=f"{key}-inside",
        label="starts at" if found.first else "inside",
        answer=start_text(found),
        facts=stated(
            ("why", why_text(found)),
            ("not finite", not_finite_text(found)),
            ("beside it", beside_text(found)),
            ("also over", also_text(found)),
            ("looked at", scope_text(found)),
            ("growth", spark(found.steps, _BARS)),
        ),
        tables=(table,) if rows else (),
        notices=found.notices,
        charts=(chart,) if chart else (),
    )


def precision_part(found: PrecisionTrials, key: str) -> Part:
    """Return what to keep in FP32, and the trials that show it; `key` begins its anchor."""
    one = found.suggested
    table = TextTable(
        title="Proposals",
        headers=_TRIAL_HEADERS,
        rows=tuple(trial_row(trial, found) for trial in found.trials),
        numbers=(_TRIAL_HEADERS[1], *_TRIAL_HEADERS[3:6]),
        note=f"{FRONT} no other proposal is both faster and closer to the reference",
        shortened={_TRIAL_HEADERS[0]: 0},
        spared=("95 % CI ms",),
    )
    return Part(
        key=f"{key}-kept",
        label="keep FP32",
        answer=suggestion_text(found),
        facts=(
            *stated(
                ("that is", one.specification if one and one.kind != "none" else None),
                ("tried by", found.way and f"{found.way}; {found.samples:,} samples each"),
            ),
            *(("failed", failure) for failure in failures(found)),
        ),
        tables=(table,) if found.trials else (),
    )


def bisect_data(found: Bisected) -> dict[str, Any]:
    """Return what was found in a side, every tensor looked at included."""
    odd = found.first_not_finite
    return {
        "first": _step(found.first_step) if found.first_step else None,
        "cause": found.cause,
        "overflowing": found.overflowing,
        "beside": found.beside,
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
        "reference_operator": one.pair.reference_operator,
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
        "inputs_error_to_spread": one.inputs_error if one.inputs_error != math.inf else None,
        "inputs_not_compared": one.not_compared,
        "own_error_to_spread": one.own_error if one.own_error != math.inf else None,
        "own_error_in_fp32": one.model_error if one.model_error != math.inf else None,
        "own_is_finite": None if one.own_error is None else one.own_error != math.inf,
        "reaches_output": one.reaches_output,
        "is_output": one.pair.is_output,
    }


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
