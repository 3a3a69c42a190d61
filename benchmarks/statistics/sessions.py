"""Print how often a whole gate fails without a reason, and how often a baseline is called flaky.

``python benchmarks/statistics/sessions.py [--gates 100]``. Sessions of the same work differ by a
standard deviation of 1 %, and processes within a session by 1 %. A gate compares the newest session
with the one before, five processes on each side, in latency and p99 with limits of 2 %; the store
holds earlier sessions, or none. The second table counts baselines that get ``W-FLAKY-BASELINE``.
The third follows gates of latency whose inconclusive job is measured again, as ``gate`` does by
default: both sides interleaved in a session of their own, until a look decides. Before them stands
a table of single rows, without a gate about them: ``--alone`` prints no other.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from gated_jobs import processes_of
from printed import print_table, share
from process_kinds import PROCESS_KINDS, ProcessKind

from enginescope.analysis.gate.gate import gate
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.comparison.ratio import decide, ratio_of_few_processes
from enginescope.judge.comparison.run_to_run import allow_for_sessions, session_shift
from enginescope.judge.verdict import VerdictKind
from enginescope.records.progress import RoundPosition
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateTerms, Limit

PROCESSES = 5
SAMPLES = 300
SCATTER = 0.01
TERMS = GateTerms(limits=tuple(Limit(metric=one, regression_pct=2.0) for one in ("latency", "p99")))
LATENCY = GateTerms(limits=TERMS.limits[:1])
PLANTED_PCT = (5.0, 10.0)
#: Earlier sessions, of single rows, and rows in each of its cells.
EARLIER = (0, 1, 2, 3, 5, 12)
ROWS = 1_000
#: Of processes, for the second table: ordinary up to 2 %.
SCATTERS = (0.003, 0.01, 0.02, 0.05, 0.1)
#: Processes of a baseline.
COUNTS = (1, 2, 3, 5, 10)
#: One after the other, a drifting machine makes sessions that differ; the first table has those.
KINDS = tuple(one for one in PROCESS_KINDS if one.name != "drifting")

Array = np.ndarray


class Row(NamedTuple):
    """Jobs of a gate, how its sessions differ, and how many earlier ones the store has."""

    jobs: int
    session_sd: float
    earlier: int
    gates: int

    def medians(self, rng: np.random.Generator) -> Array:
        """Return levels of the shape (jobs, sessions, processes), the current session last."""
        shape = (self.jobs, self.earlier + 2, 1)
        shifts = self.session_sd * rng.standard_normal(shape)
        return np.exp(shifts + SCATTER * rng.standard_normal((*shape[:2], PROCESSES)))


def runs_at(levels: Array, rng: np.random.Generator, session: int) -> list[Run]:
    """Return the runs of all jobs in one session; `levels` has the shape (jobs, processes)."""
    runs = []
    for at, medians in enumerate(levels):
        series = medians[:, None] * (1 + 0.005 * rng.standard_normal((medians.size, SAMPLES)))
        runs += processes_of(series, model=f"net{at}.onnx", session=session)
    return runs


def row_of(row: Row) -> str:
    """Return a row of the first table, in Markdown."""
    rng = np.random.default_rng([52, row.jobs, int(1e4 * row.session_sd), row.earlier])
    reports: dict[float, list[GateReport]] = {pct: [] for pct in (0.0, *PLANTED_PCT)}
    for _ in range(row.gates):
        levels = row.medians(rng)
        past = [runs_at(levels[:, at], rng, at) for at in range(row.earlier + 1)]
        history = [run for session in past[:-1] for run in session]
        for pct, found in reports.items():
            planted = levels[:, -1].copy()
            planted[0] *= 1 + pct / 100
            now = runs_at(planted, rng, row.earlier + 1)
            found.append(gate(past[-1], now, TERMS, history=history))
    cells = (
        share(one.result == "failed" for one in reports[0.0]),
        *(share(_is_found(one) for one in reports[pct]) for pct in PLANTED_PCT),
    )
    sd = f"{100 * row.session_sd:g} %"
    return f"| {row.jobs} | {sd} | {row.earlier} | {' | '.join(cells)} |"


def _is_found(report: GateReport) -> bool:
    """Whether the latency of the first job, the planted one, is a regression."""
    return any(
        row.outcome is GateOutcome.REGRESSION
        and row.metric == "latency"
        and row.model == "net0.onnx"
        for row in report.rows
    )


class Baselines(NamedTuple):
    """How the processes of ordinary or disturbed baselines scatter."""

    kind: ProcessKind
    scatter: float
    gates: int


def flaky_row(row: Baselines) -> str:
    """Return a row of the second table, in Markdown."""
    place = PROCESS_KINDS.index(row.kind), int(1e4 * row.scatter)
    cells = []
    for count in COUNTS:
        rng = np.random.default_rng([53, *place, count])
        found = []
        for _ in range(row.gates):
            levels = np.exp(row.scatter * row.kind.levels(rng, 1, count)[0, :, 0])[None]
            report = gate(runs_at(levels, rng, 0), runs_at(levels[:, :1], rng, 0))
            codes = {notice.code for each in report.rows for notice in each.notices}
            found.append("W-FLAKY-BASELINE" in codes)
        cells.append(share(found))
    return f"| {row.kind.name} | {100 * row.scatter:g} % | {' | '.join(cells)} |"


def alone_row(session_sd: float) -> str:
    """Return a row of the table of single rows, in Markdown."""
    cells = []
    for earlier in EARLIER:
        rng = np.random.default_rng([55, int(1e4 * session_sd), earlier])
        false, found = [], []
        for _ in range(ROWS):
            shifts = session_sd * rng.standard_normal((earlier + 2, 1))
            levels = np.exp(shifts + SCATTER * rng.standard_normal((earlier + 2, PROCESSES)))
            shift = session_shift(list(levels[:-1]), math.sqrt(2))
            for factor, hits in ((1.0, false), (1.1, found)):
                own = ratio_of_few_processes(levels[-2], factor * levels[-1], confidence=0.95)
                kind, _ = decide(allow_for_sessions(own, shift), 2.0)
                hits.append(kind is VerdictKind.SLOWER)
        cells.append(f"{share(false)} · {share(found)}")
    return f"| {100 * session_sd:g} % | {' | '.join(cells)} |"


class Again(NamedTuple):
    """Gates of one job in its latency, measured again where they are inconclusive."""

    session_sd: float
    planted_pct: float
    gates: int


def again_row(row: Again) -> str:
    """Return a row of the third table, in Markdown."""
    rng = np.random.default_rng([54, int(1e4 * row.session_sd), int(10 * row.planted_pct)])
    first, last, rounds = [], [], []
    for _ in range(row.gates):
        levels = np.exp(row.session_sd * rng.standard_normal((2, 1)))
        levels = levels * np.exp(SCATTER * rng.standard_normal((2, PROCESSES)))
        levels[1] *= 1 + row.planted_pct / 100
        sides = [runs_at(one[None], rng, at) for at, one in enumerate(levels)]
        outcome = gate(*sides, LATENCY, measurements=2).rows[0].outcome
        first.append(outcome)
        if outcome is GateOutcome.INCONCLUSIVE:
            outcome, count = measured_again(row.planted_pct, rng)
            rounds.append(count)
        last.append(outcome)
    wanted = (GateOutcome.INCONCLUSIVE, GateOutcome.REGRESSION)
    counts = [one.count(outcome) for one in (first, last) for outcome in wanted]
    shares = (f"{100 * count / row.gates:.1f}" for count in counts)
    sd = f"{100 * row.session_sd:g} %"
    mean = f"{np.mean(rounds):.0f}" if rounds else "none"
    return f"| {sd} | {row.planted_pct:g} % | {' | '.join(shares)} | {mean} |"


def measured_again(planted_pct: float, rng: np.random.Generator) -> tuple[GateOutcome, int]:
    """Return the outcome of an interleaved comparison, and after how many rounds it ended."""
    levels = np.exp(SCATTER * rng.standard_normal((2, LOOKS[-1])))
    levels[1] *= 1 + planted_pct / 100
    sides = [
        [
            replace(run, turn=RoundPosition(comparison="again", side=side, round=at, place=0))
            for at, run in enumerate(runs_at(one[None], rng, 2))
        ]
        for side, one in zip("AB", levels, strict=True)
    ]
    for count in LOOKS:
        some = (side[:count] for side in sides)
        row = gate(*some, LATENCY, measurements=2, begun=("again",)).rows[0]
        if row.outcome is not GateOutcome.INCONCLUSIVE:
            break
    return row.outcome, count


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=100, help="in each row")
    parser.add_argument("--alone", action="store_true", help="print the table of single rows alone")
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        print_table(
            f"One row, limit 2 %: A/A fails, % · 10 % found, %; {ROWS:,} rows a cell",
            ("sessions differ by", *(f"{earlier} earlier sessions" for earlier in EARLIER)),
            pool.map(alone_row, (0.005, 0.01, 0.02, 0.05)),
        )
        if options.alone:
            return
        gates = options.gates
        print_table(
            f"Whole gates, {PROCESSES} processes a side, limits of 2 %; {gates:,} gates a row",
            (
                *("jobs", "sessions differ by", "earlier sessions", "A/A fails, %"),
                *(f"{pct:g} % found" for pct in PLANTED_PCT),
            ),
            pool.map(
                row_of,
                [
                    Row(jobs, sd, earlier, gates)
                    for jobs in (1, 10)
                    for sd in (0.0, 0.01, 0.02)
                    for earlier in (0, 6, 12)
                ],
            ),
        )
        print_table(
            f"Baselines called flaky, %, by their number of processes; {gates:,} baselines a cell",
            ("processes", "scatter", *map(str, COUNTS)),
            pool.map(
                flaky_row,
                [Baselines(kind, scatter, gates) for kind in KINDS for scatter in SCATTERS],
            ),
        )
        print_table(
            f"Inconclusive gates of latency are measured again; {gates:,} gates a row",
            (
                *("sessions differ by", "planted", "inconclusive at first, %", "regression, %"),
                *("inconclusive at last, %", "regression at last, %", "rounds"),
            ),
            pool.map(
                again_row,
                [Again(sd, pct, gates) for sd in (0.0, 0.01, 0.02, 0.05) for pct in (0.0, 5.0)],
            ),
        )


if __name__ == "__main__":
    main()
