"""Records whose evidence is known: few samples, dependent ones, modes, steps, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, compare_sides
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadReport, Slo
from tests.analysis.in_turn import in_turn, named
from tests.judge.test_describe import bursty_tail
from tests.render.load.load_reports import scenario, searched, single
from tests.render.runs import measured_run


def _wandering(draw: np.random.Generator, n: int, phi: float) -> np.ndarray:
    steps = draw.normal(0, 0.1, n)
    for at in range(1, n):
        steps[at] += phi * steps[at - 1]
    return 4 + steps


def _switching(draw: np.random.Generator, n: int, dwell: float) -> np.ndarray:
    states = np.cumsum(draw.random(n) < 1 / dwell) % 2
    return 4 + 0.5 * states + draw.normal(0, 0.02, n)


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
    """Return a run for each series."""
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


def loads() -> Mapping[str, LoadReport]:
    """Return load tests, among them one of 74 queries."""
    goal = Slo(p=99.0, limit_ms=10.0)
    return {
        "74 queries": single(50.0, queries=74),
        "74 queries with an objective": single(50.0, goal, queries=74),
        "a few queries": single(50.0, queries=4),
        "many queries": single(20.0, queries=9_000),
        "a search": searched(),
        "a scenario": scenario("server"),
    }


def comparisons() -> Mapping[str, MeasuredComparison]:
    """Return comparisons by the code of their verdict."""
    return {
        "same": compare_sides(named(*in_turn(1.0))),
        "faster": compare_sides(named(*in_turn(0.9))),
        "inconclusive": compare_sides(named(*in_turn(1.01, rounds=4, noise=0.05))),
    }
