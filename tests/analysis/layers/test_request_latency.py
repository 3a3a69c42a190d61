from __future__ import annotations

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.judge.samples import Samples
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import LayerTiming, Plan, Profile
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary


def run_of(*metrics: str, printed: tuple[ReportedSummary, ...] = ()) -> Run:
    report = ToolReport(tool="trtexec", summaries=printed) if printed else None
    run = run_of_engine(EngineFacts(name="n", plan=Plan(name="n", layers=()), report=report))
    series = tuple(
        Samples(metric=one, values_ms=np.full(20, 1.0 + at)) for at, one in enumerate(metrics)
    )
    return replace(run, samples=series)


def test_of_the_samples_gpu_compute_first() -> None:
    assert RunView(run_of("latency", "gpu_compute")).whole_request[:3] == ("gpu_compute", 2.0, 2.0)
    assert RunView(run_of("latency")).whole_request[:3] == ("latency", 1.0, 1.0)


def test_else_as_it_was_printed() -> None:
    printed = (
        ReportedSummary(metric="trtexec_latency", mean_ms=5.0),
        ReportedSummary(metric="gpu_compute", mean_ms=4.0, median_ms=3.9),
    )
    assert RunView(run_of(printed=printed)).whole_request[:3] == ("gpu_compute", 4.0, 3.9)
    assert RunView(run_of("latency", printed=printed)).whole_request[:3] == ("latency", 1.0, 1.0)
    assert RunView(run_of(printed=printed[:1])).whole_request is None
    assert RunView(run_of()).whole_request is None


def test_the_sum_of_layers_is_held_against_what_was_printed() -> None:
    profile = Profile(source="trtexec", layers=(LayerTiming(index=0, name="a", mean_ms=6.0),))
    printed = (ReportedSummary(metric="gpu_compute", mean_ms=4.0),)
    run = replace(run_of(printed=printed), profile=profile)
    found = RunView(run).layer_sum
    assert (found.whole_metric, found.ratio) == ("gpu_compute", 1.0)
    assert (found.raw_ms, found.profiler_ms) == (6.0, 0.00234)  # the profiler's own figures
