"""Statistics of exported times against trtexec's printed ones, to the printed digit."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from enginescope.formats.importing.import_options import warmup_ms
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.formats.trtexec.exported_times import ExportedTimes, as_trtexec_prints, parse_times
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.build import ToolReport
from enginescope.records.samples import ReportedSummary

SHARED = [
    "trt86-h200/depth_anything_small",
    "trt86-h200/resnet18",
    "trt86-h200/resnet18_cudagraph",
    "trex-examples/mobilenet.qat.onnx.engine",
    "trex-examples/mobilenet_v2_residuals.qat.onnx.engine",
    "trex-examples/resnet18-a100-fp16.engine",
    "trex-examples/resnet18-a100-fp32.engine",
    "trex-examples/resnet18-a100-qat-residual.engine",
    "trt10-rtx3060/alexnet_fp16",
    "trt10-rtx3060/resnet18_fp16",
]


def report_beside(stem: Path) -> ToolReport:
    metadata = stem.with_name(stem.name + ".profile.metadata.json")
    if metadata.exists():
        return parse_trex_metadata(metadata.read_bytes(), metadata.name)[0]
    log = stem.with_name(stem.name + ".engine.profile.log")
    return parse_trtexec_log(log.read_bytes(), log.name)[0].report


def as_printed(value: float | None) -> float:
    assert value is not None
    return float(f"{value:.6g}")


def figures(summary: ReportedSummary) -> dict[object, float]:
    plain = {
        "min": summary.min_ms,
        "max": summary.max_ms,
        "mean": summary.mean_ms,
        "median": summary.median_ms,
    }
    every = {**plain, **dict(summary.percentiles)}
    return {name: as_printed(value) for name, value in every.items()}


def check(times: ExportedTimes, report: ToolReport) -> None:
    compared = 0
    by_metric = {one.metric: one for one in report.summaries}
    for series in times.samples:
        if series.metric == "enqueue":
            continue  # 10 µs resolution in the file
        printed = by_metric[series.metric]
        ours = as_trtexec_prints(series, tuple(p for p, _ in printed.percentiles))
        assert figures(ours) == figures(printed), series.metric
        compared += 1
    assert compared == 4
    assert times.wall_ms is not None
    n = len(times.samples[0])
    # Six digits of time stamps, and six of the throughput.
    assert 1e3 * n / times.wall_ms == pytest.approx(report.throughput_per_s, rel=1e-5)
    assert times.wall_ms / 1e3 == pytest.approx(report.host_walltime_s, rel=1e-5)


def test_shipped_times(data) -> None:
    stem = data / "trt86-h200" / "depth_anything_small"
    report = report_beside(stem)
    raw = gzip.decompress(stem.with_name(stem.name + ".timing.json.gz").read_bytes())
    check(parse_times(raw, "depth", warmup_ms=warmup_ms(report))[0], report)


@pytest.mark.parametrize("name", SHARED)
def test_shared_times(shared, name) -> None:
    stem = shared / name
    report = report_beside(stem)
    raw = stem.with_name(stem.name + ".timing.json").read_bytes()
    times, _ = parse_times(raw, name, warmup_ms=warmup_ms(report))
    check(times, report)


def test_true_means_differ_in_the_sixth_digit(shared) -> None:
    """Why the mean needs trtexec's 32-bit accumulation to be held against its print."""
    stem = shared / "trex-examples" / "resnet18-a100-qat-residual.engine"
    raw = stem.with_name(stem.name + ".timing.json").read_bytes()
    times, _ = parse_times(raw, stem.name, warmup_ms=200.0)
    series = times.samples[0]
    assert as_printed(float(np.mean(series.values_ms))) == 0.545721
    assert as_printed(as_trtexec_prints(series, ()).mean_ms) == 0.545726


@pytest.mark.parametrize(
    ("n", "p", "rank"),
    [(10, 90, 8), (10, 99, 9), (100, 99, 99), (1, 99, 0), (5, 0, 0), (5, 100, 4)],
)
def test_percentile_ranks(n, p, rank) -> None:
    series = Samples(metric="h2d", values_ms=frozen(np.arange(n)[::-1]))
    assert as_trtexec_prints(series, (p,)).percentiles == ((p, float(rank)),)


def test_median_of_an_even_number() -> None:
    series = Samples(metric="h2d", values_ms=frozen([4.0, 1.0, 2.0, 3.0]))
    assert as_trtexec_prints(series, ()).median_ms == 2.5
