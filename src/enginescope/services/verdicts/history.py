"""Follow a metric over stored runs, and find where its level changed."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import check_pct
from enginescope.analysis.verdicts.compared_figures import check_metric
from enginescope.analysis.verdicts.history import histories, with_warnings
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory
from enginescope.services.observer import PlanObserver
from enginescope.services.store_access import place_of
from enginescope.services.verdicts.run_selection import input_of, runs_of_model
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


class HistoryRequest(Record, frozen=True, kw_only=True, eq=False):
    """Whose metric to follow: the newest `last` runs of a model, or `runs`; see `history`.

    The model is a name, a part of one, or a path; the backend, the beginning of its specification.
    """

    model: str | None = None
    runs: tuple[Run, ...] = ()
    metric: str = "latency"
    backend: str | None = None
    tag: str | None = None
    last: int | None = None
    threshold_pct: float = 2.0
    sitting_s: float = 3600.0
    store: StorePlace | None = None


def history_of(request: HistoryRequest, observer: PlanObserver) -> tuple[JobHistory, ...]:
    """Return the series of each job and machine, the longest first."""
    metric = check_metric(request.metric)
    check_pct("threshold", request.threshold_pct, 1_000)
    if not request.sitting_s >= 0:
        raise UsageError(f"sitting_s {request.sitting_s:g}", why="not a duration in seconds")
    if request.last is not None and request.last < 1:
        raise UsageError(f"last {request.last}", why="not a number of runs")
    runs = request.runs
    if request.model is not None:
        runs = runs_of_model(
            request.model,
            Store(request.store),
            observer.warn,
            backend=request.backend,
            tag=request.tag,
            last=request.last,
        )
    found = histories(
        runs, metric, threshold_pct=request.threshold_pct, sitting_s=request.sitting_s
    )
    if not found:
        raise UsageError(
            f"no {metric} in the runs of {request.model or 'these views'}",
            why=f"{len(runs)} runs, none with it",
            hint="choose another metric",
        )
    known = {run.id: run for run in runs}

    def warnings_of(ids: Sequence[str]) -> dict[str, tuple[Notice, ...]]:
        every = ((run, RunView(known[run]).notices) for run in ids)
        return {run: tuple(one for one in said if one.level == "warning") for run, said in every}

    return with_warnings(found, warnings_of)


def history(
    runs: str | PathLike[str] | Sequence[RunView],
    *,
    metric: str = "latency",
    on: str | None = None,
    tag: str | None = None,
    last: int | None = None,
    threshold_pct: float = 2.0,
    sitting_s: float = 3600.0,
    store: str | PathLike[str] | None = None,
) -> tuple[JobHistory, ...]:
    """Follow a metric over stored runs, and find where its level changed.

    Args:
        runs: A model's name, a part of it, or its path, for its runs in the store; or the runs
            themselves.
        metric: As for `gate`: ``"p99"``, ``"load"``, …
        on, tag, last: Only stored runs on backends that begin so, with this tag, or the newest of
            this number.
        threshold_pct: Smaller changes of level are ignored.
        sitting_s: Runs that follow each other within this time, with nothing changed between them,
            are one point.

    Returns:
        A series for each job and machine, the longest first. A stored run that is damaged is
        skipped, with a warning.

    Raises:
        UsageError: The metric does not exist, or no run fits or has it.
    """
    items = input_of(runs)
    request = HistoryRequest(
        model=str(items[0]) if isinstance(runs, str | PathLike) else None,
        runs=tuple(run for run in items if not isinstance(run, str)),
        metric=metric,
        backend=on,
        tag=tag,
        last=last,
        threshold_pct=threshold_pct,
        sitting_s=sitting_s,
        store=place_of(store),
    )
    return history_of(request, PlanObserver())
