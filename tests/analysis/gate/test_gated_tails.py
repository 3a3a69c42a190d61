"""A tail in a gate and in a comparison: an interval between processes at any number of samples."""

import numpy as np
import pytest

from enginescope.analysis.gate.gate import gate
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.verdicts import verdict_on, verdicts
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats.describe import percentile, percentile_of_stretches
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateOutcome, GateTerms, Limit
from enginescope.render.verdicts.verdict_phrases import title_of, why_text
from tests.analysis.gated_runs import process
from tests.judge.draws import ar1

TAIL = GateTerms(limits=(Limit(metric="p99", regression_pct=2),))


def side(draw, n: int, *, first: int = 0, count: int = 5, scatter: float = 0.01, tail: float = 1.0):
    """Processes with heavy tails; the slowest twentieth takes `tail` times as long."""
    runs = []
    for number in range(first, first + count):
        level = 4.0 * np.exp(scatter * draw.standard_normal())
        values = level * (1 + 0.01 * np.abs(draw.standard_t(3, n)))
        values = np.where(values > np.quantile(values, 0.95), tail * values, values)
        runs.append(with_values(values, number))
    return runs


def with_values(values: np.ndarray, number: int) -> Run:
    return process(4.0, number, samples=(Samples(metric="latency", values_ms=frozen(values)),))


def outcome(baseline, current) -> GateOutcome:
    (row,) = gate(baseline, current, TAIL).rows
    return row.outcome


@pytest.mark.parametrize("n", [300, 500, 700, 2000])
def test_unchanged_tails_hardly_ever_fail_a_gate(n: int) -> None:
    draw = np.random.default_rng(n)
    gates = [gate(side(draw, n), side(draw, n, first=10), TAIL) for _ in range(40)]
    assert sum(report.result == "failed" for report in gates) <= 2  # 5 %
    assert all(report.rows[0].verdict is not None for report in gates)


def test_a_tail_that_is_a_tenth_worse_is_found_if_samples_are_enough() -> None:
    draw = np.random.default_rng(5)
    found = [
        outcome(side(draw, 2000, scatter=0.02), side(draw, 2000, first=10, scatter=0.02, tail=1.1))
        for _ in range(20)
    ]
    assert sum(one is GateOutcome.REGRESSION for one in found) >= 16
    draw = np.random.default_rng(6)
    short = [*side(draw, 1000, first=10, count=4), *side(draw, 120, first=14, count=1)]
    row = gate(side(draw, 1000), short, TAIL).rows[0]
    assert row.verdict.estimate.interval is not None
    assert row.outcome is not GateOutcome.LOST
    draw = np.random.default_rng(7)
    report = gate(side(draw, 60), side(draw, 60, first=10), TAIL)
    (row,) = report.rows
    assert (report.result, row.outcome) == ("inconclusive", GateOutcome.INCONCLUSIVE)
    assert row.verdict.reason is Reason.FEW_SAMPLES
    assert (row.verdict.a, row.verdict.b) == (None, None)  # no output shows them
    assert "60 samples" in row.why
    assert "at least 92" in row.why
    assert why_text(row.verdict) == row.why


def test_the_number_of_samples_makes_no_difference_of_its_own() -> None:
    """Slow wandering has larger extremes in longer series."""
    draw = np.random.default_rng(8)

    def wandering(n: int, number: int) -> Run:
        return with_values(np.exp(0.1 * ar1(draw, n, 0.99)), number)

    short, long = ([wandering(n, at + n) for at in range(5)] for n in (300, 3000))
    ratios = [verdict_on(short, long, "p99", CompareConfig()).estimate.ratio]
    ratios.append(verdict_on(long, short, "p99", CompareConfig()).estimate.ratio)
    naive = np.median([percentile(one.headline.values_ms, 99) for one in long]) / np.median(
        [percentile(one.headline.values_ms, 99) for one in short]
    )
    assert naive > 1.1
    assert ratios[0] < 1.1
    assert ratios[1] == pytest.approx(1 / ratios[0])


def test_stretches_are_the_percentile_and_compare_has_the_verdict_of_the_gate() -> None:
    values = np.random.default_rng(9).standard_normal(1000)
    assert percentile_of_stretches(values, 99, 1000) == percentile(values, 99)
    parts = [percentile(values[at : at + 300], 95) for at in (0, 300, 600)]
    assert percentile_of_stretches(values, 95, 300) == np.median(parts)
    draw = np.random.default_rng(10)
    a, b = side(draw, 500), side(draw, 500, first=10, tail=1.2)
    terms = CompareConfig(threshold_pct=2.0)
    (tail,) = [verdict for verdict in verdicts(a, b, terms) if verdict.metric == "p99"]
    assert tail == verdict_on(a, b, "p99", terms)
    assert (tail, tail.kind) == (gate(a, b, TAIL).rows[0].verdict, VerdictKind.SLOWER)
    assert title_of("p99") == "p99 latency"
