"""Statistics of exported times against trtexec's printed ones, to the printed digit."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from enginescope.core.record import replace
from enginescope.formats.importing.import_options import warmup_ms
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.formats.trtexec import exported_times
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


def figures(summary: ReportedSummary) -> list[tuple[object, float]]:
    plain = [summary.min_ms, summary.max_ms, summary.mean_ms, summary.median_ms]
    every = [*enumerate(plain), *summary.percentiles]
    return [(name, as_printed(value)) for name, value in every]


def check(times: exported_times.ExportedTimes, report: ToolReport) -> None:
    by_metric = {one.metric: one for one in report.summaries}
    compared = [one for one in times.samples if one.metric != "enqueue"]  # 10 µs in the file
    assert len(compared) == 4
    for series in compared:
        printed = by_metric[series.metric]
        ours = exported_times.as_trtexec_prints(series, tuple(p for p, _ in printed.percentiles))
        assert figures(ours) == figures(printed), series.metric
    assert times.wall_ms is not None
    # Six digits of time stamps, and six of the throughput.
    rate = 1e3 * len(times.samples[0]) / times.wall_ms
    assert rate == pytest.approx(report.throughput_per_s, rel=1e-5)
    assert times.wall_ms / 1e3 == pytest.approx(report.host_walltime_s, rel=1e-5)


def test_shipped_times(data) -> None:
    stem = data / "trt86-h200" / "depth_anything_small"
    report = report_beside(stem)
    raw = gzip.decompress(stem.with_name(stem.name + ".timing.json.gz").read_bytes())
    check(exported_times.parse_times(raw, "depth", warmup_ms=warmup_ms(report))[0], report)


@pytest.mark.parametrize("name", SHARED)
def test_shared_times(shared, name) -> None:
    stem = shared / name
    report = report_beside(stem)
    raw = stem.with_name(stem.name + ".timing.json").read_bytes()
    check(exported_times.parse_times(raw, name, warmup_ms=warmup_ms(report))[0], report)


def test_true_means_differ_in_the_sixth_digit(shared) -> None:
    """Why the mean needs trtexec's 32-bit accumulation to be held against its print."""
    stem = shared / "trex-examples" / "resnet18-a100-qat-residual.engine"
    raw = stem.with_name(stem.name + ".timing.json").read_bytes()
    times, _ = exported_times.parse_times(raw, stem.name, warmup_ms=200.0)
    series = times.samples[0]
    assert as_printed(float(np.mean(series.values_ms))) == 0.545721
    assert as_printed(exported_times.as_trtexec_prints(series, ()).mean_ms) == 0.545726


@pytest.mark.parametrize(
    ("n", "p", "rank"),
    [(10, 90, 8), (10, 99, 9), (100, 99, 99), (1, 99, 0), (5, 0, 0), (5, 100, 4)],
)
def test_percentile_ranks(n, p, rank) -> None:
    series = Samples(metric="h2d", values_ms=frozen(np.arange(n)[::-1]))
    assert exported_times.as_trtexec_prints(series, (p,)).percentiles == ((p, float(rank)),)


def test_median_of_an_even_number() -> None:
    series = Samples(metric="h2d", values_ms=frozen([4.0, 1.0, 2.0, 3.0]))
    assert exported_times.as_trtexec_prints(series, ()).median_ms == 2.5


VALUES = np.random.default_rng(5).integers(630, 660, 2000) * 2.0**-12
SERIES = Samples(metric="gpu_compute", values_ms=frozen(VALUES))


def printed(**changes: object) -> ReportedSummary:
    return replace(exported_times.as_trtexec_prints(SERIES, (90.0, 99.0)), **changes)


def times(*samples: Samples, enqueue_step_ms: float | None = None) -> exported_times.ExportedTimes:
    return exported_times.ExportedTimes(samples=samples, enqueue_step_ms=enqueue_step_ms)


def test_enqueue_times_agree_as_far_as_their_stamps_go() -> None:
    enqueue = Samples(metric="enqueue", values_ms=frozen([0.1] * 50))
    near, far = ({"metric": "enqueue", "median_ms": median} for median in (0.119, 3.05))
    coarse = times(enqueue, enqueue_step_ms=0.01)
    assert exported_times.summary_mismatches(coarse, (ReportedSummary(**near),)) == ()
    (notice,) = exported_times.summary_mismatches(coarse, (ReportedSummary(**far),))
    assert list(notice.evidence["differing"]) == ["median"]


def test_what_agrees_or_cannot_be_compared_is_no_mismatch() -> None:
    assert exported_times.summary_mismatches(times(SERIES), (printed(),)) == ()
    exact = printed()
    mean, median = as_printed(exact.mean_ms), as_printed(exact.median_ms)
    rounded = replace(exact, mean_ms=mean, median_ms=median)
    assert exported_times.summary_mismatches(times(SERIES), (rounded,)) == ()
    nothing = ReportedSummary(metric="gpu_compute")
    assert exported_times.summary_mismatches(times(SERIES), (nothing,)) == ()
    h2d = Samples(metric="other", values_ms=frozen([0.01, 0.0]))
    empty = Samples(metric="h2d", values_ms=frozen([]))
    summaries = [ReportedSummary(metric=one, min_ms=5.0) for one in ("h2d", "d2h")]
    assert exported_times.summary_mismatches(times(h2d, empty), summaries) == ()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"min_ms": 0.1}, ["min"]),
        ({"median_ms": 0.2, "mean_ms": 0.3}, ["mean", "median"]),
        ({"percentiles": ((90.0, 0.1),)}, ["p90"]),
        ({"max_ms": 0.0}, ["max"]),
    ],
)
def test_what_differs_is_named(changes, names) -> None:
    (notice,) = exported_times.summary_mismatches(times(SERIES), (printed(**changes),))
    assert notice.code == "W-SUMMARY-MISMATCH"
    assert list(notice.evidence["differing"]) == names
    assert notice.evidence["samples"] == 2000


def test_a_mean_that_32_bits_rounded_the_other_way() -> None:
    # 7,191 copies to the host as an H200 timed them: their sum is rounded at each addition, and not
    # the same way for exported times and for those that the printed mean is of
    short = Samples(metric="d2h", values_ms=frozen(np.full(7191, 0.003797251)))
    exact = exported_times.as_trtexec_prints(short, ())
    other = replace(exact, mean_ms=exact.mean_ms * (1 + 1.5e-4))
    assert exported_times.summary_mismatches(times(short), (other,)) == ()
    wrong = replace(exact, mean_ms=exact.mean_ms * (1 + 5e-4))
    assert len(exported_times.summary_mismatches(times(short), (wrong,))) == 1
