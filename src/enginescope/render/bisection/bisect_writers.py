"""Writers of a bisection and of precision proposals: terminal and JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, telling_steps
from enginescope.analysis.bisection.precision_proposals import PrecisionTrial, PrecisionTrials
from enginescope.render.base.short_names import column_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.bisection.bisect_phrases import (
    FRONT,
    also_text,
    bar,
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

_NARROW = 76
_SPARK, _BESIDE_SPARK = 40, 46
_OPERATOR = 12
#: Columns that all but the names take, and the one of own errors and sizes in it.
_FIGURES, _OWN, _SIZE = 62, 10, 13
_LEAST_NAME = 12


def bisect_lines(found: Bisected, *, width: int = 80) -> list[RenderableType]:
    """Return the lines of one side."""
    label = "starts at" if found.first else "inside"
    lines: list[RenderableType] = [label_row(label, start_text(found), "bold")]
    for label, text in (
        ("why", why_text(found)),
        ("not finite", not_finite_text(found)),
        ("beside it", beside_text(found)),
        ("also over", also_text(found)),
        ("looked at", scope_text(found)),
    ):
        lines += [label_row(label, text)] if text else []
    drawn = spark(found.steps, min(_SPARK, width - _BESIDE_SPARK))
    if drawn is not None:
        lines += [label_row("growth", f"{drawn[0]}  {drawn[1]}")]
    lines += [Text(), _table(found, width)] if found.steps else []
    lines += [Text()]
    return [*lines, *notice_lines(found.notices)]


def _table(found: Bisected, width: int) -> RenderableType:
    steps = telling_steps(found)
    known = [step.error.error for step in found.steps if step.error.error and not step.error.odd]
    low, high = (math.log10(min(known)), math.log10(max(known))) if known else (0.0, 0.0)
    headers = ["tensor", "operator", "", "err ÷ spread", "inputs'", "own", "|reference|"]
    rows = []
    for step in steps:
        cells = list(growth_row(step, found))
        mark = "∞" if step.error.odd else bar(step.error.error or 0.0, low, high)
        cells[3] = f"{cells[3]} {mark}"
        rows.append(cells)
    room = width - _FIGURES
    with_own = any(step.own_error is not None for step in steps) and room >= _OWN + _LEAST_NAME
    if with_own:
        room -= _OWN
    else:
        headers.pop(5)
        rows = [[*row[:5], *row[6:]] for row in rows]
    if width < _NARROW:
        headers.pop()
        rows = [row[:-1] for row in rows]
        room += _SIZE
    room = max(_LEAST_NAME, room)
    shown = column_apart(column_apart(rows, 0, room), 1, _OPERATOR)
    return table(headers, shown, right=tuple(headers[3:]))


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


_PRECISION_NARROW = 76
_PRECISION_FIGURES, _INTERVAL = 60, 17
_PRECISION_LEAST_NAME = 16


def precision_lines(found: PrecisionTrials, *, width: int = 80) -> list[RenderableType]:
    """Return the lines of one side."""
    lines: list[RenderableType] = [label_row("keep FP32", suggestion_text(found), "bold")]
    one = found.suggested
    if one is not None and one.kind != "none":
        lines.append(label_row("that is", one.specification))
    if found.way:
        lines.append(label_row("tried by", f"{found.way}; {found.samples:,} samples each"))
    if not found.trials:
        return [*lines, Text()]
    lines += [Text(), _precision_table(found, width)]
    lines.append(Text(f"{FRONT} no other proposal is both faster and closer to the reference"))
    lines += [label_row("failed", failure) for failure in failures(found)]
    return [*lines, Text()]


def _precision_table(found: PrecisionTrials, width: int) -> RenderableType:
    headers = ["kept in FP32", "nodes", "", "err ÷ spread", "median ms", "95 % CI ms", FRONT]
    rows = [list(trial_row(trial, found)) for trial in found.trials]
    room = width - _PRECISION_FIGURES
    if width < _PRECISION_NARROW:
        at = headers.index("95 % CI ms")
        headers.pop(at)
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
        room += _INTERVAL
    room = max(_PRECISION_LEAST_NAME, room)
    return table(
        headers,
        column_apart(rows, 0, room),
        right=("nodes", "err ÷ spread", "median ms", "95 % CI ms"),
    )


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
