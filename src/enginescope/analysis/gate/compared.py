"""Whether a gate compared anything, and if it did not, why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.analysis.gate.gate import failure_text
from enginescope.analysis.gate.job_pairs import pair_jobs
from enginescope.analysis.verdicts.job_identity import JobRuns, jobs_of, labels_of
from enginescope.core.errors import UsageError
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow


def check_compared(
    report: GateReport, baseline: Iterable[Run], current: Iterable[Run]
) -> GateReport:
    """Return `report` unless it passes only because nothing was compared.

    Raises:
        UsageError: No job has a metric of the limits on both sides, and nothing fails. Where jobs
            failed, the error has their number, the first reason and the next step.
    """
    if not report.is_passed or report.compared:
        return report
    pairs = pair_jobs(jobs_of(baseline), jobs_of(current), report.terms.across)
    sides = {
        "the baseline": [pair.a for pair in pairs if pair.a],
        "the current side": [pair.b for pair in pairs if pair.b],
    }
    failed = [job for jobs in sides.values() for job in jobs if not job.measured]
    cells = [row for row in report.rows if _is_failed_cell(row)]
    if not failed and not cells:
        metrics = ", ".join(limit.metric for limit in report.terms.limits)
        raise UsageError(
            "nothing to compare",
            why=f"no job has {metrics} on both sides",
            hint="choose another metric; enginescope runs list shows the runs",
        )
    counts = [text for side, jobs in sides.items() if (text := _failed_of(side, jobs, cells))]
    raise UsageError(
        "nothing to compare",
        why=f"{' and '.join(counts)} failed; the first is {_first(failed, cells)}",
        hint="remove the cause, measure that side again, then run the gate again"
        + (f"; enginescope runs show {failed[0].runs[-1].id} shows the failure" if failed else ""),
    )


def _is_failed_cell(row: GateRow) -> bool:
    """Whether a row is of a suite's cell that failed on both sides before there was a run."""
    return row.outcome is GateOutcome.STILL_FAILING and not row.current


def _failed_of(side: str, jobs: Sequence[JobRuns], cells: Sequence[GateRow]) -> str | None:
    """Return how many jobs of a side failed; ``None``: not one."""
    failed = len(cells) + sum(not job.measured for job in jobs)
    total = len(cells) + len(jobs)
    return f"{failed} of {total} {'job' if total == 1 else 'jobs'} of {side}" if failed else None


def _first(failed: Sequence[JobRuns], cells: Sequence[GateRow]) -> str:
    if not failed:
        return f"{cells[0].job}: {cells[0].why}"
    (label,) = labels_of([failed[0].identity])
    return f"{label}: {failure_text(failed[0].runs[-1])}"
