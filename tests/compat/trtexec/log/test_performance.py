import pytest

from enginescope.compat.trtexec.log.report import performance_lines, unstable_from_pct, wall_ms_of
from enginescope.core.record import replace
from tests.compat.trtexec.runs import N, measured, settings, version


def test_nothing_is_said_of_a_run_without_compute_times() -> None:
    asked = settings()
    assert performance_lines(measured(asked, samples=()), asked) == ()


def test_the_span_of_the_queries() -> None:
    run = measured(settings())
    assert wall_ms_of(run) == 1.25 * N
    stamped = replace(run, wall_ms=None)
    assert wall_ms_of(stamped) == pytest.approx(1.25 * (N - 1) + 1.15, rel=1e-6)
    assert wall_ms_of(replace(stamped, trace=None)) is None


def test_what_is_not_known_is_not_printed() -> None:
    asked = settings()
    run = measured(asked, wall_ms=None, trace=None, warmup=None)
    alone = tuple(one for one in run.samples if one.metric == "gpu_compute")
    found = [one.text for one in performance_lines(replace(run, samples=alone), asked)]
    assert [one.partition(":")[0] for one in found if ":" in one] == [
        "Trace averages of 10 runs",
        "GPU Compute Time",
        "Total GPU Compute Time",
    ]


@pytest.mark.parametrize(
    ("trt", "limit"), [("8.6.1", 1.0), ("10.13.0", 1.0), ("10.13.2", 2.5), ("11.1.0", 2.5)]
)
def test_the_limit_of_steadiness_is_the_versions(trt, limit) -> None:
    assert unstable_from_pct(version(trt)) == limit
