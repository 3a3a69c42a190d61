"""What the intervals of a whole gate rest on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from enginescope.analysis.gate.whole_gate import is_tested
from enginescope.core.units import format_significant
from enginescope.records.notice import Notice
from enginescope.records.verdict.gate import GateRow, GateTerms
from enginescope.records.verdict.session_shift import SessionShift
from enginescope.stats.comparison.sessions import FEWEST_SESSIONS

#: From here on, a row by itself needs more confidence than the gate.
_MANY = 3


def gate_notices(rows: Sequence[GateRow], terms: GateTerms) -> Iterator[Notice]:
    """Yield how many rows share the error rate, and which variation their intervals allow for."""
    tested = [row for row in rows if is_tested(row)]
    if len(tested) >= _MANY:
        false_pct = 100 * (1 - terms.confidence)
        yield Notice(
            code="I-WHOLE-GATE",
            message=f"{len(tested)} rows are tested together: without any change, a gate fails for "
            f"a regression in at most {false_pct:.3g} % of cases; a regression shows the interval "
            "at the confidence that this takes (Holm)",
            evidence={"rows": len(tested), "false_pct": false_pct},
            level="info",
        )
    yield from _sessions([row.sessions for row in tested if row.sessions is not None])
    yield from _own_scatter(tested)


def _sessions(shifts: Sequence[SessionShift]) -> Iterator[Notice]:
    estimated = [shift for shift in shifts if shift.freedom is not None]
    assumed = [shift for shift in shifts if shift.freedom is None and shift.sd > 0]
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
            f"assumed: the store has {_range([shift.sessions for shift in assumed])} sessions of "
            f"each job, and {FEWEST_SESSIONS} give an estimate; a baseline of the same hour needs "
            "none",
        )


def _session_notice(code: str, shifts: Sequence[SessionShift], source: str) -> Notice:
    sds = [100 * math.expm1(shift.sd) for shift in shifts]
    counts = [shift.sessions for shift in shifts]
    return Notice(
        code=code,
        message="baseline and current come from different sessions; run-to-run variation between "
        f"sessions {_range([float(format_significant(sd, 2)) for sd in sds])} %, {source}",
        evidence={
            "rows": len(shifts),
            "least_sd_pct": min(sds),
            "most_sd_pct": max(sds),
            "fewest_sessions": min(counts),
            "most_sessions": max(counts),
        },
        level="info",
    )


def _own_scatter(rows: Sequence[GateRow]) -> Iterator[Notice]:
    """Yield that the processes themselves show how they scatter, so that none is assumed."""
    estimates = [row.verdict.estimate for row in rows if row.verdict and row.verdict.estimate]
    counts = [
        min(estimate.n_a, estimate.n_b)
        for estimate in estimates
        if estimate.method == "processes" and not estimate.is_student
    ]
    if counts:
        yield Notice(
            code="I-OWN-SCATTER",
            message=f"{_range(counts)} processes a side: intervals use how far these scatter, and "
            "no scatter is assumed",
            evidence={"rows": len(counts), "fewest": min(counts), "most": max(counts)},
            level="info",
        )


def _range(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:g} … {most:g}" if least < most else f"{least:g}"
