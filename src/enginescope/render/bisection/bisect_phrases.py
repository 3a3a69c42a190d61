"""Where an error starts, and what keeping parts of a side in FP32 gains, in words and cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep
from enginescope.analysis.bisection.precision_proposals import PrecisionTrial, PrecisionTrials
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.accuracy.validate_phrases import error_text
from enginescope.render.base.figures import UNKNOWN, interval_cell

_BARS = "▁▂▃▄▅▆▇█"
#: What stands in a row of bars for NaN and infinities.
_NOT_FINITE = "∞"


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


#: Cause of a search that finds no start -> what that means.
_UNSEEN = {
    "gone": "the runtime then fuses or places layers differently; the cause is an optimization or "
    "a fused kernel",
    "unpaired": "no floating-point output has a counterpart in the reference",
}


def why_text(found: Bisected) -> str | None:
    """Return what the figures say of the cause, and whether the reference has another operator."""
    step = found.first_step
    if step is None:
        return _UNSEEN.get(found.cause)
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
        peaks = (error_text(step.error.peak), error_text(found.peak_limit))
        figure = f"largest error ÷ spread {peaks[0]}, at most {peaks[1]}"
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
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    verb = "was" if len(names) == 1 else "were"
    return f"{', '.join(names[:_MOST_NAMES])}{more} {verb} not compared" if names else ""


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
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (error.nan, "NaN"),
            (error.infinite, "infinite"),
            (error.finite_only_here, "finite only here"),
        )
        if count
    ]
    return f"{', '.join(parts)} of {error.elements:,}"


def not_finite_text(found: Bisected) -> str | None:
    """Return where NaN or infinities come first, if that is elsewhere than the start."""
    step = found.first_not_finite
    if step is None or step.tensor == found.first:
        return None
    return f"first in {step.tensor} ({step.pair.operator}): {odd_text(step)}"


def beside_text(found: Bisected) -> str | None:
    """Return the overflow that the converted reference has too."""
    step = found.step(found.beside)
    if step is None:
        return None
    why = _overflow_text(found, step)
    return f"{step.pair.node} ({step.pair.operator}): {why}; the converted reference has it too"


def also_text(found: Bisected) -> str | None:
    """Return further tensors over their limits that nothing over them leads to."""
    others = [start for start in found.starts if start.tensor != found.first]
    if not others:
        return None
    shown = ", ".join(
        f"{other.tensor} ({other.pair.operator}"
        f"{'' if other.reaches_output else ', no output shows it'})"
        for other in others[:3]
    )
    return shown + (f" and {len(others) - 3:,} more" if len(others) > 3 else "")


def scope_text(found: Bisected) -> str:
    """Return what was looked at and how."""
    looked = f"{len(found.steps):,} of {found.tensors:,} tensors"
    times = "1 marked copy" if found.rounds == 1 else f"{found.rounds:,} marked copies"
    alone = f"; {found.alone:,} have no counterpart" if found.alone else ""
    return f"{looked} in {times}{alone}; {found.optimisation}"


def growth_row(step: GrowthStep, found: Bisected) -> tuple[str, ...]:
    """Return tensor, operator, verdict, error, its inputs' error, own error, |reference|."""
    return (
        step.tensor,
        step.pair.operator,
        "starts" if step.tensor == found.first else "over" if step.error.over else "ok",
        figure_text(step),
        inputs_cell(step),
        own_text(step),
        magnitude(step.error.reference_peak),
    )


def figure_text(step: GrowthStep) -> str:
    """Return the error of a step; that it is not finite in a word."""
    return "not finite" if step.error.odd else error_text(step.error.error)


def own_text(step: GrowthStep) -> str:
    """Return what a node adds by itself."""
    own = step.own_error
    return "not finite" if own is not None and math.isinf(own) else error_text(own)


def magnitude(value: float | None) -> str:
    """Return a size for reading: three figures, its power of ten where it is large or small."""
    if value is None:
        return UNKNOWN
    if value and not 1e-3 <= value < 1e6:
        return f"{value:.3g}"
    return format_significant(value, 5 if value >= 1e4 else 3)


def spark(steps: Sequence[GrowthStep], columns: int) -> str | None:
    """Return the errors along the graph as bars of their logarithm, and what they span.

    Each column shows the largest error in its part; ``∞`` one that is not finite, a blank none.
    """
    known = [step.error.error for step in steps if step.error.error and not step.error.odd]
    if not known or len(steps) < 2:
        return None
    low, high = math.log10(min(known)), math.log10(max(known))
    columns = min(columns, len(steps))
    bars = ""
    for at in range(columns):
        part = steps[at * len(steps) // columns : (at + 1) * len(steps) // columns]
        largest = max((one.error.error or 0.0 for one in part), default=0.0)
        is_odd = any(one.error.odd for one in part)
        bars += _NOT_FINITE if is_odd else _bar(largest, low, high)
    return f"{bars}  {10**low:.2g} … {10**high:.2g}, logarithmic"


def _bar(value: float, low: float, high: float) -> str:
    """Return one column for a value between two decades."""
    if value <= 0:
        return " "
    share = (math.log10(value) - low) / (high - low) if high > low else 1.0
    return _BARS[round(max(0.0, min(1.0, share)) * (len(_BARS) - 1))]


#: Marks a proposal: no other one is both faster and closer.
FRONT = "◆"
_MOST_NAMES = 4


def suggestion_text(found: PrecisionTrials) -> str:
    """Return what to keep in FP32, in one sentence."""
    if found.why_none:
        return f"nothing to try: {found.why_none}"
    reason = "; latency is not a reason for reduced precision on this backend"
    return _suggestion(found) + (reason if found.latency_is_no_reason else "")


def _suggestion(found: PrecisionTrials) -> str:
    one = found.suggested
    if one is None:
        return "no proposal brings the outputs within their limits"
    if one.kind == "none":
        return "nothing: the outputs are within their limits, and no proposal is faster"
    figures = f"{format_ms(one.latency_ms)}, err ÷ spread {error_text(one.error)}"
    if one.kind == "all":
        return f"everything: no smaller proposal passes and is faster ({figures})"
    saved = "; everything in FP32 is no slower" if found.saves_nothing else ""
    return f"{kept_text(one)} ({figures}){saved}"


def kept_text(one: PrecisionTrial) -> str:
    """Return the nodes that stay in FP32, the first of them by name."""
    nodes = one.proposal.nodes
    more = f" and {len(nodes) - _MOST_NAMES:,} more" if len(nodes) > _MOST_NAMES else ""
    return ", ".join(nodes[:_MOST_NAMES]) + more


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


def failures(found: PrecisionTrials) -> tuple[str, ...]:
    """Return why trials could not be made, one sentence each."""
    return tuple(
        f"{trial.proposal.title}: {trial.failure}" for trial in found.trials if trial.failure
    )
