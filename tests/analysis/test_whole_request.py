from __future__ import annotations

import msgspec
import numpy as np

from enginescope.analysis.run_view import RunView
from enginescope.analysis.whole_request import whole_request
from enginescope.formats.engine_run import EngineFacts, run_of_engine
from enginescope.model.plan import Plan
from enginescope.model.run import Run
from enginescope.model.samples import ReportedSummary, Samples
from enginescope.model.tool_report import ToolReport


def run_of(*metrics: str, printed: tuple[ReportedSummary, ...] = ()) -> Run:
    report = ToolReport(tool="trtexec", summaries=printed) if printed else None
    run = run_of_engine(EngineFacts(name="n", plan=Plan(name="n", layers=()), report=report))
    series = tuple(
        Samples(metric=one, values_ms=np.full(20, 1.0 + at)) for at, one in enumerate(metrics)
    )
    return msgspec.structs.replace(run, samples=series)


def test_of_the_samples_gpu_compute_first() -> None:
    assert whole_request(RunView(run_of("latency", "gpu_compute"))) == ("gpu_compute", 2.0)
    assert whole_request(RunView(run_of("latency"))) == ("latency", 1.0)


def test_else_as_it_was_printed() -> None:
    printed = (
        ReportedSummary(metric="trtexec_latency", mean_ms=5.0),
        ReportedSummary(metric="gpu_compute", mean_ms=4.0),
    )
    assert whole_request(RunView(run_of(printed=printed))) == ("gpu_compute", 4.0)
    assert whole_request(RunView(run_of("latency", printed=printed))) == ("latency", 1.0)
    assert whole_request(RunView(run_of(printed=printed[:1]))) is None
    assert whole_request(RunView(run_of())) is None
