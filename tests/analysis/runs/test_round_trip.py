from __future__ import annotations

import pytest

from enginescope.analysis.runs.throughput import pipeline, round_trip
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run


def run(wall_ms: float | None = None, **series: list[float]) -> Run:
    return Run(
        id="1",
        created="",
        origin="measured",
        job=Job(subject=Subject(name="net"), backend=BackendSpec(name="trt")),
        samples=tuple(
            Samples(metric=metric, values_ms=frozen(values)) for metric, values in series.items()
        ),
        wall_ms=wall_ms,
    )


PARTS = {"h2d": [1.0, 1.0, 4.0], "gpu_compute": [5.0, 6.0, 7.0], "d2h": [2.0, 2.0, 2.0]}


def test_parts_and_outside_are_medians_of_their_own() -> None:
    found = round_trip(run(latency=[9.0, 11.0, 20.0], enqueue=[0.1, 0.3, 0.2], **PARTS))
    assert found is not None
    assert found.whole_ms == 11.0
    assert found.parts == (("h2d", 1.0), ("gpu_compute", 6.0), ("d2h", 2.0))
    assert found.outside_ms == 2.0  # of 1, 2 and 7: the rest request by request
    assert found.enqueue_ms == 0.2


def test_without_copies_there_are_fewer_parts() -> None:
    found = round_trip(run(latency=[9.0, 11.0], gpu_compute=[8.0, 8.0]))
    assert found is not None
    assert found.parts == (("gpu_compute", 8.0),)
    assert found.outside_ms == 2.0
    assert found.enqueue_ms is None


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"latency": [1.0]},
        {"gpu_compute": [1.0]},
        {"latency": [], "gpu_compute": []},
        {"latency": [1.0, 2.0], "gpu_compute": [1.0]},
    ],
)
def test_a_run_without_parts_has_no_round_trip(series) -> None:
    assert round_trip(run(**series)) is None


def test_a_period_is_the_whole_by_the_queries() -> None:
    found = pipeline(run(12.0, gpu_compute=[2.0, 3.0, 4.0], enqueue=[0.5, 0.1, 0.2]))
    assert found is not None
    assert (found.period_ms, found.compute_ms, found.gap_ms) == (4.0, 3.0, 1.0)
    assert found.enqueue_ms == 0.2


def test_streams_that_overlap_leave_less_than_no_gap() -> None:
    found = pipeline(run(6.0, gpu_compute=[3.0, 3.0, 3.0]))
    assert found is not None
    assert found.gap_ms == -1.0
    assert found.enqueue_ms is None


@pytest.mark.parametrize(
    ("wall_ms", "series"), [(None, {"gpu_compute": [1.0]}), (1.0, {}), (1.0, {"gpu_compute": []})]
)
def test_a_run_without_a_whole_has_no_pipeline(wall_ms, series) -> None:
    assert pipeline(run(wall_ms, **series)) is None
