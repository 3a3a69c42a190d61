"""One error rate for all rows of a gate."""

import numpy as np
import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.gate.gate_notices import flaky_baseline
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.records.progress import RoundPosition
from enginescope.records.verdict.gate import GateOutcome, GateTerms, Limit
from tests.analysis.gated_runs import job, process, processes

TIGHT = GateTerms(limits=(Limit(metric="latency", regression_pct=0.1),))


def side(draw, jobs: int, *, first: int = 0, worse: float = 1.0, scatter: float = 0.01):
    """Five processes of each job; the first job takes `worse` times as long."""
    return [
        process(
            4.0 * (worse if at == 0 else 1.0) * np.exp(scatter * draw.standard_normal()),
            first + number,
            of=job(f"net{at}.onnx"),
            n=11,  # too few for intervals of their own, which cost most of the time
        )
        for at in range(jobs)
        for number in range(5)
    ]


def test_unchanged_jobs_fail_rarely_and_a_clear_regression_is_found_among_many() -> None:
    draw = np.random.default_rng(1)
    gates = [gate(side(draw, 20), side(draw, 20, first=10), TIGHT) for _ in range(25)]
    assert sum(report.result == "failed" for report in gates) <= 2  # 7 fail without a correction
    draw = np.random.default_rng(2)
    report = gate(side(draw, 20), side(draw, 20, first=10, worse=1.1), TIGHT)
    (row,) = [row for row in report.rows if row.outcome is GateOutcome.REGRESSION]
    assert row.model == "net0.onnx"
    assert row.verdict.estimate.interval.confidence == pytest.approx(1 - 2 * 0.05 / 20)
    (notice,) = [one for one in report.notices if one.code == "I-WHOLE-GATE"]
    assert notice.message.startswith("20 rows are tested together")


def test_a_row_that_is_a_regression_only_by_itself_says_so() -> None:
    apart = (0.0, 0.004, -0.004, 0.008, -0.008)
    base = processes(4.0, of=job("net0.onnx"), apart=apart)
    now = processes(4.0 * 1.0145, of=job("net0.onnx"), first=10, apart=apart)
    assert gate(base, now, TIGHT).rows[0].outcome is GateOutcome.REGRESSION
    draw = np.random.default_rng(5)
    others = side(draw, 20)[5:], side(draw, 20, first=10)[5:]
    report = gate([*base, *others[0]], [*now, *others[1]], TIGHT)
    (row,) = [row for row in report.rows if row.model == "net0.onnx"]
    assert row.outcome is GateOutcome.INCONCLUSIVE
    assert row.verdict.estimate.interval.low < 1
    assert "a regression at 95 % confidence, but not at 99." in row.why


def test_eight_rounds_of_many_comparisons_still_find_a_regression() -> None:
    """The ranks of eight rounds reach 99.2 %; one of twenty comparisons needs 99.9 %."""
    draw = np.random.default_rng(6)

    def rounds(label: str, factor: float) -> list:
        return [
            process(
                4.0 * (factor if at == 0 else 1.0) * np.exp(0.002 * draw.standard_normal()),
                number,
                of=job(f"net{at}.onnx"),
                n=11,
                turn=RoundPosition(comparison=f"c{at}", side=label, round=number, place=0),
            )
            for at in range(20)
            for number in range(8)
        ]

    report = gate(rounds("A", 1.0), rounds("B", 1.05))
    (row,) = [row for row in report.rows if row.outcome is GateOutcome.REGRESSION]
    assert row.model == "net0.onnx"
    assert row.verdict.estimate.is_student
    assert row.verdict.estimate.interval.confidence > 0.995
    (notice,) = [one for one in report.notices if one.code == "I-FEW-PROCESSES"]
    assert notice.message.startswith("8 rounds are too few for 99.9 % confidence")
    assert notice.message.endswith("11 rounds need no assumption")


def test_the_row_that_needs_most_names_how_many_processes() -> None:
    """Two rows fail at confidences of their own: 3 processes a side for 95 %, 5 for 99.5 %."""
    few, many = job("few.onnx"), [job(f"net{at}.onnx") for at in range(19)]
    before = [one for each in many for one in processes(4.0, 5, of=each, n=11)]
    after = [one for each in many for one in processes(4.0, 5, of=each, first=60, n=11)]
    worse = [one for each in many[:1] for one in processes(5.0, 5, of=each, first=60, n=11)]
    report = gate(
        [*before, *processes(4.0, 3, of=few)],
        [*worse, *after[5:], *processes(4.0, 3, of=few, first=60)],
    )
    (notice,) = [one for one in report.notices if one.code == "I-FEW-PROCESSES"]
    assert notice.message.startswith("5 processes a side are too few for 99.5 % confidence")
    assert notice.message.endswith("6 processes a side need no assumption")


@pytest.mark.parametrize("count", [2, 3, 5, 10])
@pytest.mark.parametrize("scatter", [0.003, 0.01, 0.02])
def test_ordinary_baselines_are_hardly_ever_flaky(count: int, scatter: float) -> None:
    assert share_flaky(count, scatter) <= 0.05


@pytest.mark.parametrize("count", [3, 5, 10])
def test_flaky_baselines_are_found(count: int) -> None:
    assert share_flaky(count, 0.1) >= 0.8


def share_flaky(count: int, scatter: float) -> float:
    draw = np.random.default_rng([count, int(1000 * scatter)])
    baselines = (
        [process(4.0 * np.exp(scatter * draw.standard_normal()), at, n=5) for at in range(count)]
        for _ in range(60)
    )
    notices = [flaky_baseline(one, "latency", 2.0, CompareConfig()) for one in baselines]
    return float(np.mean([notice is not None for notice in notices]))
