import json
import random
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.load.trials import ERROR, figures_of, step_of, trial_of
from enginescope.analysis.verdicts.comparability import differences
from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.core.record import replace
from enginescope.judge.stats.mlperf_queries import share_is_below
from enginescope.records.verdict.load import LoadKind, Slo
from tests.analysis.in_turn import process
from tests.conftest import missing
from tests.render.load.load_reports import GOAL, loaded_run


def kind(rate: float, slo: Slo = GOAL, **run: object) -> LoadKind:
    return trial_of(loaded_run(rate, **run), slo).kind


def test_a_low_rate_meets_a_high_one_misses_and_few_queries_are_inconclusive() -> None:
    assert (kind(20.0, queries=9_000), kind(200.0)) == (LoadKind.MET, LoadKind.MISSED)
    assert kind(50.0, queries=100) is LoadKind.INCONCLUSIVE
    trial = trial_of(loaded_run(50.0), None)
    assert (trial.kind, trial.slow, trial.percentile) == (LoadKind.MEASURED, None, None)


def test_queries_that_are_not_served_or_late_count_as_slow() -> None:
    trial = trial_of(loaded_run(20.0, queries=9_000, unserved=400), GOAL)
    assert trial.kind is LoadKind.MISSED
    assert trial.slow >= 400
    assert (trial.planned, kind(200.0, late=True)) == (9_400, LoadKind.INCONCLUSIVE)
    assert kind(20.0, queries=9_000, late=True) is LoadKind.MET  # lateness only makes it longer
    assert kind(200.0, unserved=400, late=True) is LoadKind.INCONCLUSIVE
    run = loaded_run(20.0, queries=9_000, unserved=2_000, late=True)
    failed = replace(run, load=replace(run.load, failed=2_000, unserved=0))
    assert trial_of(failed, GOAL).kind is LoadKind.MISSED  # no query fails of it


def test_slow_queries_in_a_row_count_as_few_and_repeats_that_differ_are_inconclusive() -> None:
    # near its capacity, a queue makes long stretches of slow queries
    trial = trial_of(loaded_run(190.0, queries=300), Slo(p=70.0, limit_ms=13.0))
    assert share_is_below(trial.slow, 300, 0.3, ERROR) is True  # if they were independent
    assert trial.kind is LoadKind.INCONCLUSIVE
    trials = [trial_of(loaded_run(rate, queries=9_000), GOAL) for rate in (20.0, 200.0)]
    assert step_of(20.0, trials).kind is LoadKind.INCONCLUSIVE
    assert step_of(20.0, trials[:1]).kind is LoadKind.MET


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


def test_load_tests_compare_at_one_rate_and_a_scenario_has_its_percentile() -> None:
    slow, fast, closed = loaded_run(50.0), loaded_run(100.0), process(4.0)
    assert [one.key for one in differences([slow], [fast])] == ["load"]
    assert differences([slow], [fast], across=("load",)) == ()
    assert differences([slow], [slow]) == ()
    assert "load" in {one.key for one in differences([slow], [closed])}
    times = np.arange(1, 101) / 1.0
    assert figures_of(times, times, "single-stream").p == 90
    assert figures_of(times, times, "server").is_passed is None
    assert figures_of(times, times, "offline", samples_per_query=8).per_s == 8 * 100 / 0.1


# Figures of scenarios equal LoadGen's own, to the digit, on the same latencies.

LIMIT_NS = 150_000
SAMPLE = re.compile(
    r'"name":"Sample",.*"ph":"b".*"ts":(?P<ts>[-\d.]+),.*"query_seq":(?P<query>\d+),'
    r'.*"complete_ns":(?P<complete>\d+)'
)


class Log:
    """What LoadGen wrote: its figures by key, and the latency of each query."""

    def __init__(self, folder: Path) -> None:
        self.figures: dict[str, Any] = {}
        for line in (folder / "mlperf_log_detail.txt").read_text().splitlines():
            entry = json.loads(line.removeprefix(":::MLLOG "))
            self.figures[entry["key"]] = entry["value"]
        latencies: dict[int, int] = {}
        scheduled: dict[int, float] = {}
        # not read as JSON: LoadGen writes some numbers in ways that JSON does not have
        for found in SAMPLE.finditer((folder / "mlperf_log_trace.json").read_text()):
            query = int(found["query"])
            latencies[query] = max(latencies.get(query, 0), int(found["complete"]))
            scheduled[query] = float(found["ts"])
        order = sorted(latencies)
        self.latencies_ms = np.array([latencies[query] for query in order]) / 1e6
        self.arrivals_ms = np.array([scheduled[query] for query in order]) / 1e3

    def ns(self, key: str) -> float:
        return self.figures[key] / 1e6


def loadgen_log(folder: Path, scenario: str, queries: int, p: float) -> Log:
    """Run LoadGen on a system that answers after short random times."""
    if find_spec("mlperf_loadgen") is None and sys.version_info < (3, 14):  # it has no wheel there
        missing("needs mlcommons-loadgen")
    loadgen = pytest.importorskip("mlperf_loadgen")
    draw = random.Random(queries)

    def issue(samples: list[Any]) -> None:
        for sample in samples:
            until = time.perf_counter() + draw.expovariate(1 / 5e-5)
            while time.perf_counter() < until:
                pass
            loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0)])

    settings = loadgen.TestSettings()
    settings.scenario = getattr(loadgen.TestScenario, scenario.title().replace("-", ""))
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.min_duration_ms = 0
    settings.min_query_count = 1 if scenario == "offline" else queries
    settings.max_query_count = settings.min_query_count
    settings.single_stream_expected_latency_ns = 1_000_000
    settings.single_stream_target_latency_percentile = p / 100
    settings.multi_stream_expected_latency_ns = 1_000_000
    settings.multi_stream_target_latency_percentile = p / 100
    settings.multi_stream_samples_per_query = 3
    settings.server_target_qps = 8_000
    settings.server_target_latency_ns = LIMIT_NS
    settings.server_target_latency_percentile = p / 100
    settings.offline_expected_qps = queries
    logs = loadgen.LogSettings()
    logs.enable_trace = True
    output = loadgen.LogOutputSettings()
    output.outdir = str(folder)
    output.copy_summary_to_stdout = False
    logs.log_output = output
    system = loadgen.ConstructSUT(issue, lambda: None)
    library = loadgen.ConstructQSL(64, 64, lambda _samples: None, lambda _samples: None)
    loadgen.StartTestWithLogSettings(system, library, settings, logs)
    loadgen.DestroyQSL(library)
    loadgen.DestroySUT(system)
    return Log(folder)


QUERIES = {  # with the percentile that is asked for
    "single-stream": [(63, 90.0), (64, 90.0), (700, 90.0), (2_000, 97.0)],
    "multi-stream": [(661, 99.0), (662, 99.0), (3_000, 99.0)],
    "server": [(400, 99.0), (3_000, 97.0), (3_000, 50.0)],
    "offline": [(500, 99.0)],
}


@pytest.mark.parametrize(
    ("scenario", "queries", "p"),
    [(scenario, *one) for scenario, several in QUERIES.items() for one in several],
)
def test_figures_equal_loadgen_s(tmp_path: Path, scenario: Any, queries: int, p: float) -> None:
    log = loadgen_log(tmp_path, scenario, queries, p)
    slo = Slo(p=p, limit_ms=LIMIT_NS / 1e6)
    found = figures_of(log.latencies_ms, log.arrivals_ms, scenario, slo)
    ending = "per_query_latency_ns" if scenario == "multi-stream" else "latency_ns"
    query = "query_" if scenario == "multi-stream" else ""
    for stated, value in found.percentiles:
        assert value == log.ns(f"result_{stated:.2f}_percentile_{ending}")
    assert found.mean_ms == log.ns(f"result_mean_{query}latency_ns")
    assert found.min_ms == log.ns(f"result_min_{query}latency_ns")
    assert found.max_ms == log.ns(f"result_max_{query}latency_ns")
    _check_early_stopping(found, log, scenario)
    if scenario == "offline":
        assert f"{found.per_s:.6g}" == f"{log.figures['result_samples_per_second']:.6g}"


def _check_early_stopping(found: Any, log: Log, scenario: str) -> None:
    is_met, text = log.figures["early_stopping_met"], log.figures["early_stopping_result"]
    estimates = {
        "single-stream": (("early_stopping_latency_ss", found.estimate_ms),),
        "multi-stream": (("early_stopping_latency_ms", found.estimate_ms),),
    }
    for key, estimate in estimates.get(scenario, ()):
        assert (estimate is not None) == is_met
        if is_met:
            assert estimate == log.ns(key)
            assert f"Processed at least {found.needed} queries" in text
        else:
            assert f"Need to process at least {found.needed} queries" in text
    if scenario == "single-stream" and found.estimate_p99_ms is not None:
        assert found.estimate_p99_ms == log.ns("early_stopping_latency_ms")
    if scenario == "server":
        assert found.slow == log.figures["result_overlatency_query_count"]
        assert found.is_passed == (is_met and log.figures["result_perf_constraints_met"])
        if not is_met:
            more = found.needed - found.queries
            assert f"Would need to run at least {more} more queries" in text
        for key, rate in (
            ("result_scheduled_samples_per_sec", found.per_s),
            ("result_completed_samples_per_sec", found.completed_per_s),
        ):
            assert rate == pytest.approx(log.figures[key], rel=1e-5)
