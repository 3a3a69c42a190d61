"""Whether a baseline is steady enough to be held to a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginescope.analysis.gate_metrics import figure_of
from enginescope.analysis.run_view import RunView
from enginescope.core.units import format_significant
from enginescope.model.notice import Notice
from enginescope.model.run import Run
from enginescope.stats.noise import scatter_of

#: What a single process's own samples may say against it.
_OF_SAMPLES = ("W-DRIFT", "W-BIMODAL")


def flaky_baseline(runs: Sequence[Run], metric: str, limit_pct: float) -> Notice | None:
    """Return why the baseline's figure is no firm ground, or ``None``.

    Of several processes: two of them differ by more than the limit in more than one of twenty
    pairs. Of a single one: its samples drift, or lie at two levels.

    Parameters
    ----------
    runs : sequence of Run
        Its processes that went well.
    metric : str
        As ``--metric`` has it.
    limit_pct : float
    """
    views = [RunView(one) for one in runs]
    if len(views) == 1:
        return None if figure_of(metric) else _of_one(views[0])
    known = [value for one in views if (value := _value(one, metric)) is not None and value > 0]
    if len(known) < 2:
        return None
    apart_pct = 100 * math.expm1(math.sqrt(2) * scatter_of(known))
    if apart_pct <= limit_pct:
        return None
    return _notice(
        f"its {len(known)} processes differ by up to {format_significant(apart_pct, 2)} %, more "
        f"than the limit of {limit_pct:g} %",
        {"apart_pct": apart_pct, "processes": len(known)},
    )


def _of_one(view: RunView) -> Notice | None:
    found = next((one for one in view.notices if one.code in _OF_SAMPLES), None)
    return _notice(f"{found.message} ({found.code})", found.evidence) if found else None


def _value(view: RunView, metric: str) -> float | None:
    figure = figure_of(metric)
    if figure is not None:
        return figure.of(view)
    summary = view.latency if metric == "latency" else view.summary(metric)
    return summary.median_ms if summary else None


def _notice(message: str, evidence: dict[str, object]) -> Notice:
    return Notice(
        code="W-FLAKY-BASELINE", message=f"flaky baseline: {message}", evidence=dict(evidence)
    )
