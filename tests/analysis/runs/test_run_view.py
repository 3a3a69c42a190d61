import numpy as np
import pytest

from enginescope.analysis import frames
from enginescope.analysis.claims.run_claims import usability
from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.runs import run_view
from enginescope.analysis.runs.throughput import pipeline, round_trip
from enginescope.core import optional
from enginescope.core.errors import MissingDependencyError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Mark, Samples, frozen
from enginescope.judge.stats.describe import describe, describe_values, percentile
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.run.job import BackendSpec
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary
from tests.analysis.gated_runs import process
from tests.judge.test_describe import bursty_tail
from tests.render.runs import failed_run, imported_run, measured_run


def drifting() -> Samples:
    values = np.linspace(4.0, 4.8, 600)
    noise = 0.05 * np.random.default_rng(2).random(600)
    return Samples(metric="latency", values_ms=frozen(values + noise))


def test_latency_is_of_the_headline_series_and_every_metric_has_its_summary() -> None:
    run = measured_run()
    view = run_view.RunView(run)
    assert (view.id, view.latency.metric) == (run.id, "latency")
    assert view.latency.median_ms == np.median(run.samples[0].values_ms)
    assert view.latency is run_view.RunView.latency.__get__(view)
    view = run_view.RunView(imported_run())
    assert [one.metric for one in view.summaries] == ["trtexec_latency", "gpu_compute"]
    assert view.latency.metric == "trtexec_latency"
    assert view.summary("gpu_compute").median_ms == np.median(
        view.run.series("gpu_compute").values_ms
    )
    assert view.summary("enqueue") is None
    empty = Samples(metric="latency", values_ms=frozen([]))
    assert run_view.RunView(measured_run(samples=(empty,))).latency is None


def test_a_run_without_samples_has_no_figures_and_is_named() -> None:
    view = run_view.RunView(failed_run())
    assert (view.latency, view.summaries) == (None, ())
    assert (view.throughput, view.throughput_per_s) == (None, None)
    assert (view.histogram, view.percentile_curve) == (None, ())
    assert view.layers == ()
    assert (view.layer_sum_ms, view.layer_sum_ratio) == (None, None)
    assert (view.plan_totals, view.notices) == (None, ())
    assert repr(run_view.RunView(failed_run())) == (
        "<RunView deadbeef0001 squeezenet.onnx on ort-cpu:fp32: crashed>"
    )
    assert "median 4." in repr(run_view.RunView(measured_run()))


def test_notices_put_warnings_first_and_drop_repeats() -> None:
    one = Notice(code="I-A", message="a", level="info")
    two = Notice(code="W-B", message="b")
    view = run_view.RunView(measured_run(samples=(), notices=(one, two, one)))
    assert view.notices == (two, one)
    notices = tuple(Notice(code="I-A", message=name, level="info") for name in "xy")
    assert run_view.RunView(measured_run(samples=(), notices=notices)).notices == notices
    view = run_view.RunView(measured_run(samples=(drifting(),), notices=()))
    assert "W-DRIFT" in [one.code for one in view.notices]
    stored = Notice(code="W-DRIFT", message="said when it was measured")
    view = run_view.RunView(measured_run(samples=(drifting(),), notices=(stored,)))
    assert [one for one in view.notices if one.code == "W-DRIFT"] == [stored]


def test_sums_of_layers_are_compared_with_the_whole_and_shared_out() -> None:
    view = run_view.RunView(measured_run())
    assert view.layer_sum_ms == pytest.approx(0.98 * 4.6)
    assert view.layer_sum_ratio == pytest.approx(0.98 * 4.6 / view.latency.median_ms)
    assert view.layer_sum.whole_metric == "latency"
    view = run_view.RunView(imported_run())
    assert view.layer_sum.whole_metric == "gpu_compute"
    assert view.layer_sum_ratio == pytest.approx(0.7 / view.summary("gpu_compute").mean_ms)
    totals = run_view.RunView(imported_run()).plan_totals
    assert (totals.layers, totals.active_layers) == (4, 4)
    counts = [(one.key, one.layers) for one in view.time_by_precision]
    assert counts == [("INT8", 2), ("FP32", 1), ("FP16", 1)]
    assert [one.key for one in view.time_by_type] == ["Convolution", "Reformat", "gemm"]


def test_the_histogram_and_the_curve_are_of_the_samples() -> None:
    found = run_view.RunView(measured_run()).histogram
    assert sum(found.counts) + found.n_below + found.n_above == 600
    values = np.random.default_rng(4).lognormal(0, 0.3, 500)
    curve = run_view.percentile_curve(Samples(metric="latency", values_ms=frozen(values)))
    assert [one.p for one in curve] == list(run_view.POINTS)
    assert [one.value_ms for one in curve] == [percentile(values, p) for p in run_view.POINTS]
    by_p = {one.p: one for one in curve}
    assert by_p[99].needed_n == by_p[1].needed_n == 459
    assert (by_p[99.9].mark, by_p[50].mark) == (Mark.SAMPLES, None)
    for values in (bursty_tail(), bursty_tail(400), np.random.default_rng(1).normal(2, 0.1, 700)):
        samples = Samples(metric="latency", values_ms=frozen(values))
        curve = run_view.percentile_curve(samples)
        assert all(one in curve for one in describe(samples).percentiles)


def test_frames_hold_every_sample_and_layer() -> None:
    pytest.importorskip("pandas")
    view = run_view.RunView(measured_run())
    frame = view.to_pandas()
    assert list(frame.columns) == ["metric", "i", "start_ms", "value_ms", "phase"]
    assert len(frame) == 605
    steady = frame[frame.phase == "steady_state"]
    assert steady.value_ms.tolist() == view.run.samples[0].values_ms.tolist()
    assert frame[frame.phase == "warm_up"].start_ms.isna().all()
    layers = view.layers_to_pandas()
    assert layers.time_ms.sum() == pytest.approx(4.6 * 0.98)  # medians
    assert layers.name.tolist() == [one.name for one in view.layers]
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    view = run_view.RunView(imported_run())
    polars, arrow = view.to_polars(), view.to_arrow()
    assert polars.columns == arrow.column_names
    assert polars["value_ms"].to_list() == arrow["value_ms"].to_pylist()
    assert polars["start_ms"].null_count() == arrow["start_ms"].null_count == 400


def test_the_steps_of_the_samples_count_and_some_series_carry_no_statistics() -> None:
    fine = measured_run()
    nominal = replace(fine, timer_resolution_ms=100.0)
    stepped = np.round(fine.samples[0].values_ms / 0.2) * 0.2
    coarse = (replace(fine.samples[0], values_ms=frozen(stepped)),)
    assert "W-TIMER" not in {notice.code for notice in run_view.RunView(nominal).notices}
    assert "W-TIMER" in {
        notice.code for notice in run_view.RunView(replace(fine, samples=coarse)).notices
    }
    series = {tag: Samples(metric=tag, values_ms=frozen([0.01] * 50)) for tag in ("enqueue", "h2d")}
    none = Samples(metric="d2h", values_ms=frozen([0.0] * 50))
    run = replace(imported_run(), samples=(*series.values(), none), tool=None)
    assert {one.metric for one in run_view.RunView(run).summaries} == {"enqueue", "h2d"}
    summary = ReportedSummary(metric="enqueue", mean_ms=0.01)
    told = replace(run, tool=ToolReport(tool="trtexec", summaries=(summary,)))
    assert {one.metric for one in run_view.RunView(told).summaries} == {"enqueue", "h2d"}
    coarse = Notice(code="I-ENQUEUE-RESOLUTION", message="10 µs", level="info")
    told = replace(told, notices=(coarse,))
    assert {one.metric for one in run_view.RunView(told).summaries} == {"h2d"}
    assert len(told.samples) == 3


def test_the_plan_of_a_run_is_that_of_its_optimisation_profile() -> None:
    names = enumerate(("conv", "conv [profile 1]"))
    layers = tuple(Layer(index=at, name=name, profile_index=at) for at, name in names)
    times = tuple(
        LayerTiming(index=it.index, name=it.name, mean_ms=1.0 + it.index) for it in layers
    )
    backend = BackendSpec(name="trt", options={"profile_index": "1"})
    plan, profile = Plan(name="p", layers=layers), Profile(source="trtexec", layers=times)
    run = replace(imported_run(), samples=(), tool=None, plan=plan, profile=profile)
    view = run_view.RunView(run).plan_view
    assert (view.layers, view.total_ms) == (layers[:1], 1.0)
    other = run_view.RunView(replace(run, job=replace(run.job, backend=backend))).plan_view
    assert (other.layers, other.total_ms) == (layers[1:], 2.0)
    assert run_view.RunView(measured_run()).plan_view is None


def test_samples_are_tidy_and_warm_up_comes_first() -> None:
    series = {"values_ms": [2.0, 3.0], "start_ms": [0.0, 2.5], "warmup_ms": [9.0]}
    latency = Samples(metric="latency", **{name: frozen(series[name]) for name in series})
    enqueue = Samples(metric="enqueue", values_ms=frozen([0.1]))
    columns = run_view.sample_columns(measured_run(samples=(latency, enqueue)))
    assert list(zip(*columns.values(), strict=True)) == [
        ("latency", 0, None, 9.0, "warm_up"),
        ("latency", 0, 0.0, 2.0, "steady_state"),
        ("latency", 1, 2.5, 3.0, "steady_state"),
        ("enqueue", 0, None, 0.1, "steady_state"),
    ]
    columns = run_view.layer_columns((LayerRow(index=3, name="a", onnx_nodes=("x", "y")),))
    assert (columns["onnx_nodes"], columns["time_ms"]) == (["x;y"], [None])
    assert {len(column) for column in columns.values()} == {1}


def run(wall_ms: float | None = None, **series: list[float]) -> Run:
    samples = (Samples(metric=name, values_ms=frozen(values)) for name, values in series.items())
    return process(1.0, samples=tuple(samples), wall_ms=wall_ms)


PARTS = {"h2d": [1.0, 1.0, 4.0], "gpu_compute": [5.0, 6.0, 7.0], "d2h": [2.0, 2.0, 2.0]}


def test_parts_and_periods_are_medians_of_their_own() -> None:
    found = round_trip(run(latency=[9.0, 11.0, 20.0], enqueue=[0.1, 0.3, 0.2], **PARTS))
    assert found.whole_ms == 11.0
    assert found.parts == (("h2d", 1.0), ("gpu_compute", 6.0), ("d2h", 2.0))
    assert found.outside_ms == 2.0  # of 1, 2 and 7: the rest request by request
    assert found.enqueue_ms == 0.2
    found = round_trip(run(latency=[9.0, 11.0], gpu_compute=[8.0, 8.0]))
    assert found.parts == (("gpu_compute", 8.0),)
    assert (found.outside_ms, found.enqueue_ms) == (2.0, None)
    found = pipeline(run(12.0, gpu_compute=[2.0, 3.0, 4.0], enqueue=[0.5, 0.1, 0.2]))
    assert (found.period_ms, found.compute_ms, found.gap_ms) == (4.0, 3.0, 1.0)
    assert found.enqueue_ms == 0.2
    found = pipeline(run(6.0, gpu_compute=[3.0, 3.0, 3.0]))
    assert (found.gap_ms, found.enqueue_ms) == (-1.0, None)
    whole, part = {"latency": [1.0]}, {"gpu_compute": [1.0]}
    unequal, empty = {"latency": [1, 2], **part}, {"latency": [], "gpu_compute": []}
    for series in ({}, whole, part, empty, unequal):
        assert round_trip(run(**series)) is None, series
    for other in (run(None, **part), run(1.0), run(1.0, gpu_compute=[])):
        assert pipeline(other) is None


STEADY = 1 + 0.01 * np.random.default_rng(1).standard_normal(400)
LOAD = Notice(code="W-LOAD", message="other programs used 2 cores", evidence={"unstable": True})
DRIFT = Notice(code="W-DRIFT", message="latency drifts")
NOTE = Notice(code="I-OUTLIERS", message="3 samples are outliers", level="info")


def test_a_steady_run_is_usable_and_the_worst_reason_comes_first() -> None:
    assert str(usability(describe_values(STEADY), [NOTE])) == "usable"
    found = usability(describe_values(STEADY), [DRIFT, LOAD])
    assert [one.code for one in found.harms] == ["W-LOAD", "W-DRIFT"]
    assert str(found) == "not usable: W-LOAD; and 1 more"  # its message is among the notices
    assert usability(describe_values(STEADY), [DRIFT]).verdict == "rough"


def test_a_known_median_of_a_wide_distribution_does_not_make_a_run_usable() -> None:
    """Known to ±0.46 %, with a mean of 4.5 medians."""
    values = STEADY.copy()
    values[::10] = 36.0
    found = usability(describe_values(values), [])
    assert found.verdict == "not usable"
    assert "the mean is 4.5 × the median" in str(found)
    values[::10] = 3.0
    assert usability(describe_values(values), []).verdict == "rough"
    for unknown in ([1.0, 1.1, 1.2], np.arange(1.0, 100.0)):  # nothing is known of its median
        assert usability(describe_values(unknown), []).verdict == "not usable"


@pytest.mark.parametrize("make", [frames.to_pandas, frames.to_polars, frames.to_arrow])
def test_without_the_extra_it_says_what_to_install(monkeypatch, make) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(optional.importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError) as caught:
        make({"a": [1]})
    assert caught.value.hint == "pip install 'enginescope[frames]'"


def test_a_late_float_does_not_become_an_integer() -> None:
    pytest.importorskip("polars")
    values = [None] * 300 + [0.5]
    assert frames.to_polars({"a": values})["a"].to_list() == values
