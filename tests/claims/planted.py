"""Records whose evidence is known: few samples, dependent ones, modes, steps, and comparisons."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, compare_sides
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.records.verdict.gate import GateReport, GateTerms, Limit
from enginescope.records.verdict.load import LoadReport, Slo
from tests.analysis.contend import contended
from tests.analysis.gated_runs import job, processes
from tests.analysis.in_turn import in_turn, named
from tests.analysis.lottery import drawn
from tests.analysis.shapes import simulated
from tests.judge.test_describe import bursty_tail
from tests.render.load.load_reports import scenario, searched, single
from tests.render.runs import measured_run
from tests.render.verdicts import (
    test_gate_files,
    test_ladder_files,
    test_lottery_files,
    test_tune_files,
)
from tests.render.verdicts import test_upgrade_files as upgrade_files
from tests.suites.made import cell, result, row, timed


def _wandering(draw: np.random.Generator, n: int, phi: float) -> np.ndarray:
    steps = draw.normal(0, 0.1, n)
    for at in range(1, n):
        steps[at] += phi * steps[at - 1]
    return 4 + steps


def _switching(draw: np.random.Generator, n: int, dwell: float) -> np.ndarray:
    return 4 + 0.5 * (np.cumsum(draw.random(n) < 1 / dwell) % 2) + draw.normal(0, 0.02, n)


def _series() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(11)
    modes = np.where(draw.random(1_500) < 0.4, 4.0, 5.5)
    return {
        "few": draw.lognormal(1, 0.2, 12),
        "tail of few": draw.lognormal(1, 0.2, 300),
        "enough": draw.lognormal(1, 0.2, 4_000),
        "dependent": _wandering(draw, 2_000, 0.98),
        "bimodal": modes + draw.normal(0, 0.02, 1_500),
        "in steps": np.round(draw.normal(4, 0.02, 1_200), 2),
        "slow": _switching(draw, 2_000, 300),
        "equal": np.full(500, 4.0),
        "bursts": bursty_tail(),
        "edge": np.random.default_rng(0).lognormal(1, 0.2, 500),
    }


def runs() -> Mapping[str, Run]:
    plain = measured_run()
    return {
        name: replace(
            plain,
            id=f"{at:012x}",
            profile=None,
            samples=(Samples(metric="latency", values_ms=frozen(values)),),
        )
        for at, (name, values) in enumerate(_series().items())
    }


#: Load tests by name: each is made when a test asks for it, as all that follow.
LOADS: Mapping[str, Callable[[], LoadReport]] = {
    "74 queries": lambda: single(50.0, queries=74),
    "74 queries with an objective": lambda: single(50.0, Slo(p=99.0, limit_ms=10.0), queries=74),
    "a few queries": lambda: single(50.0, queries=4),
    "many queries": lambda: single(20.0, queries=9_000),
    "a search": searched,
    "a scenario": lambda: scenario("server"),
}

#: Comparisons by the code of their verdict.
COMPARISONS: Mapping[str, Callable[[], MeasuredComparison]] = {
    "same": lambda: compare_sides(named(*in_turn(1.0))),
    "faster": lambda: compare_sides(named(*in_turn(0.9))),
    "inconclusive": lambda: compare_sides(named(*in_turn(1.01, rounds=4, noise=0.05))),
}


def _gated_tail(samples: int, *models: str) -> GateReport:
    sides = [
        [run for of in models for run in processes(ms, of=job(of), first=first, n=samples)]
        for ms, first in ((4.0, 0), (4.4, 60))
    ]
    return gate(*sides, GateTerms(limits=(Limit(metric="p99", regression_pct=5.0),)), name="main")


#: Gates of every outcome, and of a percentile that few samples do not carry.
GATES: Mapping[str, Callable[[], GateReport]] = {
    "every outcome": test_gate_files.report,
    "inconclusive may pass": lambda: test_gate_files.report(inconclusive="pass"),
    "p99 of few samples": lambda: _gated_tail(60, "0.onnx", "1.onnx"),
    "p99": lambda: _gated_tail(2_000, "net.onnx"),
}

#: Median times of sessions.
HISTORIES = {
    "level": [4.0] * 24,
    "worse": [4.0] * 12 + [4.4] * 12,
    "better": [4.0] * 12 + [3.0] * 12,
    "one session": [4.0],
}

#: What other verbs have found; a name begins with the verb's.
ANSWERS: Mapping[str, Callable[[], Any]] = {
    "upgrade": lambda: upgrade_files.report(
        *(upgrade_files.measured(f"m{ratio}", ratio) for ratio in (0.9, 1.0, 1.1)),
        upgrade_files.untimed("u"),
    ),
    "lottery without variation": lambda: drawn.report(process_sd=0.003),
    "lottery": lambda: drawn.report(build_sd=0.02, process_sd=0.003, seed=1),
    "lottery of tactics": test_lottery_files.with_tactics,
    "ladder": test_ladder_files.report,
    "ladder with a figure": lambda: test_ladder_files.report("0.4300ms"),
    "shapes": simulated.report,
    "contend": contended.report,
    "tune": test_tune_files.report,
    "tune without a gain": lambda: test_tune_files.report(1.0),
}


def suite() -> SuiteResult:
    """Return a suite of cells that ended in every way."""
    cells = [cell(f"m{at}", spec) for at in range(2) for spec in ("ort-cpu", "ort-cuda")]
    ended = [timed(one, 20.0 - 3 * at) for at, one in enumerate(cells)]
    failed = [row(cell("m3"), CellStatus.CRASHED), row(cell("m4"), CellStatus.UNSUPPORTED)]
    return result([*ended, *failed])
