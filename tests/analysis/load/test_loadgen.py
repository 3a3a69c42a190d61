"""Figures of scenarios equal LoadGen's own, to the digit, on the same latencies."""

from __future__ import annotations

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

from enginescope.analysis.load.trials import figures_of
from enginescope.records.verdict.load import Slo
from tests.conftest import missing

#: Ours -> LoadGen's.
NAMES = {
    "single-stream": "SingleStream",
    "multi-stream": "MultiStream",
    "server": "Server",
    "offline": "Offline",
}
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
    settings.scenario = getattr(loadgen.TestScenario, NAMES[scenario])
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


@pytest.mark.parametrize(
    ("scenario", "queries", "p"),
    [
        ("single-stream", 63, 90.0),
        ("single-stream", 64, 90.0),
        ("single-stream", 700, 90.0),
        ("single-stream", 2_000, 97.0),
        ("multi-stream", 661, 99.0),
        ("multi-stream", 662, 99.0),
        ("multi-stream", 3_000, 99.0),
        ("server", 400, 99.0),
        ("server", 3_000, 97.0),
        ("server", 3_000, 50.0),
        ("offline", 500, 99.0),
    ],
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


def test_without_an_objective_the_scenario_s_percentile_counts() -> None:
    times = np.arange(1, 101) / 1.0
    assert figures_of(times, times, "single-stream").p == 90
    assert figures_of(times, times, "server").is_passed is None
    assert figures_of(times, times, "offline", samples_per_query=8).per_s == 8 * 100 / 0.1
