import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from tests.render.runs import imported_run, measured_run


def test_throughput_is_what_was_printed_else_of_the_wall_time_or_the_span() -> None:
    run = measured_run()
    job = replace(run.job, workload=replace(run.job.workload, batch=8))
    view = RunView(measured_run(job=job))
    assert view.throughput.per_s == pytest.approx(8e3 / view.latency.mean_ms)
    assert (view.throughput.unit, view.throughput.definition) == ("items", "batch ÷ mean latency")
    found = RunView(imported_run()).throughput
    assert (found.per_s, found.unit) == (1_234.5, "queries")
    assert found.definition == "as trtexec printed it"
    tool = replace(imported_run().tool, throughput_per_s=None, host_walltime_s=0.5)
    found = RunView(imported_run(tool=tool)).throughput
    assert found.per_s == 200 / 0.5
    assert found.definition == "queries ÷ the wall time that trtexec printed"
    series = {"values_ms": frozen([2, 2, 2]), "start_ms": frozen([0, 1, 2])}
    samples = Samples(metric="trtexec_latency", **series)
    found = RunView(imported_run(tool=None, samples=(samples,))).throughput
    assert (found.per_s, found.unit) == (pytest.approx(3e3 / 4), "queries")
    mode = replace(run.job.workload.mode, in_flight=4)
    job = replace(run.job, workload=replace(run.job.workload, mode=mode))
    bare = replace(run.samples[0], start_ms=None)
    assert RunView(measured_run(job=job, samples=(bare,))).throughput is None
    for start_ms in (None, frozen([0.0]), frozen([5.0, 0.0])):  # none has a sound span
        n = 1 if start_ms is None else start_ms.size
        samples = Samples(metric="trtexec_latency", values_ms=frozen([2.0] * n), start_ms=start_ms)
        assert RunView(imported_run(tool=None, samples=(samples,))).throughput is None
