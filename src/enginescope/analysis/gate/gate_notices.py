"""What the intervals of a whole gate rest on.

One error rate for a whole gate: how sure each regression has to be.

A gate with many rows asks many questions, and each has its own chance of a false alarm. Holm's
step-down procedure (Holm 1979, *A simple sequentially rejective multiple test procedure*) bounds
the chance that any unchanged row fails, however the rows depend on each other.
Whether the processes of a baseline scatter more than processes ordinarily do.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import figure_of, process_value
from enginescope.core.record import replace
from enginescope.judge.comparison.run_to_run import SessionShift, exceeds_scatter
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.gate import GateOutcome, GateRow, GateTerms

#: From the one-sided share of false regressions that a row may have to the row at that share.
RowAt = Callable[[float], GateRow]


def rows_of_whole_gate(tests: Sequence[RowAt], confidence: float) -> tuple[GateRow, ...]:
    """Return the rows of a gate that raises a false regression with 1 − `confidence` at most.

    Args:
        tests: One for each job and metric.
        confidence: Of the whole gate. A row's own interval has this confidence or more.

    Returns:
        In the order of `tests`. Each shows the interval that decided it. A row that would be a
        regression by itself and is none among so many is inconclusive, and says so.
    """
    share = 1 - confidence
    rows = [test(share / 2) for test in tests]
    tested = sum(map(is_tested, rows))
    left = {at for at, row in enumerate(rows) if _is_regression(row)}
    count = tested
    while left and share / count < share / 2:
        stricter = {at: tests[at](share / count) for at in sorted(left)}
        sure = {at for at, row in stricter.items() if _is_regression(row)}
        if not sure:
            for at, row in stricter.items():
                rows[at] = _among_many(row, rows[at], tested)
            break
        for at in sure:
            rows[at] = stricter[at]
        left -= sure
        count -= len(sure)
    return tuple(rows)


def is_tested(row: GateRow) -> bool:
    """Whether chance has a part in the row's outcome: it has an interval."""
    verdict = row.verdict
    if verdict is None or verdict.kind is VerdictKind.INCOMPARABLE:
        return False
    return verdict.estimate is not None and verdict.estimate.interval is not None


def _is_regression(row: GateRow) -> bool:
    return row.outcome is GateOutcome.REGRESSION and is_tested(row)


def _among_many(row: GateRow, alone: GateRow, tested: int) -> GateRow:
    """Return a row that is a regression only at the confidence of a single row."""
    own, needed = (
        f"{100 * one.verdict.estimate.interval.confidence:.4g} %"
        if one.verdict and one.verdict.estimate and one.verdict.estimate.interval
        else "more"
        for one in (alone, row)
    )
    why = (
        f"a regression at {own} confidence, but not at {needed}, which one "
        f"of {tested} rows needs; measure more processes"
    )
    return replace(row, why=why)


def gate_notices(rows: Sequence[GateRow], terms: GateTerms) -> Iterator[Notice]:
    """Yield how many rows share the error rate, and which variation their intervals allow for."""
    tested = [row for row in rows if is_tested(row)]
    if len(tested) >= 3:  # a row by itself needs more confidence than the gate
        false_pct = 100 * (1 - terms.confidence)
        yield Notice(
            "I-WHOLE-GATE",
            f"{len(tested)} rows are tested together (Holm): an unchanged gate shows a "
            f"regression in at most {false_pct:.3g} % of cases, so each needs higher confidence",
            {"rows": len(tested), "false_pct": false_pct},
        )
    yield from _sessions([row.sessions for row in tested if row.sessions is not None])
    yield from _own_scatter(tested)


def _sessions(shifts: Sequence[SessionShift]) -> Iterator[Notice]:
    estimated = [shift for shift in shifts if not shift.is_assumed]
    assumed = [shift for shift in shifts if shift.is_assumed and shift.sd > 0]
    if estimated:
        yield _session_notice(
            "I-SESSIONS",
            estimated,
            f"from {_range([shift.sessions for shift in estimated])} sessions of each job",
        )
    if assumed:
        yield _session_notice(
            "I-ASSUMED-SESSIONS",
            assumed,
            "assumed, which decides little: the store has no earlier session of the same job; "
            "measure both sides in one session",
        )


def _session_notice(code: str, shifts: Sequence[SessionShift], source: str) -> Notice:
    sds = [100 * math.expm1(shift.sd) for shift in shifts]
    counts = [shift.sessions for shift in shifts]
    return Notice(
        code,
        "baseline and current come from different sessions; run-to-run variation between "
        f"sessions {_range([float(format_significant(sd, 2)) for sd in sds])} %, {source}",
        {
            "rows": len(shifts),
            "least_sd_pct": min(sds),
            "most_sd_pct": max(sds),
            "fewest_sessions": min(counts),
            "most_sessions": max(counts),
        },
    )


def _own_scatter(rows: Sequence[GateRow]) -> Iterator[Notice]:
    estimates = [row.verdict.estimate for row in rows if row.verdict and row.verdict.estimate]
    counts = [
        min(estimate.n_a, estimate.n_b)
        for estimate in estimates
        if estimate.method == "processes" and not estimate.is_student
    ]
    if counts:
        yield Notice(
            "I-OWN-SCATTER",
            f"{_range(counts)} processes a side: intervals use their measured run-to-run variation",
            {"rows": len(counts), "fewest": min(counts), "most": max(counts)},
        )


def _range(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:g} … {most:g}" if least < most else f"{least:g}"


def flaky_baseline(
    runs: Runs, metric: str, limit_pct: float, terms: CompareConfig
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
        poor = (one for one in views[0].notices if one.code in ("W-DRIFT", "W-BIMODAL"))
        found = next(poor, None)
        return _notice(f"{found.message} ({found.code})", found.evidence) if found else None
    values = [value for view in views if (value := process_value(view, metric)) is not None]
    harmless = math.log1p(limit_pct / 100) / math.sqrt(2)
    ordinary_sd = max(terms.scatter, harmless) / 1.96  # half the width of a 95 % interval
    if len(values) < 2 or not exceeds_scatter(values, ordinary_sd):
        return None
    sd_pct, ordinary_pct = (
        100 * math.expm1(sd) for sd in (float(np.std(np.log(values), ddof=1)), ordinary_sd)
    )
    return _notice(
        f"its {len(values)} processes vary by {format_significant(sd_pct, 2)} % (standard "
        f"deviation), more than the usual {format_significant(ordinary_pct, 2)} %; "
        "measure it again on a quiet machine",
        {"sd_pct": sd_pct, "ordinary_sd_pct": ordinary_pct, "processes": len(values)},
    )


def _notice(message: str, evidence: dict[str, object]) -> Notice:
    return Notice("W-FLAKY-BASELINE", f"flaky baseline: {message}", dict(evidence))
