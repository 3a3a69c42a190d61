"""Whether the processes of a baseline scatter more than processes ordinarily do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.compare_config import CompareConfig
from enginescope.analysis.verdicts.gate_metrics import figure_of, process_value
from enginescope.core.units import format_significant
from enginescope.records.notice import Notice
from enginescope.records.run.run import Run
from enginescope.stats.noise import exceeds_scatter

#: Notices on the samples of a single process that make it a poor baseline.
_OF_SAMPLES = ("W-DRIFT", "W-BIMODAL")
#: Half the width of a 95 % interval, in standard deviations of a normal distribution.
_HALF_WIDTH = 1.96


def flaky_baseline(
    runs: Sequence[Run], metric: str, limit_pct: float, terms: CompareConfig
) -> Notice | None:
    """Return a warning if the baseline is not steady, or ``None``.

    Several processes are tested against the larger of two scatters: the ordinary one, which is the
    measured or the assumed one in `terms`, and the one with which one pair of processes in twenty
    differs by more than the limit. A single process is flaky if its samples drift or lie at two
    levels. Figures and percentiles have no ordinary scatter, and no warning.

    Args:
        runs: Its successful processes.
        metric: As ``--metric`` has it.
    """
    if figure_of(metric) is not None:
        return None
    views = [RunView(run) for run in runs]
    if len(views) == 1:
        return _of_single(views[0])
    values = [value for view in views if (value := process_value(view, metric)) is not None]
    harmless = math.log1p(limit_pct / 100) / math.sqrt(2)
    ordinary_sd = max(terms.scatter, harmless) / _HALF_WIDTH
    if len(values) < 2 or not exceeds_scatter(values, ordinary_sd):
        return None
    sd_pct, ordinary_pct = (
        100 * math.expm1(sd) for sd in (float(np.std(np.log(values), ddof=1)), ordinary_sd)
    )
    return _notice(
        f"its {len(values)} processes scatter by {format_significant(sd_pct, 2)} % (standard "
        f"deviation), clearly more than the ordinary {format_significant(ordinary_pct, 2)} %; "
        "measure it again on a quiet machine",
        {"sd_pct": sd_pct, "ordinary_sd_pct": ordinary_pct, "processes": len(values)},
    )


def _of_single(view: RunView) -> Notice | None:
    found = next((notice for notice in view.notices if notice.code in _OF_SAMPLES), None)
    return _notice(f"{found.message} ({found.code})", found.evidence) if found else None


def _notice(message: str, evidence: dict[str, object]) -> Notice:
    return Notice(
        code="W-FLAKY-BASELINE", message=f"flaky baseline: {message}", evidence=dict(evidence)
    )
