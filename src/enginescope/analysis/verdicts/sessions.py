"""Which runs were measured in one session, and how far sessions of a job differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.gate_metrics import metric_unit, process_value
from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.session_shift import SessionShift
from enginescope.stats.comparison.sessions import ASSUMED_SD, session_shift

#: Runs that follow each other by no more than this belong to one session, in seconds.
SESSION_S = 3600.0


def follows(before: Run, after: Run, gap_s: float) -> bool:
    """Whether a run began at most `gap_s` seconds after another; not if a date is unknown."""
    try:
        first, second = (
            datetime.fromisoformat(run.created.replace("Z", "+00:00")) for run in (before, after)
        )
        return 0 <= (second - first).total_seconds() <= gap_s
    except (ValueError, TypeError):  # an imported run with a date in another form
        return False


def sessions_of(runs: Sequence[Run]) -> tuple[tuple[Run, ...], ...]:
    """Group runs by session, the oldest first; runs without a known date form the last one."""
    undated = [run for run in runs if _is_undated(run)]
    sessions: list[list[Run]] = []
    for run in sorted(runs, key=lambda each: (each.created, each.id)):
        if _is_undated(run):
            continue
        if sessions and follows(sessions[-1][-1], run, SESSION_S):
            sessions[-1].append(run)
        else:
            sessions.append([run])
    return tuple(map(tuple, [*sessions, *([undated] if undated else [])]))


def _is_undated(run: Run) -> bool:
    """Whether nothing says when a run was measured: an import has the date of its import."""
    return run.origin != "measured" or not follows(run, run, 0)


def shift_between(
    a: Sequence[Run], b: Sequence[Run], metric: str, history: Sequence[Run]
) -> SessionShift | None:
    """Return the variation between sessions that a comparison of two sides must allow for.

    Args:
        a, b: The successful processes of either side.
        metric: As ``--metric`` of a gate.
        history: Other stored runs. Those of A's job and model file under A's conditions count, with
            A's own.

    Returns:
        ``None`` where both sides were measured in the same sessions.
    """
    weight = _weight(a, b)
    if weight == 0:
        return None
    now = {run.id for run in b}
    job, conditions = identity_of(a[0]), a[0].environment.comparable_key()
    digests = {run.job.subject.sha256 for run in a}
    past = {run.id: run for run in (*history, *a) if run.id not in now}
    alike = [
        run
        for run in past.values()
        if run.outcome.kind is OutcomeKind.OK
        and run.environment.comparable_key() == conditions
        and identity_of(run) == job
        and run.job.subject.sha256 in digests
    ]
    values = [
        [value for run in session if (value := process_value(RunView(run), metric))]
        for session in sessions_of(alike)
    ]
    assumed_sd = 0.0 if metric_unit(metric) == "B" else ASSUMED_SD  # sizes do not follow clocks
    return session_shift([some for some in values if some], weight, assumed_sd=assumed_sd)


def _weight(a: Sequence[Run], b: Sequence[Run]) -> float:
    """Return the distance between the two sides' shares of sessions."""
    sides = [{run.id for run in side} for side in (a, b)]
    apart: list[float] = []
    for session in sessions_of([*a, *b]):
        shares = [sum(run.id in ids for run in session) / len(ids) for ids in sides]
        # without dates, nothing says that the two sides shared a session
        apart += shares if _is_undated(session[0]) else [shares[0] - shares[1]]
    return math.hypot(*apart)
