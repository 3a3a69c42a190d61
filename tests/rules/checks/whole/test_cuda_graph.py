from __future__ import annotations

import pytest

from enginescope.rules.base import Finding, LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import layer, plan, timed

LAYERS = tuple(layer("PointWise", "in FP16", f"t{at} FP16") for at in range(20))


def found(
    each_ms: float,
    *,
    count: int = 20,
    cuda_graph: bool | None = None,
    enqueue_ms: float | None = None,
) -> tuple[Finding, ...]:
    made = plan(*LAYERS[:count])
    profile = timed(made, *(each_ms,) * count)
    given = LintInput(plan=made, profile=profile, cuda_graph=cuda_graph, enqueue_ms=enqueue_ms)
    return lint(given, LintConfig(select=("TIME206",))).findings


def test_found() -> None:
    (one,) = found(0.01, cuda_graph=False)
    assert (one.subject, one.severity.value) == ("the engine", "warning")
    assert one.message == (
        "launches 20 layers one by one, without a CUDA graph; elsewhere a "
        "graph saved 0.6 to 0.9 µs a layer"
    )
    assert one.saving.bound_ms == pytest.approx(20 * 0.0006)


def test_found_by_the_time_that_enqueuing_takes() -> None:
    (one,) = found(0.01, enqueue_ms=0.1)
    assert "no faster" not in one.message
    (bound,) = found(0.01, enqueue_ms=0.19)
    assert bound.message.endswith("; the host enqueues no faster than the GPU computes")


def test_where_launches_are_a_small_part_it_is_info() -> None:
    (one,) = found(0.02, cuda_graph=False)
    assert one.severity.value == "info"


def test_not_found() -> None:
    assert found(0.01, cuda_graph=True) == ()
    assert found(0.01) == ()  # nothing tells how it ran
    assert found(0.01, enqueue_ms=0.002) == ()  # one launch for all layers
    assert found(0.1, cuda_graph=False) == ()
    assert found(0.01, count=9, cuda_graph=False) == ()
