import numpy as np
import pytest

from enginescope.core.record import replace
from enginescope.formats.trtexec.exported_times import (
    ExportedTimes,
    as_trtexec_prints,
    summary_mismatches,
)
from enginescope.judge.samples import Samples, frozen
from enginescope.records.samples import ReportedSummary

SERIES = Samples(
    metric="gpu_compute",
    values_ms=frozen(np.random.default_rng(5).integers(630, 660, 2000) * 2.0**-12),
)


def printed(**changes: object) -> ReportedSummary:
    return replace(as_trtexec_prints(SERIES, (90.0, 99.0)), **changes)


def times(*samples: Samples, enqueue_step_ms: float | None = None) -> ExportedTimes:
    return ExportedTimes(samples=samples, enqueue_step_ms=enqueue_step_ms)


def test_enqueue_times_agree_as_far_as_their_stamps_go() -> None:
    enqueue = Samples(metric="enqueue", values_ms=frozen([0.1] * 50))
    near, far = ({"metric": "enqueue", "median_ms": median} for median in (0.119, 3.05))
    coarse = times(enqueue, enqueue_step_ms=0.01)
    assert summary_mismatches(coarse, (ReportedSummary(**near),)) == ()
    (notice,) = summary_mismatches(coarse, (ReportedSummary(**far),))
    assert list(notice.evidence["differing"]) == ["median"]


def test_what_agrees_or_cannot_be_compared_is_no_mismatch() -> None:
    assert summary_mismatches(times(SERIES), (printed(),)) == ()
    exact = printed()
    rounded = printed(
        mean_ms=float(f"{exact.mean_ms:.6g}"), median_ms=float(f"{exact.median_ms:.6g}")
    )
    assert summary_mismatches(times(SERIES), (rounded,)) == ()
    nothing = ReportedSummary(metric="gpu_compute")
    assert summary_mismatches(times(SERIES), (nothing,)) == ()
    h2d = Samples(metric="other", values_ms=frozen([0.01, 0.0]))
    empty = Samples(metric="h2d", values_ms=frozen([]))
    summaries = [ReportedSummary(metric=one, min_ms=5.0) for one in ("h2d", "d2h")]
    assert summary_mismatches(times(h2d, empty), summaries) == ()


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
    (notice,) = summary_mismatches(times(SERIES), (printed(**changes),))
    assert notice.code == "W-SUMMARY-MISMATCH"
    assert list(notice.evidence["differing"]) == names
    assert notice.evidence["samples"] == 2000


def test_a_mean_that_32_bits_rounded_the_other_way() -> None:
    # 7,191 copies to the host as an H200 timed them: their sum is rounded at each addition, and not
    # the same way for exported times and for those that the printed mean is of
    short = Samples(metric="d2h", values_ms=frozen(np.full(7191, 0.003797251)))
    exact = as_trtexec_prints(short, ())
    other = replace(exact, mean_ms=exact.mean_ms * (1 + 1.5e-4))
    assert summary_mismatches(times(short), (other,)) == ()
    wrong = replace(exact, mean_ms=exact.mean_ms * (1 + 5e-4))
    assert len(summary_mismatches(times(short), (wrong,))) == 1
