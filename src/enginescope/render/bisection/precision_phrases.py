"""What came of keeping parts of a side in FP32, in words and cells."""

from __future__ import annotations

from enginescope.analysis.bisection.precision_trials import PrecisionTrial, PrecisionTrials
from enginescope.core.units import format_ms, format_significant
from enginescope.render.accuracy.validate_phrases import error_text
from enginescope.render.base.figures import UNKNOWN, interval_cell

#: Marks what nothing is both faster and nearer than.
FRONT = "◆"
_MOST_NAMES = 4


def suggestion_text(found: PrecisionTrials) -> str:
    """Return what to keep in FP32, in one sentence."""
    if found.why_none:
        return f"nothing to try: {found.why_none}"
    reason = (
        "; latency is not a reason for reduced precision on this backend"
        if found.latency_is_no_reason
        else ""
    )
    return _suggestion(found) + reason


def _suggestion(found: PrecisionTrials) -> str:
    one = found.suggested
    if one is None:
        return "nothing that was tried brings the outputs within their limits"
    if one.kind == "none":
        return "nothing: it is within its limits as it is, and nothing tried is faster"
    figures = f"{format_ms(one.latency_ms)}, err ÷ spread {error_text(one.error)}"
    if one.kind == "all":
        return f"everything: nothing that keeps less passes and is faster ({figures})"
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
