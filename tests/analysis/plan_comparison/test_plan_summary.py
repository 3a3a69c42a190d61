import numpy as np
import pytest

from enginescope.analysis.plan_comparison.plans_overview import PlanSummary, compared_plan
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Environment
from enginescope.records.plan.plan import IOTensor
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary
from enginescope.records.tensor import Tensor
from tests.analysis.compared_plans import network_a, report, run_a, run_b
from tests.analysis.layers.test_layer_table import several
from tests.render.runs import measured_run


def summary(run: Run, **more) -> PlanSummary:
    return compared_plan(run, label="A", **more).summary


def test_a_plan_in_a_line_with_and_without_a_profile() -> None:
    found = summary(run_b())
    assert (found.name, found.gpu, found.tensorrt, found.batch) == (
        "net b",
        "NVIDIA A100",
        "8.6.1",
        4,
    )
    assert (found.totals.active_layers, found.sum_ms, found.iterations) == (7, 4.1875, 100)
    assert found.sum_per_item_ms == 4.1875 / 4
    by_type = {one.key: (one.layers, one.time_ms) for one in found.by_type}
    assert by_type == {"Convolution": (5, 3.0625), "ConvActPool": (1, 0.875), "Reformat": (1, 0.25)}
    by_precision = {one.key: (one.layers, one.time_ms) for one in found.by_precision}
    assert by_precision == {"FP16": (2, 1.0), "FP32": (5, 3.1875)}
    assert sum(one.time_ms or 0 for one in found.by_type) == found.sum_ms
    found = summary(run_a(timed=False))
    assert found.sum_ms is None
    assert found.sum_per_item_ms is None
    assert {one.key: (one.layers, one.time_ms) for one in found.by_type} == {
        "Convolution": (6, None),
        "Pooling": (1, None),
        "Reformat": (1, None),
    }
    found = summary(run_a(extra_ms=0.5))
    assert {one.key: one.time_ms for one in found.by_type}[None] == 0.5
    assert sum(one.time_ms or 0 for one in found.by_type) == pytest.approx(found.sum_ms)
    with pytest.raises(UsageError, match="no plan to compare"):
        summary(measured_run())


def test_samples_go_before_what_was_printed() -> None:
    printed = ReportedSummary(metric="gpu_compute", mean_ms=2.5, median_ms=2.25)
    tool = report(summaries=(printed,), throughput_per_s=100.0)
    found = summary(network_a().run("a", report=tool))
    (figure,) = found.latencies
    assert (figure.source, figure.mean_ms, figure.median_ms) == ("printed", 2.5, 2.25)
    assert (figure.median_interval, figure.n) == (None, None)
    assert found.latency("gpu_compute") == figure
    assert found.latency("latency") is None
    assert found.items_per_s == 400.0
    values = frozen(1 + 0.01 * np.random.default_rng(1).random(500))
    printed = ReportedSummary(metric="gpu_compute", mean_ms=2.5)
    run = network_a().run("a", report=report(summaries=(printed,)))
    run = replace(run, samples=(Samples(metric="gpu_compute", values_ms=values),))
    (figure,) = summary(run).latencies
    assert (figure.source, figure.n) == ("samples", 500)
    assert figure.median_ms == pytest.approx(np.median(values), rel=1e-3)
    assert figure.median_interval.low <= figure.median_ms <= figure.median_interval.high


def test_throughput_needs_the_batch_that_was_fed() -> None:
    run = replace(network_a().run("a", report=report(throughput_per_s=9.0)), inputs=())
    assert run.plan is not None
    scalar = IOTensor(tensor=Tensor(name="image", shape=()), mode="input")
    run = replace(
        run,
        plan=replace(run.plan, io=(scalar,)),
        job=replace(run.job, workload=replace(run.job.workload, batch=None)),
    )
    found = summary(run)
    assert (found.batch, found.items_per_s, found.sum_per_item_ms) == (None, None, None)
    run = run_a()
    assert run.plan is not None
    dynamic = IOTensor(tensor=Tensor(name="image", shape=(None, 3, 16, 16)), mode="input")
    fed = Tensor(name="image", shape=(16, 3, 16, 16))
    run = replace(run, plan=replace(run.plan, io=(dynamic,)), inputs=(fed,))
    assert summary(run).batch == 16
    run = replace(network_a().run("x", timed=False), plan=several())
    layers = {index: summary(run, plan_profile=index).totals.layers for index in (0, 1)}
    assert all(0 < count < len(several().layers) for count in layers.values())
    with pytest.raises(UsageError, match="profile 7"):
        summary(run, plan_profile=7)


def test_the_version_of_a_measured_run_is_that_of_its_environment() -> None:
    run = measured_run(
        plan=network_a().plan("x"), environment=Environment(versions={"tensorrt": "10.3.0"})
    )
    found = summary(run)
    assert (found.tensorrt, found.gpu) == ("10.3.0", None)
    assert found.latency("latency") is not None
