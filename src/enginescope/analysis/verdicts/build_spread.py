"""Verdicts that the recorded variation between builds does not bear out.

A side that ran a single build says how fast that build is. Another build of the same model may be
as far away as builds differ, which `enginescope lottery` measures.
"""

import math
from collections import Counter
from collections.abc import Sequence

from enginescope.analysis.runs.run_view import Runs
from enginescope.analysis.verdicts.compared_figures import figure_of
from enginescope.analysis.verdicts.evidence_levels import is_own_build
from enginescope.core.record import replace
from enginescope.judge.comparison.run_to_run import SessionShift, allow_for_sessions
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from enginescope.records.run.run import Run
from enginescope.records.verdict.lottery import BuildSpread


def withheld(verdict: Verdict, a: Runs, b: Runs, spreads: Sequence[BuildSpread]) -> Verdict:
    """Return the verdict; inconclusive where the variation between builds covers the difference.

    It does so if a side is of a single build, and the interval, widened by the variation between
    builds, reaches 1. Sides that share their build are compared as they are. A verdict that is
    inconclusive already keeps its reason; its detail says that not even the direction is known.

    Args:
        a, b: The runs of either side that succeeded.
        spreads: Recorded ones of any machine and model.
    """
    estimate, figure = verdict.estimate, figure_of(verdict.metric)
    is_time = figure is None or figure.percentile is not None or figure.name == "throughput"
    if estimate is None or _holds_1(estimate) or not is_time:
        return verdict
    counts = builds_of(a), builds_of(b)
    fitting = [one for runs in (a, b) if (one := _of_side(runs[0], spreads)) is not None]
    spread = max(fitting, key=lambda one: one.sd, default=None)
    if spread is None or min(map(len, counts)) > 1:
        return verdict
    # how far apart the builds of the two sides are: 0 where they share them
    first, second = counts
    shares = (first[one] / first.total() - second[one] / second.total() for one in first | second)
    count, weight = spread.builds, math.sqrt(sum(share**2 for share in shares))
    shift = SessionShift(sd=spread.sd, sessions=count, weight=weight, freedom=count - 1)
    if not _holds_1(allow_for_sessions(estimate, shift)):
        return verdict
    pct = 100 * math.expm1(spread.sd)
    detail = (
        f"one build does not speak for others: builds of {spread.model} differ by {pct:.2g} % "
        f"({spread.builds} builds, enginescope lottery, {spread.created[:10]})"
    )
    if verdict.reason is Reason.INTERVAL_TOO_WIDE:
        return replace(verdict, detail=detail)
    if verdict.kind not in (VerdictKind.FASTER, VerdictKind.SLOWER):
        return verdict
    return replace(
        verdict,
        kind=VerdictKind.INCONCLUSIVE,
        reason=Reason.BUILD_SPREAD,
        corrected_ratio=None,
        more=None,
        detail=detail,
    )


def _holds_1(estimate: RatioEstimate) -> bool:
    interval = estimate.interval
    return interval is None or interval.low <= 1 <= interval.high


def builds_of(runs: Runs) -> Counter[str]:
    """Return how many runs each build has; a run that made its own build is one of its own."""
    return Counter(_build_of(run) for run in runs)


def _build_of(run: Run) -> str:
    built = run.build
    if built is not None:
        return built.engine_sha256 or f"{built.engine} {built.build_ms}"
    if is_own_build(run):
        return run.id
    if run.preparation is not None:
        return f"{run.preparation.key} {run.preparation.record}"
    return run.job.subject.sha256 or run.job.subject.name


def _of_side(run: Run, spreads: Sequence[BuildSpread]) -> BuildSpread | None:
    """Return the spread of a run's job: with the same options if there is spread."""
    machine = run.environment.comparable_key()
    cache = run.build.timing_cache_sha256 if run.build is not None else None
    fitting = [
        spread
        for spread in spreads
        if spread.environment == machine
        and spread.backend == run.job.backend.name
        and spread.precision == precision_of(run)
        and _is_model(spread, run)
        and spread.timing_cache_sha256 in (None, cache)
    ]
    pinned = [spread for spread in fitting if spread.timing_cache_sha256 is not None]
    same = [spread for spread in pinned or fitting if spread.options == build_options_of(run)]
    return max(same or pinned or fitting, key=lambda spread: spread.sd, default=None)


def precision_of(run: Run) -> str | None:
    """Return the precision that a run's engine was built with, or its session opened with."""
    return run.build.precision if run.build is not None else run.job.backend.precision


def build_options_of(run: Run) -> dict[str, str]:
    """Return the options that decide what is built."""
    options = run.build.options if run.build is not None else run.job.backend.options
    # an option of ONNX Runtime's backends that stores the graph of a build: it computes the same
    return {key: value for key, value in options.items() if key != "optimized_model"}


def _is_model(spread: BuildSpread, run: Run) -> bool:
    names = {run.job.subject.name, run.build.model if run.build is not None else None}
    digests = {run.job.subject.sha256, run.build.model_sha256 if run.build is not None else None}
    digest = spread.model_sha256
    return spread.model in names or (digest is not None and digest in digests)
