"""Compare runs with a baseline, job by job, and report what regressed."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, get_args

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.verdict.gate import (
    DEFAULT_REGRESSION_PCT,
    GateTerms,
    InconclusivePolicy,
    Limit,
)
from enginescope.services.observer import PlanObserver
from enginescope.services.store_access import place_of
from enginescope.services.verdicts.run_selection import (
    earlier_runs,
    input_of,
    interleaved_sides,
    resolve_runs,
    runs_since,
)
from enginescope.store.machine_records import FLOORS, SPREADS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enginescope.records.run.run import Run
    from enginescope.records.verdict.gate import GateReport
    from enginescope.services.verdicts.run_selection import Named, RunsInput
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace


class GateRequest(Record, frozen=True, kw_only=True, eq=False):
    """What to compare with which baseline.

    Attributes:
        current: Without any: the runs of the store that are newer than the baseline's, or the other
            sides of an interleaved baseline.
        store: Where tags, ids, earlier runs and noise floors are looked up.
    """

    baseline: RunsInput
    current: RunsInput = ()
    terms: GateTerms = GateTerms()
    store: StorePlace | None = None


def gate_runs(request: GateRequest, observer: PlanObserver) -> GateReport:
    """Compare the jobs of two sets of runs.

    Raises:
        UsageError: No job has a metric of the limits on both sides, so many jobs failed that
            nothing is left to compare, a limit is out of range, or there are no current runs.
        FormatError, StoreError: A file cannot be used, or a run does not exist.
    """
    from enginescope.analysis.gate.compared import check_compared
    from enginescope.analysis.gate.gate import gate as compare_jobs
    from enginescope.analysis.suites.suite_gate import with_cells
    from enginescope.analysis.verdicts.comparability import check_pct
    from enginescope.analysis.verdicts.compared_figures import check_metric
    from enginescope.services.verdicts.run_selection import rows_of_suites
    from enginescope.store.archive import Store

    for limit in request.terms.limits:
        check_metric(limit.metric)
        check_pct(f"`max_regression` of {limit.metric}", limit.regression_pct, 1_000)
    policies = get_args(InconclusivePolicy)
    if request.terms.inconclusive not in policies:
        raise UsageError(
            f"inconclusive {request.terms.inconclusive!r}", hint=f"one of {', '.join(policies)}"
        )
    store = Store(request.store)
    cells = [rows_of_suites(side, store) for side in (request.baseline, request.current)]
    baseline, current = _sides(request, store, observer, has_cells=bool(cells[1]))
    report = compare_jobs(
        baseline,
        current,
        request.terms,
        name=_names(request.baseline) or "baseline",
        floors=FLOORS.usable(store.path, observer.warn),
        history=earlier_runs(baseline, store, observer.warn),
        spreads=SPREADS.usable(store.path, observer.warn),
    )
    return check_compared(with_cells(report, *cells), baseline, current)


def gate(
    current: Named | None = None,
    *,
    baseline: Named,
    max_regression_pct: float | Mapping[str, float] = DEFAULT_REGRESSION_PCT,
    inconclusive: InconclusivePolicy = "warn",
    across: Sequence[str] = (),
    confidence: float = 0.95,
    store: str | PathLike[str] | None = None,
) -> GateReport:
    """Compare runs with a baseline.

    Args:
        current, baseline: Runs as for `compare`, of any number of jobs. Without `current`: the runs
            of the store that are newer than the baseline's, or the other sides of an interleaved
            baseline.
        max_regression_pct: Largest increase of latency, or of each metric:
            ``{"latency": 2, "p99": 5}``.
        inconclusive: How to treat inconclusive results.
        across: Conditions whose difference is intended: ``("gpu", "driver")``.
        confidence: Confidence of the whole gate: the probability of a false regression, over all
            jobs and metrics, is at most the rest.
        store: Path or URL where tags, ids, earlier runs and noise floors are looked up.

    Returns:
        ``report.is_passed``, and a row for each job and metric.

    Raises:
        UsageError: Nothing could be compared, a limit is out of range, or as `compare`.
        FormatError, StoreError: As `compare`.
    """
    from enginescope.analysis.verdicts.compared_figures import HEADLINE

    given = max_regression_pct
    limits = given if isinstance(given, Mapping) else {HEADLINE: given}
    terms = GateTerms(
        limits=tuple(Limit(metric=name, regression_pct=pct) for name, pct in limits.items()),
        inconclusive=inconclusive,
        across=tuple(across),
        confidence=confidence,
    )
    request = GateRequest(
        baseline=input_of(baseline),
        current=() if current is None else input_of(current),
        terms=terms,
        store=place_of(store),
    )
    return gate_runs(request, PlanObserver())


def _sides(
    request: GateRequest, store: Store, observer: PlanObserver, *, has_cells: bool
) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Return the runs of both sides; a run of the baseline is not compared with itself."""
    baseline = resolve_runs(request.baseline, store, observer.warn)
    if not request.current:
        return interleaved_sides(baseline) or (baseline, runs_since(baseline, store))
    ids = {run.id for run in baseline}
    named = resolve_runs(request.current, store, observer.warn)
    current = tuple(run for run in named if run.id not in ids)
    if not current and (named or not has_cells):
        names = _names(request.current)
        raise UsageError(
            f"no current runs in {names}" if names else "no current runs",
            why="all of them are the baseline's",
            hint="measure again: enginescope bench MODEL… --tag NAME, or suite SUITE --name NAME",
        )
    return baseline, current


def _names(runs: RunsInput) -> str:
    return ", ".join(item for item in runs if isinstance(item, str))
