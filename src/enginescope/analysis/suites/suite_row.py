"""Make a cell's row from its runs and compared outputs, and tell a gate of wrong outputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone

import numpy as np

from enginescope.analysis.runs.provider_work import provider_work
from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.analysis.verdicts.compared_figures import GATED_FIGURES, TAILS
from enginescope.core.record import Record, copied, replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval
from enginescope.records.notice import is_unstable
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import Cell, CellFigure, CellProvider, CellRow, CellStatus
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow

#: Ends of the interval of a figure, which of several processes comes from between them.
_ENDS = ("_low", "_high")
_TAILS = tuple(one.name for one in TAILS)
#: Metric -> what those of all processes come to, where it is not their median.
_POOLED: dict[str, Callable[[Sequence[float]], float]] = {"samples": sum, "min": min, "max": max}


def pooled_figures(of_each: Sequence[tuple[CellFigure, ...]]) -> tuple[CellFigure, ...]:
    """Return the figures of all processes together; those of one as they are.

    Each is the median of the processes' figures, as in a comparison, and left out where a process
    does not have it; samples are added, ``min`` and ``max`` are those of all. names with
    ``_low`` and ``_high`` are the ends of the interval of the level that the processes scatter
    about. A percentile without an interval is left out.
    """
    if len(of_each) < 2:
        return of_each[0] if of_each else ()
    every = [figure for figures in of_each for figure in figures]
    units = {figure.metric: figure.unit for figure in every}
    found: list[CellFigure] = []
    for name, unit in units.items():
        known = [figure.value for figure in every if figure.metric == name]
        # later processes find kept what only the first one may have to do
        is_of_all = len(known) == len(of_each) or name.startswith("cold_")
        if name.endswith(_ENDS) or not is_of_all:
            continue
        value = float(_POOLED.get(name, np.median)(known))
        interval = level_of_processes(known) if name in ("latency", *_TAILS) else None
        if interval is not None or name not in _TAILS:
            found += [CellFigure(metric=name, value=value, unit=unit)]
            found += _ends(name, interval, unit)
    return tuple(found)


def _ends(name: str, interval: Interval | None, unit: str) -> list[CellFigure]:
    if interval is None:
        return []
    ends = zip(_ENDS, (interval.low, interval.high), strict=True)
    return [CellFigure(metric=f"{name}{end}", value=value, unit=unit) for end, value in ends]


class CellChecked(Record, frozen=True, kw_only=True):
    """What the comparison of a cell's outputs came to."""

    status: CellStatus
    reason: str | None = None
    hint: str | None = None
    figures: tuple[CellFigure, ...] = ()


class CellTime(Record, frozen=True, kw_only=True):
    """When a cell was done, how often it was tried, and under which conditions."""

    started: str
    attempts: int
    versions: Mapping[str, str]


def cell_row(cell: Cell, runs: Runs, time: CellTime, checked: CellChecked | None = None) -> CellRow:
    """Return the row of a cell that has ended.

    Args:
        runs: Of its processes in order; none: it was not measured.
        checked: Where its outputs were compared.
    """
    run = _shown(runs)
    status, reason, hint, detail = _ending(run, checked)
    environment = run.environment if run else None
    weak = [_weak(one, is_alone=len(runs) == 1) for one in runs]
    unstable = sum(any(map(is_unstable, one)) for one in weak)
    devices = environment.devices if environment else ()
    is_good = all(one.is_ok for one in runs)
    figures = pooled_figures([run_figures(one) for one in runs]) if is_good else ()
    return CellRow(
        cell=cell,
        status=status,
        reason=reason,
        hint=hint,
        detail=detail,
        run=run.id if run else None,
        runs=tuple(one.id for one in runs) if len(runs) > 1 else (),
        started=time.started,
        ended=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        attempts=time.attempts,
        figures=(*(checked.figures if checked else ()), *figures),
        providers=cell_providers(run) if run else (),
        warnings=tuple(dict.fromkeys(one.code for those in weak for one in those)),
        is_unstable=0 < len(runs) <= 2 * unstable,
        versions=dict(time.versions),
        host=environment.host.name if environment else None,
        cpu=environment.host.cpu_model if environment else None,
        gpu=devices[0].name if devices else None,
    )


def _shown(runs: Runs) -> Run | None:
    """Return the run that stands for all: the one that failed, else that of the middle median."""
    if not runs or not runs[-1].is_ok:
        return runs[-1] if runs else None
    latencies = [RunView(run).latency for run in runs]
    medians = [latency.median_ms for latency in latencies if latency is not None]
    if len(medians) < len(runs):
        return runs[-1]
    in_order = sorted(range(len(runs)), key=medians.__getitem__)
    return runs[in_order[(len(runs) - 1) // 2]]


def _weak(run: Run, *, is_alone: bool) -> tuple[Notice, ...]:
    """Return the notices on the figures of a run.

    Of several processes what their samples say of themselves is left out: it is in the interval,
    which is of what the processes differ by.
    """
    if not run.is_ok:
        return ()
    notices = RunView(run).notices if is_alone else run.notices
    return tuple(notice for notice in notices if notice.level == "warning")


def run_figures(run: Run) -> tuple[CellFigure, ...]:
    """Return the figures of a run, under the names that ``gate --metric`` knows where it has them.

    ``latency`` is the median; a percentile without an interval is left out.
    """
    if not run.is_ok:
        return ()
    view = RunView(run)
    found: list[CellFigure] = []
    latency = view.latency
    if latency is not None:
        amounts = {
            "latency": latency.median_ms,
            "mean": latency.mean_ms,
            "sd": latency.std_ms,
            "min": latency.min_ms,
            "max": latency.max_ms,
        }
        known = {name: value for name, value in amounts.items() if value is not None}
        found += _times(known)
        found += _ends("latency", latency.median_interval, "ms")
        found.append(CellFigure(metric="samples", value=latency.n, unit="1"))
        device = view.summary("device_latency")
        if device is not None and latency.metric == "latency":
            # a request with its tensors on the device, and what that leaves out: below zero where
            # the two medians differ by less than they scatter
            copies = latency.median_ms - device.median_ms
            found += _times({"device_latency": device.median_ms, "copies": copies})
        tokens = (view.summary(metric) for metric in ("time_to_first_token", "time_per_token"))
        found += _times({one.metric: one.median_ms for one in tokens if one})
    if run.inputs:
        found.append(CellFigure(metric="inputs", value=len(run.inputs), unit="1"))
    cold = run.preparation.cold if run.preparation else ()
    cold = (*cold, *(one for one in run.phases if one.name.startswith("session_from_")))
    found += [CellFigure(metric=one.name, value=one.duration_ms, unit="ms") for one in cold]
    for one in GATED_FIGURES:
        value = one.of(view)
        if value is not None:
            found.append(CellFigure(metric=one.name, value=float(value), unit=one.unit))
        if value is not None and latency is not None and one.percentile is not None:
            tail = latency.percentile(one.percentile)
            found += _ends(one.name, tail.interval if tail else None, one.unit)
    return tuple(found)


def _times(times_ms: Mapping[str, float]) -> list[CellFigure]:
    return [CellFigure(metric=name, value=value, unit="ms") for name, value in times_ms.items()]


def cell_providers(run: Run) -> tuple[CellProvider, ...]:
    """Return nodes and times of each execution provider, the one with most nodes first."""
    made = [copied(CellProvider, one) for one in provider_work(run)]
    return tuple(sorted(made, key=lambda one: -(one.nodes or 0)))


def answer_figures(sides: Iterable[ValidatedSide]) -> tuple[CellFigure, ...]:
    """Return the worst figures over all outputs."""
    diffs = [out for side in sides if side.diff is not None for out in side.diff.outputs]
    figures = [diff.figures for diff in diffs if diff.figures is not None]
    worst: list[CellFigure] = []
    for name in ("max_abs_error", "max_rel_error", "mismatch_pct", "cosine"):
        worse, unit = min if name == "cosine" else max, "%" if name.endswith("_pct") else "1"
        values = [getattr(figure, name) for figure in figures]
        known = [value for value in values if value is not None]
        if known:
            worst.append(CellFigure(metric=name, value=worse(known), unit=unit))
    return tuple(worst)


def _ending(
    run: Run | None, checked: CellChecked | None
) -> tuple[CellStatus, str | None, str | None, str | None]:
    if run is not None and not run.is_ok:
        outcome = run.outcome
        return CellStatus(outcome.kind.value), outcome.message, outcome.hint, outcome.detail
    if checked is not None:
        return checked.status, checked.reason, checked.hint, None
    return CellStatus.OK, None, None, None


def with_cells(
    report: GateReport, baseline: Iterable[CellRow], current: Iterable[CellRow]
) -> GateReport:
    """Return a gate's report with the cells that it cannot tell of by their runs alone.

    Those were validated, and on one side at least not measured: because their outputs were wrong or
    could not be had, or because nothing but outputs was asked for.
    """
    rows_now = tuple(current)
    before, now = _validated(baseline), _validated(rows_now)
    made: list[GateRow] = []
    said: set[str] = set()
    for key in dict.fromkeys((*before, *now)):
        a, b = before.get(key), now.get(key)
        if a is not None and b is not None and a.run and b.run:
            continue
        made.append(_row(a, b))
        said |= {name for one in (a, b) if one is not None for name in one.run_ids}
    # such runs only say that a cell has none: the cell's own row says why
    absence = (GateOutcome.LOST, GateOutcome.NEW, GateOutcome.NO_BASELINE)
    kept = [
        row
        for row in report.rows
        if row.outcome not in absence or said.isdisjoint((*row.baseline, *row.current))
    ]
    rows = [*kept, *made]
    dropped = {row.job for row in report.rows} - {row.job for row in kept}
    newest = max(rows_now, key=lambda one: one.ended, default=None)
    return replace(
        report,
        rows=tuple(row for outcome in GateOutcome for row in rows if row.outcome is outcome),
        jobs=report.jobs + len(made) - len(dropped),
        measured=report.measured or (newest.ended if newest else None),
        host=report.host or (newest.host if newest else None),
    )


def _validated(rows: Iterable[CellRow]) -> dict[tuple[str, str, str], CellRow]:
    checked = (row for row in rows if row.cell.mode != "benchmark")
    return {(row.cell.model, row.cell.spec, row.cell.case): row for row in checked}


def _row(a: CellRow | None, b: CellRow | None) -> GateRow:
    one = b or a
    assert one is not None
    outcome, why = _outcome(a, b)
    return GateRow(
        job=f"{one.cell.label} · outputs",
        model=one.cell.model,
        backend=one.cell.spec,
        outcome=outcome,
        why=why,
        path=one.cell.job.subject.path,
    )


def _outcome(a: CellRow | None, b: CellRow | None) -> tuple[GateOutcome, str | None]:
    if b is None:
        return GateOutcome.LOST, None
    was_good = a is not None and a.status is CellStatus.OK
    if b.status is CellStatus.OK:
        outcome = GateOutcome.NO_REGRESSION if was_good else GateOutcome.FIXED
        return (GateOutcome.NEW if a is None else outcome), None
    is_new = a is None or was_good
    outcome = GateOutcome.NEW_FAILURE if is_new else GateOutcome.STILL_FAILING
    return outcome, f"{b.status.value.replace('_', ' ')}: {b.reason}"
