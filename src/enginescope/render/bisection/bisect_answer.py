"""Where an error starts and what to keep in FP32, for terminal, Markdown, page and JSON alike."""

import math
from typing import Any

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, telling_steps
from enginescope.analysis.bisection.precision_proposals import PrecisionTrial, PrecisionTrials
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.accuracy.compared_outputs import error_text
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.figures import UNKNOWN, TextTable, interval_cell
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.base.phrases import few
from enginescope.render.html.answer_page import Part
from enginescope.render.html.images import Chart, ChartTable, Spec, marks, quantity, tooltip


def start_text(found: Bisected) -> str:
    """Return where the error starts, in one sentence."""
    step = found.first_step
    if step is None:
        if found.cause == "gone":
            return "not found: the error disappears when tensors are marked"
        if found.cause == "unpaired":
            return "not found: no intermediate tensor can be compared"
        if len(found.steps) == 1 and found.is_complete:
            return "the only compared tensor is within its limits"
        looked = "all" if found.is_complete else "the"
        return f"{looked} {len(found.steps):,} compared tensors are within their limits"
    unseen = "" if step.reaches_output else "; no output shows it"
    before = f", or before it: {_not_compared_text(step)}" if step.not_compared else ""
    return f"{step.pair.node} ({step.pair.operator}), tensor {step.tensor}{before}{unseen}"


def why_text(found: Bisected) -> str | None:
    """Return what the figures say of the cause, and whether the reference has another operator."""
    step = found.first_step
    if step is None:
        unseen = {
            "gone": "the runtime then fuses or places layers differently; the cause is an "
            "optimization or a fused kernel",
            "unpaired": "no floating-point output has a counterpart in the reference",
        }
        return unseen.get(found.cause)
    text, pair = _cause_text(found, step), step.pair
    if not pair.is_replaced:
        return text
    kinds = f"{pair.reference_operator} in {found.reference}, {pair.operator} in {found.side}"
    return f"{pair.node} is {kinds}; {text}"


def _cause_text(found: Bisected, step: GrowthStep) -> str:
    inputs, limit = _inputs_text(step), error_text(found.limit)
    if found.cause == "overflow":
        return _overflow_text(found, step)
    if found.cause == "grows":
        return f"no single layer: {inputs} already, and from here on the error is over {limit}"
    if found.cause == "unlike":
        return f"its shape is not the reference's; {inputs}"
    if found.cause == "scale":
        own = step.own_error if step.own_error is not None else step.error.error
        more = "nodes since the last compared tensor add" if step.not_compared else "it alone adds"
        return (
            f"the scale or zero point of {step.pair.node} does not fit: {more} err ÷ spread "
            f"{error_text(own)}; the reference goes up to {magnitude(step.error.reference_peak)}"
        )
    figure = f"err ÷ spread {error_text(step.error.error)}, at most {limit}"
    if step.error.over == "peak":
        peak, limit = error_text(step.error.peak), error_text(found.peak_limit)
        figure = f"largest error ÷ spread {peak}, at most {limit}"
    elif step.error.odd:
        figure = odd_text(step)
    if (step.model_error or 0.0) > (found.limit or 0.0):
        figure += f", and {error_text(step.model_error)} in FP32 with the reference's inputs"
    return f"{figure}; {inputs}"


def _overflow_text(found: Bisected, step: GrowthStep) -> str:
    over = next(one for one in found.beyond if one.tensor == found.overflowing)
    is_own = found.overflowing == step.tensor
    whose = "its values go" if is_own else f"{over.kind} {over.tensor} goes"
    return (
        f"overflow: {whose} up to {magnitude(over.peak)} in the reference, and "
        f"{found.tolerance.upper()} ends at {magnitude(found.largest)}"
    )


def _inputs_text(step: GrowthStep) -> str:
    if not step.inputs:
        return _not_compared_text(step) or "it is computed from the model's inputs"
    whose = "the nearest compared tensors before it" if step.not_compared else "its inputs"
    if step.inputs_error is None:
        known = f"{whose} have no figure: the reference is 0 there, or the shapes differ"
    else:
        is_odd = step.inputs_error == math.inf
        known = f"{whose} have {'NaN or infinities' if is_odd else error_text(step.inputs_error)}"
    return f"{_not_compared_text(step)}; {known}" if step.not_compared else known


def _not_compared_text(step: GrowthStep) -> str:
    names = step.not_compared
    verb = "was" if len(names) == 1 else "were"
    return f"{few(names, 4)} {verb} not compared" if names else ""


def inputs_cell(step: GrowthStep) -> str:
    """Return the largest error of a tensor's inputs, for a table.

    It is a lower bound where some of them were not compared.
    """
    if step.inputs_error == math.inf:
        return "not finite"
    if step.not_compared:
        return f"≥ {error_text(step.inputs_error)}" if step.inputs_error else UNKNOWN
    return error_text(step.inputs_error)


def odd_text(step: GrowthStep) -> str:
    """Return what is not finite in a tensor: ``3 NaN, 12 infinite of 96``."""
    error = step.error
    counts = {
        "NaN": error.nan,
        "infinite": error.infinite,
        "finite only here": error.finite_only_here,
    }
    parts = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return f"{parts} of {error.elements:,}"


def _facts(found: Bisected) -> tuple[tuple[str, str], ...]:
    odd, beside, odd_at, overflow = found.first_not_finite, found.step(found.beside), "", ""
    if odd and odd.tensor != found.first:
        odd_at = f"first in {odd.tensor} ({odd.pair.operator}): {odd_text(odd)}"
    if beside:
        node = f"{beside.pair.node} ({beside.pair.operator})"
        text = _overflow_text(found, beside)
        overflow = f"{node}: {text}; the converted reference has it too"
    also = [
        f"{start.tensor} ({start.pair.operator}"
        f"{'' if start.reaches_output else ', no output shows it'})"
        for start in found.starts
        if start.tensor != found.first
    ]
    looked = f"{len(found.steps):,} of {found.tensors:,} tensors"
    times = "1 marked copy" if found.rounds == 1 else f"{found.rounds:,} marked copies"
    alone = f"; {found.alone:,} have no counterpart" if found.alone else ""
    return stated(
        ("why", why_text(found)),
        ("not finite", odd_at),
        ("beside it", overflow),
        ("also over", few(also, 3)),
        ("looked at", f"{looked} in {times}{alone}; {found.optimisation}"),
    )


def growth_row(step: GrowthStep, found: Bisected) -> tuple[str, ...]:
    """Return tensor, operator, verdict, error, its inputs' error, own error, |reference|."""
    own = step.own_error
    return (
        step.tensor,
        step.pair.operator,
        "starts" if step.tensor == found.first else "over" if step.error.over else "ok",
        figure_text(step),
        inputs_cell(step),
        "not finite" if own is not None and math.isinf(own) else error_text(own),
        magnitude(step.error.reference_peak),
    )


def figure_text(step: GrowthStep) -> str:
    """Return the error of a step; that it is not finite in a word."""
    return "not finite" if step.error.odd else error_text(step.error.error)


def magnitude(value: float | None) -> str:
    """Return a size for reading: three figures, its power of ten where it is large or small."""
    if value is None:
        return UNKNOWN
    if value and not 1e-3 <= value < 1e6:
        return f"{value:.3g}"
    return format_significant(value, 5 if value >= 1e4 else 3)


#: Marks a proposal: no other one is both faster and closer.
FRONT = "◆"


def suggestion_text(found: PrecisionTrials) -> str:
    """Return what to keep in FP32, in one sentence: the first 4 nodes by name."""
    if found.why_none:
        return f"nothing to try: {found.why_none}"
    one, text = found.suggested, "no proposal brings the outputs within their limits"
    if one is not None and one.kind == "none":
        text = "nothing: the outputs are within their limits, and no proposal is faster"
    elif one is not None:
        figures = f"{format_ms(one.latency_ms)}, err ÷ spread {error_text(one.error)}"
        text = f"everything: no smaller proposal passes and is faster ({figures})"
        if one.kind != "all":
            saved = "; everything in FP32 is no slower" if found.saves_nothing else ""
            text = f"{few(one.proposal.nodes, 4)} ({figures}){saved}"
    reason = "; latency is not a reason for reduced precision on this backend"
    return text + (reason if found.latency_is_no_reason else "")


def trial_row(one: PrecisionTrial, found: PrecisionTrials) -> tuple[str, ...]:
    """Return title, nodes, verdict, error, latency, its interval, whether on the front."""
    if one.failure:
        verdict, error = "failed", UNKNOWN
    else:
        verdict = "ok" if one.passes else "✗"
        error = "not finite" if one.error is None else error_text(one.error)
    return (
        one.proposal.title,
        "all" if one.kind == "all" else f"{len(one.proposal.nodes):,}",
        verdict,
        error,
        UNKNOWN if one.latency_ms is None else format_significant(one.latency_ms, 4),
        interval_cell(one.interval) if one.interval else UNKNOWN,
        FRONT if one in found.front else "",
    )


#: More points than a picture can tell apart: of the rest those with the largest errors stay.
_POINTS = 3_000
_WITHIN, _OVER, _START, _ODD = "within the limit", "over the limit", "where it starts", "not finite"
#: Kind of a point -> its color and its mark.
_LOOKS = {
    _WITHIN: (BLUE, "circle"),
    _OVER: (ORANGE, "triangle-up"),
    _START: (VERMILLION, "diamond"),
    _ODD: (VERMILLION, "cross"),
}
#: Field of a point -> its heading in the table.
_COLUMNS = {
    "position": "position",
    "tensor": "tensor",
    "operator": "operator",
    "figure": "RMSE ÷ spread",
    "inputs": "inputs'",
    "peak": "|reference|",
}
_ERROR = quantity("error", "RMSE ÷ spread of the reference", scale={"type": "log"})


def error_growth(found: Bisected, key: str) -> Chart | None:
    """RMSE ÷ spread of every tensor looked at; ``None`` where there is no error at all."""
    shown = found.steps
    if len(shown) > _POINTS:
        order = sorted(shown, key=lambda one: (-one.error.odd, -(one.error.error or 0.0)))
        kept = {one.tensor for one in order[:_POINTS]} | {found.first}
        shown = tuple(step for step in shown if step.tensor in kept)
    drawn = [one for one in shown if one.error.odd or one.error.error]
    if not drawn:
        return None
    top = max((one.error.error or 0.0 for one in drawn if not one.error.odd), default=0.0)
    top = max(top, found.limit or 0.0) or 1.0
    exact = sum(1 for step in found.steps if not step.error.odd and not step.error.error)
    subtitle = []
    if exact:
        subtitle.append(f"{exact:,} tensors without an error are not drawn")
    if any(one.error.odd for one in drawn):
        subtitle.append("Tensors with NaN or infinities are drawn at the upper edge")
    if len(shown) < len(found.steps):
        subtitle.append(f"{len(shown):,} of {len(found.steps):,} tensors, the largest among them")
    rows = [_row(one, found, 3 * top) for one in found.steps[:400]]
    layers = [_points([_row(one, found, 3 * top) for one in drawn])]
    if found.limit:
        line = [{"error": found.limit, "what": f"limit of {found.tolerance}"}]
        rule = {"type": "rule", "color": GREY, "strokeDash": [4, 4]}
        tips = tooltip(what="line", error="RMSE ÷ spread#")
        layers.insert(0, marks(line, rule, y=_ERROR, tooltip=tips))
    return Chart(
        key=key,
        title="The error along the model, from its inputs to its outputs",
        subtitle=tuple(subtitle),
        spec={"layer": layers},
        table=ChartTable(
            headers=tuple(_COLUMNS.values()),
            rows=tuple(tuple(str(row[name]) for name in _COLUMNS) for row in rows),
        ),
        height=300,
        is_wide=True,
    )


def _row(one: GrowthStep, found: Bisected, edge: float) -> Spec:
    kind = _ODD if one.error.odd else _OVER if one.error.over else _WITHIN
    return {
        "position": one.position,
        "error": edge if one.error.odd else one.error.error,
        "kind": _START if one.tensor == found.first else kind,
        "tensor": one.tensor,
        "node": one.pair.node,
        "operator": one.pair.operator,
        "figure": figure_text(one),
        "inputs": inputs_cell(one),
        "peak": magnitude(one.error.reference_peak),
    }


def _points(rows: list[Spec]) -> Spec:
    kinds = [kind for kind in _LOOKS if any(row["kind"] == kind for row in rows)]
    colors, shapes = (list(looks) for looks in zip(*(_LOOKS[kind] for kind in kinds), strict=True))
    kind: Spec = {"field": "kind", "type": "nominal", "legend": {"title": None, "orient": "top"}}
    position = "tensor, in the order of computation"
    return marks(
        rows,
        {"type": "point", "filled": True, "opacity": 0.9},
        x=quantity("position", position, axis={"grid": False, "tickMinStep": 1}),
        y=_ERROR,
        color={**kind, "scale": {"domain": kinds, "range": colors}},
        shape={**kind, "scale": {"domain": kinds, "range": shapes}},
        size={"condition": {"test": f"datum.kind === '{_START}'", "value": 240}, "value": 50},
        tooltip=tooltip(**{**_COLUMNS, "node": "node"}),
    )


def inside_part(found: Bisected, key: str) -> Part:
    """Return where the error starts, why, and the tensors that tell it.

    Args:
        key: Of its anchor and its chart; no other's.
    """
    steps = telling_steps(found)
    headers = ("tensor", "operator", "", "err ÷ spread", "inputs'", "own", "|reference|")
    table = TextTable(
        title="The start, what leads to it and what follows, and the outputs",
        headers=headers,
        rows=tuple(growth_row(step, found) for step in steps),
        numbers=headers[3:],
        shortened={"tensor": 0, "operator": 12},
        spared=("own", "|reference|"),
    )
    chart = error_growth(found, f"{key}-growth")
    return Part(
        key=f"{key}-inside",
        label="starts at" if found.first else "inside",
        answer=start_text(found),
        facts=_facts(found),
        tables=(table,) if steps else (),
        notices=found.notices,
        charts=(chart,) if chart else (),
    )


def precision_part(found: PrecisionTrials, key: str) -> Part:
    """Return what to keep in FP32, and the trials that show it; `key` begins its anchor."""
    one = found.suggested
    headers = ("kept in FP32", "nodes", "", "err ÷ spread", "median ms", "95 % CI ms", FRONT)
    table = TextTable(
        title="Proposals",
        headers=headers,
        rows=tuple(trial_row(trial, found) for trial in found.trials),
        numbers=(headers[1], *headers[3:6]),
        note=f"{FRONT} no other proposal is both faster and closer to the reference",
        shortened={headers[0]: 0},
        spared=("95 % CI ms",),
    )
    answer = suggestion_text(found)
    facts = (
        *stated(
            ("that is", one.specification if one and one.kind != "none" else None),
            ("tried by", found.way and f"{found.way}; {found.samples:,} samples each"),
        ),
        *(
            ("failed", f"{trial.proposal.title}: {trial.failure}")
            for trial in found.trials
            if trial.failure
        ),
    )
    tables = (table,) if found.trials else ()
    return Part(key=f"{key}-kept", label="keep FP32", answer=answer, facts=facts, tables=tables)


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
    counts = ("elements", "nan", "infinite", "finite_only_here")
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
        **{name: getattr(error, name) for name in counts},
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
