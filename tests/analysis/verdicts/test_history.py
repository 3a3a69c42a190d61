import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts import history
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats import autocorrelation
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.plan.build import BuildReport, ToolReport
from enginescope.records.run.load_and_contention import ContentionRule
from enginescope.records.run.run import HEADLINES
from enginescope.render.verdicts.history_text import span_text
from enginescope.services.verdicts.history import HistoryRequest, history_of
from tests.analysis.gated_runs import crashed, job, process, with_device_latency
from tests.analysis.historic_runs import host, over_days
from tests.store.stored_runs import a_run

STEP = [4.0] * 12 + [4.4] * 12


def only(runs, *arguments, **more):
    (found,) = history.histories(runs, *arguments, **more)
    return found


def test_a_change_of_level_and_what_changed_with_it() -> None:
    environments = {0: host(tensorrt="10.3.0"), 12: host(tensorrt="10.4.0")}
    found = only(over_days(STEP, environments=environments))
    (change,) = found.sure
    assert (change.at, change.is_worse) == (12, True)
    assert [str(one) for one in change.changed] == [
        "TensorRT 10.3.0 → 10.4.0",
        "commit 000000babc → 000000cabc",
    ]
    assert [(one.first, one.last) for one in found.levels] == [(0, 11), (12, 23)]
    assert found.levels[1].value == pytest.approx(4.4, rel=0.01)
    versions = {0: ("1.20", "1"), 5: ("1.21", "1"), 12: ("1.22", "2")}
    environments = {at: host(onnxruntime=a, numpy=b) for at, (a, b) in versions.items()}
    (change,) = only(over_days(STEP, environments=environments)).sure
    elsewhere = {one.fact: one.elsewhere for one in change.changed}
    assert [*elsewhere.items()] == [("numpy", 0), ("ONNX Runtime", 1), ("commit", 22)]


def test_a_rate_that_rises_got_better_and_a_missing_figure_has_no_history() -> None:
    found = only(over_days(STEP), "throughput")
    assert found.unit == "/s"
    (change,) = found.sure
    assert (change.estimate.ratio < 1, change.is_worse) == (True, True)
    assert history.histories(over_days(STEP), "engine_size") == ()


def test_runs_of_a_job_and_machine_shortly_after_each_other_are_one_sitting() -> None:

    def at(minute: int, median_ms: float = 4.0, **more):
        return process(median_ms, minute, **more)

    runs = [at(0), at(10, 4.1), at(20, 4.2)]
    (point,) = only(runs).points
    assert (len(point.runs), point.value) == (3, pytest.approx(4.1, rel=0.005))
    assert point.lowest < point.value < point.highest
    assert len(only(runs, sitting_s=0).points) == 3
    assert len(only([at(0), at(50), at(59)], sitting_s=600).points) == 2
    other = at(20, environment=host(tensorrt="10.4"))
    assert len(only([at(0, environment=host(tensorrt="10.3")), other]).points) == 2
    gpu = Environment(devices=(Device(name="H200"),))
    runs = [
        *over_days([4.0] * 3),
        *over_days([4.0] * 4, of=job(spec="trt")),
        *over_days([2.0] * 2, environments={0: gpu}, first=5),
    ]
    assert [(one.label, len(one.points)) for one in history.histories(runs)] == [
        ("net.onnx · trt · batch 1", 4),
        ("net.onnx · ort-cpu · batch 1 · Xeon", 3),
        ("net.onnx · ort-cpu · batch 1 · H200", 2),
    ]


def test_a_series_names_its_evidence_and_counts_failed_runs() -> None:
    printed = replace(process(4.0, 0), samples=(), tool=ToolReport(tool="x", throughput_per_s=250))
    for runs, metric, evidence in (
        (over_days(STEP), "latency", "separate processes"),
        ([process(4.0, 0)], "latency", "samples of one process"),
        ([printed, process(4.0, 5)], "throughput", "printed figures"),
    ):
        found = only(runs, metric)
        assert found.evidence.value == evidence
        assert span_text(found).endswith(f"; evidence: {evidence}")
    found = only([*over_days([4.0] * 3), crashed(9)])
    assert (len(found.points), found.failed) == (3, 1)
    contended = replace(job(), contention=ContentionRule(contenders=("a", "b")))
    kinds = [history.is_of_one_question(process(4.0, of=of)) for of in (job(), contended)]
    assert kinds == [False, True]
    series = [history.needed_series(metric) for metric in ("latency", "gpu_compute", "p99")]
    assert series == [HEADLINES, ("gpu_compute",), None]
    other = [crashed(8, of=job(spec="trt")), crashed(9, of=job("other.onnx"))]
    assert only([*over_days([4.0] * 3), *other]).failed == 0


def test_a_point_is_its_run_with_interval_commit_and_tags() -> None:
    runs = over_days([4.0, 4.0], tags=("nightly", "main"))
    found = only(runs, threshold_pct=3)
    assert (found.metric, found.threshold_pct, found.unit) == ("latency", 3, "ms")
    for run, point in zip(runs, found.points, strict=True):
        assert (point.runs, point.created) == ((run.id,), run.created)
        assert (point.commit, point.tags) == (run.environment.commit.short, ("nightly", "main"))
        values = run.headline.values_ms
        assert values.min() < point.lowest < point.value < point.highest < values.max()
    runs = over_days([4.0, 4.0], peak_memory_bytes=0.5)
    (point, _) = only(runs, "peak_memory").points
    assert (point.value, point.lowest, point.highest) == (0.5, 0.5, 0.5)
    assert point.tags == ()
    assert history.histories(over_days([4.0], peak_memory_bytes=0), "peak_memory") == ()
    runs = [with_device_latency(run, 0.5) for run in over_days([4.0, 4.0])]
    found = only(runs, "device_latency")
    assert [one.value for one in found.points] == pytest.approx([2.0, 2.0], rel=0.01)
    assert history.histories(over_days([4.0]), "device_latency") == ()


def test_histories_that_have_to_be_there_say_what_they_are() -> None:
    runs = over_days([4.0, 4.0])

    def known(runs, **more):
        return history_of(HistoryRequest(runs=tuple(runs), **more), None)

    close = [process(4.0, 0), process(4.0, 10)]
    (apart,) = known(close, metric="throughput", threshold_pct=7, sitting_s=60)
    assert (apart.metric, apart.threshold_pct, len(apart.points)) == ("throughput", 7, 2)
    with pytest.raises(UsageError, match=r"^no energy in the runs of these views: 2 ") as caught:
        known(runs, metric="energy")
    assert caught.value.hint == "choose another metric"
    with pytest.raises(UsageError, match="threshold"):
        known(runs, threshold_pct=1_001)
    command, fp16 = "enginescope bench net.onnx", job("net.onnx", "trt:fp16")
    found = only(over_days([4.0] * 2, of=fp16, command=command))
    assert (found.model, found.backend, found.case) == ("net.onnx", "trt:fp16", "batch 1")
    assert (found.inputs, found.command) == ("1×3×8×8", command)


def test_facts_and_their_order() -> None:
    before = process(
        4.0,
        of=job(sha="a" * 64),
        build=BuildReport(engine="e", engine_bytes=1, engine_sha256="b" * 64, tensorrt="10.3"),
        environment=Environment(
            host=Host(name="one", governor="powersave", boost=True),
            devices=(Device(name="H200", driver="570"),),
            versions={"python": "3.11", "enginescope": "1"},
        ),
    )
    after = process(
        4.0,
        of=job(sha="c" * 64),
        build=BuildReport(engine="e", engine_bytes=1, engine_sha256="d" * 64, tensorrt="10.4"),
        environment=Environment(
            host=Host(name="two", governor="performance", boost=False),
            devices=(Device(name="H200", driver="580"),),
            versions={"python": "3.12", "enginescope": "2", "numpy": "2"},
            variables={"OMP_NUM_THREADS": "1"},
        ),
    )
    assert [one.fact for one in history.fact_changes(before, after)] == [
        *("model", "engine", "TensorRT", "driver", "governor", "boost", "python"),
        *("OMP_NUM_THREADS", "enginescope", "host"),
    ]
    assert str(history.fact_changes(before, after)[7]) == "OMP_NUM_THREADS none → 1"
    assert history.facts_of(before)["model"] == "a" * 12


def test_facts_of_imported_runs_containers_and_machines_by_name() -> None:
    run = process(4.0, tool=ToolReport(tool="trtexec", tool_version="8.6.1"))
    assert history.facts_of(run)["TensorRT"] == "8.6.1"
    bare = process(4.0, environment=Environment(host=Host(name="one")))
    boxed = process(4.0, environment=Environment(host=Host(container="docker", governor="x")))
    assert [str(one) for one in history.fact_changes(bare, boxed)] == ["container none → docker"]
    machine = Host(
        name="one", os="Linux 6.1", container="docker", cores_usable=4, boost=False, smt=True
    )
    gpus = (Device(name="H200", driver="570"), Device(name="H200", driver="580"))
    run = process(4.0, environment=Environment(host=machine, devices=gpus))
    facts = {"boost": "off", "SMT": "on", "system": "Linux 6.1", "container": "docker"}
    facts |= {"cores": "4", "host": "one", "driver": "570 + 580"}
    assert history.facts_of(run) == facts
    assert history.facts_of(process(4.0, environment=Environment())) == {}


@pytest.mark.parametrize(
    ("medians", "noise", "within", "kind"),
    [
        (STEP, 0.0005, 30, "worse"),
        (STEP[::-1], 0.0005, 30, "better"),
        (STEP, 0.0005, 5, "same"),  # the change is no news any more
        ([4.0] * 12 + [6.0], 0.0005, 30, "perhaps"),
        ([4.0] * 12, 0.1, 30, "unknown"),
        ([4.0] * 3, 0.0005, 30, "unknown"),
    ],
)
def test_how_a_job_stands(medians, noise, within, kind) -> None:
    found = history.standing_of(only(over_days(medians, noise=noise)), within)
    assert (found.kind, found.estimate is None) == (kind, len(medians) < 4)
    assert (found.change is None) == (kind in ("same", "unknown"))


# A history computes what it shows: one interval for a run, of one metric.

SERIES = ("latency", "gpu_compute", "h2d", "d2h", "enqueue", "host_latency")


def many_series(number: int):
    random = np.random.default_rng(number)
    values = {name: frozen(random.gamma(9, 0.1, 200)) for name in SERIES}
    samples = (Samples(metric=name, values_ms=series) for name, series in values.items())
    return a_run(samples=tuple(samples), at=number)


def test_a_history_computes_one_interval_for_each_run(monkeypatch) -> None:
    calls, real = [], autocorrelation.quantile_interval
    for module in ("judge.stats.describe", "analysis.verdicts.history"):
        monkeypatch.setattr(
            f"enginescope.{module}.quantile_interval",
            lambda *a, **k: calls.append(1) or real(*a, **k),
            raising=False,
        )
    runs = [many_series(number) for number in range(12)]
    (found,) = history.histories(runs, sitting_s=0)
    assert (len(found.points), len(calls)) == (12, 12)
    assert found.points[0].lowest == RunView(runs[0]).latency.median_interval.low
    calls.clear()
    view = RunView(many_series(1))
    assert view.summary("gpu_compute").metric == "gpu_compute"
    assert len(calls) == 1  # the median
    assert [one.metric for one in view.summaries] == list(SERIES)
    assert len(calls) == len(SERIES)
