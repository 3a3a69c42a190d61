"""Verdicts of trials on runs whose times are known."""

from __future__ import annotations

import pytest

from enginescope.analysis.load.trials import ERROR, step_of, trial_of
from enginescope.analysis.verdicts.comparability import differences
from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.core.record import replace
from enginescope.judge.stats.mlperf_queries import share_is_below
from enginescope.records.verdict.load import LoadKind, Slo
from tests.analysis.in_turn import process
from tests.render.load.load_reports import GOAL, loaded_run


def kind(rate: float, slo: Slo = GOAL, **run: object) -> LoadKind:
    return trial_of(loaded_run(rate, **run), slo).kind


def test_a_low_rate_meets_and_a_high_one_misses() -> None:
    assert kind(20.0, queries=9_000) is LoadKind.MET
    assert kind(200.0) is LoadKind.MISSED


def test_few_queries_are_inconclusive() -> None:
    assert kind(50.0, queries=100) is LoadKind.INCONCLUSIVE


def test_queries_that_are_not_served_count_as_slow() -> None:
    trial = trial_of(loaded_run(20.0, queries=9_000, unserved=400), GOAL)
    assert trial.kind is LoadKind.MISSED
    assert trial.slow >= 400
    assert trial.planned == 9_400


def test_what_a_late_generator_misses_is_inconclusive() -> None:
    assert kind(200.0, late=True) is LoadKind.INCONCLUSIVE
    assert kind(20.0, queries=9_000, late=True) is LoadKind.MET  # lateness only makes it longer
    assert kind(200.0, unserved=400, late=True) is LoadKind.INCONCLUSIVE
    run = loaded_run(20.0, queries=9_000, unserved=2_000, late=True)
    failed = replace(run, load=replace(run.load, failed=2_000, unserved=0))
    assert trial_of(failed, GOAL).kind is LoadKind.MISSED  # no query fails of it


def test_slow_queries_in_a_row_count_as_few() -> None:
    # near its capacity, a queue makes long stretches of slow queries
    slo = Slo(p=70.0, limit_ms=13.0)
    trial = trial_of(loaded_run(190.0, queries=300), slo)
    assert share_is_below(trial.slow, 300, 0.3, ERROR) is True  # if they were independent
    assert trial.kind is LoadKind.INCONCLUSIVE


def test_repeats_that_differ_are_inconclusive() -> None:
    trials = [trial_of(loaded_run(rate, queries=9_000), GOAL) for rate in (20.0, 200.0)]
    assert step_of(20.0, trials).kind is LoadKind.INCONCLUSIVE
    assert step_of(20.0, trials[:1]).kind is LoadKind.MET


def test_without_a_goal_there_is_no_verdict() -> None:
    trial = trial_of(loaded_run(50.0), None)
    assert (trial.kind, trial.slow, trial.percentile) == (LoadKind.MEASURED, None, None)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, "poisson, 50/s"),
        ({"arrivals": "constant", "workers": 2}, "constant, 50/s, 2 workers"),
        ({"arrivals": "closed", "samples_per_query": 8}, "closed × 8"),
        ({"scenario": "offline", "arrivals": "burst"}, "offline"),
    ],
)
def test_a_load_test_is_another_job_than_a_closed_loop(rule: dict, text: str) -> None:
    assert identity_of(loaded_run(50.0, **rule)).load == text


def test_load_tests_compare_at_one_rate_only() -> None:
    slow, fast, closed = loaded_run(50.0), loaded_run(100.0), process(4.0)
    assert [one.key for one in differences([slow], [fast])] == ["load"]
    assert differences([slow], [fast], across=("load",)) == ()
    assert differences([slow], [slow]) == ()
    assert "load" in {one.key for one in differences([slow], [closed])}
