"""Compare runs with a baseline, job by job, and report what regressed."""

from collections.abc import Collection, Sequence
from typing import get_args

from enginescope.analysis.gate.gate import check_compared
from enginescope.analysis.gate.gate import gate as compare_jobs
from enginescope.analysis.suites.suite_row import with_cells
from enginescope.analysis.verdicts.comparability import check_pct
from enginescope.analysis.verdicts.compared_figures import check_metric
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GatePolicy, GateReport, GateTerms, Limit
from enginescope.services.observer import Observer
from enginescope.services.verdicts import run_selection
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.machine_records import FLOORS, SPREADS


class GateRequest(Record, frozen=True, kw_only=True, eq=False):
    """What to compare with which baseline.

    Attributes:
        current: Without any: the runs of the store that are newer than the baseline's, or the other
            sides of an interleaved baseline.
        continues: Continue what an earlier gate has begun to measure again.
        max_time_s: Of all that is measured again; ``None``: no limit.
        store: Where tags, ids, earlier runs and noise floors are looked up.
    """

    baseline: run_selection.RunsInput
    current: run_selection.RunsInput = ()
    terms: GateTerms = GateTerms()
    continues: bool = False
    max_time_s: float | None = None
    store: StorePlace | None = None


class GateQuestion:
    """A gate's request, with the runs of both sides and what the store knows of them."""

    def __init__(self, request: GateRequest, observer: Observer) -> None:
        """Read the runs."""
        policy = request.terms.inconclusive
        check_terms(request.terms.limits, policy, get_args(GatePolicy))
        if policy != "measure" and (request.continues or request.max_time_s is not None):
            name = "continue" if request.continues else "max_time"
            raise UsageError(f"`{name}` with `inconclusive` {policy}", why="it measures nothing")
        self.terms, self.store = request.terms, Store(request.store)
        sides = request.baseline, request.current
        self._cells = [run_selection.rows_of_suites(side, self.store) for side in sides]
        self.baseline, self.current = _sides(
            request, self.store, observer, has_cells=bool(self._cells[1])
        )
        self._name = _names(request.baseline) or "baseline"
        if not request.current and {one.turn and one.turn.side for one in self.baseline} == {"A"}:
            self._name = f"side A of {self._name}"
        self._history = run_selection.earlier_runs(self.baseline, self.store, observer.warn)
        self._floors = FLOORS.usable(self.store.path, observer.warn)
        self._spreads = SPREADS.usable(self.store.path, observer.warn)

    def compared(
        self,
        baseline: Sequence[Run],
        current: Sequence[Run],
        *,
        measurements: int = 1,
        begun: Collection[str] = (),
    ) -> GateReport:
        """Compare jobs on the terms of the request; parameters as `analysis.gate.gate` has them."""
        return compare_jobs(
            baseline,
            current,
            self.terms,
            name=self._name,
            floors=self._floors,
            history=self._history,
            spreads=self._spreads,
            measurements=measurements,
            begun=begun,
        )

    def checked(self, report: GateReport) -> GateReport:
        """Return the report with the cells of suites; raise `UsageError` if nothing compares."""
        return check_compared(with_cells(report, *self._cells), self.baseline, self.current)


def gate_runs(request: GateRequest, observer: Observer) -> GateReport:
    """Compare the jobs of two sets of runs as they are; nothing is measured."""
    question = GateQuestion(request, observer)
    return question.checked(question.compared(question.baseline, question.current))


def check_terms(limits: Sequence[Limit], inconclusive: str, policies: Sequence[str]) -> None:
    """Raise `UsageError` for a limit out of range or a policy that does not exist."""
    for limit in limits:
        check_metric(limit.metric)
        check_pct(f"`max_regression` of {limit.metric}", limit.regression_pct, 1_000)
    if inconclusive not in policies:
        raise UsageError(f"inconclusive {inconclusive!r}", hint=f"one of {', '.join(policies)}")


def _sides(
    request: GateRequest, store: Store, observer: Observer, *, has_cells: bool
) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Return the runs of both sides; a run of the baseline is not compared with itself.

    Of an interleaved comparison that both sides name, the first side is the baseline.
    """
    baseline = run_selection.resolve_runs(request.baseline, store, observer.warn)
    if not request.current:
        return run_selection.interleaved_sides(baseline) or (
            baseline,
            run_selection.runs_since(baseline, store),
        )
    named = run_selection.resolve_runs(request.current, store, observer.warn)
    ids = {run.id for run in named}
    others = {run.id for run in baseline if run.id in ids and run.turn and run.turn.side != "A"}
    baseline = tuple(run for run in baseline if run.id not in others)
    kept = {run.id for run in baseline}
    current = tuple(run for run in named if run.id not in kept)
    if not current and (named or not has_cells):
        names = _names(request.current)
        what = f"no current runs in {names}" if names else "no current runs"
        hint = "measure again: enginescope bench MODEL… --tag NAME, or suite SUITE --name NAME"
        raise UsageError(what, why="all of them are the baseline's", hint=hint)
    return baseline, current


def _names(runs: run_selection.RunsInput) -> str:
    return ", ".join(item for item in runs if isinstance(item, str))
