"""Load tests in processes of their own: of a backend with known times, and of an endpoint."""

import os
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import enginescope as es
from enginescope.backends.base import Measured
from enginescope.backends.fake import FakeBackend
from enginescope.core import errors
from enginescope.core.record import replace
from enginescope.records.verdict.load import LoadKind, LoadStep
from enginescope.services.load.load import MOST_RATES, run_load, search_highest
from enginescope.services.load.request import LoadRequest
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.fakes.loading import environment
from tests.fakes.oip_grpc_server import oip_grpc_server
from tests.fakes.oip_server import oip_server
from tests.plants.in_process import workers_in_process

#: Of the fake backend: far more than a query takes beside it.
ON = "fake?latency_us=2000&jitter_pct=0"
QUICK = es.Workload(warmup=es.WarmUp(time_ms=20, iterations=5, limit_ms=100))
COLD = es.Workload(warmup=es.WarmUp(time_ms=0, iterations=0))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x08\x07")
    return path


def test_a_run_has_latency_and_its_parts(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    report = es.load(model, on=ON, rate=100, queries=30, workload=QUICK, store=store, tags=["load"])
    (trial,) = report.trials
    run = Store(store).load(trial.run)
    assert [one.metric for one in run.samples] == ["latency", "service", "queueing", "lateness"]
    assert {len(one) for one in run.samples} == {30}
    assert run.load.planned == trial.served == 30
    assert report.kind is LoadKind.MEASURED
    assert trial.service.min_ms >= 2.0
    assert run.job.load.rate_per_s == 100
    view = es.RunView(run)
    # not batch ÷ latency, which holds for one request in flight
    assert view.throughput.definition == "queries ÷ time from the first start to the last end"
    assert [row.id for row in Store(store).rows(tag="load")] == [trial.run]
    trace = tmp_path / "trace.txt"
    trace.write_text("# seconds\n1000.5\n1000.0\n\n1000.02  # late\n")
    (trial,) = es.load(model, on=ON, trace=trace, workload=QUICK, store=store).trials
    starts_ms = Store(store).load(trial.run).series("latency").start_ms
    assert starts_ms == pytest.approx([0.0, 20.0, 500.0], abs=1e-6)


def test_the_usual_rate_is_half_and_an_objective_is_missed_met_or_open(model: Path) -> None:
    def loaded(**more):
        with workers_in_process():
            report = es.load(model, on=ON, workload=QUICK, data="none", **more)
        return report, *report.trials

    report, trial = loaded(queries=20, arrivals="constant")
    assert 0 < trial.rate_per_s <= 250  # 2 ms a query, or more on a busy machine
    report, trial = loaded(rate=100, queries=60, slo="p50<1ms")
    assert trial.slow == 60
    assert report.kind is (LoadKind.INCONCLUSIVE if trial.is_late else LoadKind.MISSED)
    report, trial = loaded(rate=100, queries=60, slo="p50<600ms")
    assert trial.slow == 0
    # a busy machine makes queries alike, so that they stand for few
    assert report.kind is LoadKind.MET or (trial.is_late and report.kind is LoadKind.INCONCLUSIVE)
    assert report.is_passed is (True if report.kind is LoadKind.MET else None)
    report, _ = loaded(rate=100, queries=20, slo="p99<600ms")
    assert report.kind is LoadKind.INCONCLUSIVE


def test_an_endpoint_is_measured_over_sockets(tmp_path: Path) -> None:
    more = {"rate": 200, "queries": 40, "concurrency": 3, "workload": QUICK}
    with oip_server() as server:
        report = es.load(server.model, store=tmp_path / "store", **more)
        # one session for each worker, the metadata's connection is the session's own
        assert len(server.connections) == 3
    run = Store(tmp_path / "store").load(report.trials[0].run)
    assert (run.job.subject.kind, run.load.failed) == ("endpoint", 0)
    assert len(run.series("latency")) == 40
    assert "I-ENDPOINT" in {notice.code for notice in report.notices}


@pytest.mark.parametrize("serving", [oip_server, oip_grpc_server])
def test_a_stall_of_a_server_shows_as_queueing_in_every_later_query(tmp_path, serving) -> None:
    stalled, stall_s, gap_ms = 12, 0.5, 20.0
    more = {"rate": 1e3 / gap_ms, "arrivals": "constant", "queries": 40, "workload": COLD}
    # the first inference is not a query of the test
    with serving(stall=(1 + stalled + 1, stall_s)) as server:
        report = es.load(server.model, store=tmp_path / "store", **more)
    run = Store(tmp_path / "store").load(report.trials[0].run)
    queueing = run.series("queueing").values_ms
    assert int(np.argmax(run.series("service").values_ms)) == stalled
    last = min(stalled + int(1e3 * stall_s / gap_ms), len(queueing))  # others came too late
    for later in range(stalled + 1, last):
        assert queueing[later] >= 1e3 * stall_s - gap_ms * (later - stalled)


def test_failed_queries_are_counted_and_miss_the_objective() -> None:
    with oip_server(failing=range(12, 40)) as server:
        report = es.load(server.model, rate=100, queries=40, slo="p90<1s", workload=COLD)
    (trial,) = report.trials
    # a machine that stalls may serve the last ones too late
    assert min(trial.failed + trial.unserved, trial.slow) >= 28
    assert report.kind is LoadKind.MISSED
    assert "W-QUERIES-FAILED" in {notice.code for notice in report.notices}


#: A search on a backend of 4 ms, of queries whose median meets 40 ms.
SEARCH = {"on": "fake?latency_us=4000&jitter_pct=0", "arrivals": "constant", "slo": "p50<40ms"}
SEARCH |= {"find_max": True, "workload": QUICK}


def test_a_search_ends_between_a_rate_that_meets_and_one_that_does_not(model: Path) -> None:
    report = es.load(model, queries=60, repeats=1, resolution_pct=60, **SEARCH)
    assert report.is_search
    assert report.kind is LoadKind.MET
    kinds = {step.rate_per_s: step.kind for step in report.steps}
    assert kinds[report.highest_met] is LoadKind.MET
    above = [rate for rate in kinds if rate > report.highest_met]
    assert above
    assert all(kinds[rate] is not LoadKind.MET for rate in above)


def test_a_search_ends_with_its_time_and_an_inconclusive_rate_with_its_first_process(model) -> None:
    report = es.load(model, rate=50, queries=4, max_time_s=1e-3, **SEARCH)  # too few to decide
    (step,) = report.steps
    assert (step.kind, len(step.trials)) == (LoadKind.INCONCLUSIVE, 1)
    assert "I-SHORT-SEARCH" in {notice.code for notice in report.notices}


def test_a_search_goes_on_from_its_stored_runs(model: Path, tmp_path: Path) -> None:
    how = {**SEARCH, "on": "fake?latency_us=1000&jitter_pct=0", "slo": "p50<5ms", "repeats": 2}
    how |= {"rate": 100.0, "queries": 20, "resolution_pct": 100.0, "data": "none"}
    request = LoadRequest(model, max_time_s=1e-3, store=tmp_path / "store", **how)
    with workers_in_process():
        first = run_load(request, MeasurementObserver())
        again = run_load(replace(request, continues=True, max_time_s=None), MeasurementObserver())
    assert len(first.steps) == 1
    assert len(again.steps) > 1
    assert (again.steps[0], again.tag) == (first.steps[0], first.tag)
    rows = Store(request.store).rows(tag=first.tag)
    assert {row.id for row in rows} == {trial.run for trial in again.trials}


@pytest.mark.parametrize("scenario", ["single-stream", "multi-stream", "server", "offline"])
def test_a_scenario_has_loadgen_s_figures(model: Path, scenario: str) -> None:
    more = {"scenario": scenario, "queries": 20, "samples_per_query": 3, "workload": QUICK}
    figures = es.load(model, on=ON, **more).loadgen
    assert (figures.scenario, figures.queries) == (scenario, 20)
    if scenario == "multi-stream":
        assert figures.min_ms >= 6.0  # three requests of 2 ms
    assert (figures.per_s is not None) == (scenario in ("server", "offline"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, "rate"),
        ({"rate": 1e9}, "rate"),
        ({"concurrency": 0}, "concurrency"),
        ({"find_max": True}, "find_max"),
        ({"slo": "p99>10ms"}, "not an objective"),
        ({"slo": "p100<10ms"}, "objective"),
        ({"slo": "p99<1min"}, "slo"),
        ({"repeats": 0}, "repeats"),
        ({"max_time_s": 5.0}, "max_time"),
        ({"scenario": "offline", "rate": 5}, "rate"),
        ({"scenario": "single-stream", "concurrency": 2}, "concurrency"),
        ({"scenario": "sever"}, "scenario"),
        ({"arrivals": "uniform"}, "arrivals"),
        ({"find_max": True, "slo": "p99<1s", "resolution_pct": 0}, "resolution"),
        ({"find_max": True, "slo": "p99<1s", "scenario": "offline"}, "find_max"),
        ({"workload": COLD}, "warm-up"),
        ({"workload": es.Workload(mode=es.Mode(kind="throughput"))}, "workload"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(model, options, message) -> None:
    with pytest.raises(errors.UsageError, match=message):
        es.load(model, on=ON, **options)


@pytest.mark.parametrize(
    "address",
    [
        *("http://localhost:8000", "http:///v2/models/a", "http://u:p@h/v2/models/a"),
        *("http://h:x/v2/models/a", "grpc://localhost:8001", "grpcs://localhost:8001/a"),
        "grpc://localhost/v2/models/a",
    ],
)
def test_an_address_that_is_not_a_model_s_is_refused(address: str) -> None:
    with pytest.raises(errors.UsageError):
        es.load(address, rate=1)


def test_an_address_needs_its_backend_its_package_and_its_server(monkeypatch) -> None:
    with pytest.raises(errors.UsageError, match="an address is an endpoint"):
        es.load("http://localhost:1/v2/models/a", on="ort-cpu", rate=1)
    with oip_server() as server:
        address = server.model
    with pytest.raises(errors.BackendError, match="endpoint"):
        es.load(address, rate=10, queries=2)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(errors.MissingDependencyError) as refused:
        es.load("grpc://localhost:8001/v2/models/a", rate=1)
    assert refused.value.hint == "pip install 'enginescope[grpc]'"


@pytest.mark.parametrize("text", ["", "# nothing\n", "1.0\nsoon\n", "nan\n"])
def test_a_trace_without_times_is_refused(model: Path, text: str) -> None:
    trace = model.with_name("trace.txt")
    trace.write_text(text)
    with pytest.raises(es.EnginescopeError, match="trace"):
        es.load(model, on=ON, trace=trace)


def test_an_engine_is_served_by_several_workers(tmp_path: Path) -> None:
    model, store = models.perceptron(tmp_path / "m.onnx"), tmp_path / "store"
    with patch.dict(os.environ, environment("10.16.1")), loading.loaded("10.16.1"):
        more = {"concurrency": 2, "rate": 100, "queries": 20, "workload": es.Workload(batch=2)}
        (trial,) = es.load(model, on="trt", store=store, **more).trials
    assert trial.served == 20
    run = Store(store).load(trial.run)
    assert run.job.workload.mode.transfers is True
    assert run.job.workload.mode.in_flight is None


def test_repeats_have_seeds_of_their_own(model: Path, tmp_path: Path, monkeypatch) -> None:
    """And a backend that issues requests by itself is refused."""
    store = tmp_path / "store"
    more = {"rate": 100, "queries": 5, "repeats": 3, "workload": QUICK, "data": "none"}
    with workers_in_process():
        report = es.load(model, on=ON, store=store, **more)
        monkeypatch.setattr(FakeBackend, "execute", lambda *_arguments: Measured())
        with pytest.raises(errors.UnsupportedError, match="a load test on fake"):
            es.load(model, on="fake", rate=100, queries=3)
    runs = [Store(store).load(trial.run) for trial in report.trials]
    assert [run.job.load.seed for run in runs] == [0, 1, 2]
    assert len({run.turn.comparison for run in runs}) == 1


def steps_of(first: float, met: float, missed: float) -> dict[LoadKind, list[float]]:
    """Search where rates up to `met` meet the goal and from `missed` on miss it; rates by kind."""

    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MISSED if rate >= missed else LoadKind.INCONCLUSIVE
        return LoadStep(kind=LoadKind.MET if rate <= met else kind, trials=(), rate_per_s=rate)

    steps, skipped = search_highest(measure(first), measure, 5.0)
    assert skipped is None
    assert len(steps) <= MOST_RATES
    return {kind: [step.rate_per_s for step in steps if step.kind is kind] for kind in LoadKind}


@pytest.mark.parametrize("first", [1.0, 40.0, 100.0, 900.0])
def test_the_highest_rate_is_found_within_the_resolution(first: float) -> None:
    found = steps_of(first, 100.0, 100.0001)
    highest = max(found[LoadKind.MET])
    assert 95.0 <= highest <= 100.0
    assert min(found[LoadKind.MISSED]) <= 1.05 * highest
    assert found[LoadKind.INCONCLUSIVE] == []


def test_the_search_ends_at_what_is_inconclusive_or_where_every_or_no_rate_meets() -> None:
    found = steps_of(50.0, 100.0, 150.0)
    assert max(found[LoadKind.MET]) <= 100.0
    assert found[LoadKind.INCONCLUSIVE]
    assert min(found[LoadKind.INCONCLUSIVE]) <= 1.05 * max(found[LoadKind.MET])
    found = steps_of(1e5, 1e9, 2e9)
    assert (max(found[LoadKind.MET]), found[LoadKind.MISSED]) == (8e5, [])
    found = steps_of(64.0, 0.0, 0.0)
    assert found[LoadKind.MET] == []
    assert found[LoadKind.MISSED] == [64.0, 32.0, 16.0, 8.0, 4.0]


def test_a_search_ends_before_a_rate_without_time_or_with_an_interrupted_one() -> None:
    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MET if rate <= 100 else LoadKind.MISSED
        return LoadStep(kind=kind, trials=(), rate_per_s=rate)

    first = measure(64.0)
    in_time = search_highest(first, lambda rate: measure(rate) if rate > 100 else None, 5.0)
    assert [step.rate_per_s for step in in_time[0]] == [64.0, 128.0]
    assert in_time[1] == pytest.approx(90.5, abs=0.1)
    assert search_highest(first, lambda _rate: None, 5.0) == ((first,), 128.0)
