from __future__ import annotations

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.rules.base import LintInput
from enginescope.rules.engine import lint
from tests.rules.made import findings, layer, plan, timed

LAYERS = tuple(layer("PointWise", "in FP16", f"t{at} FP16") for at in range(3))
BLOCK = layer("Myelin", "in FP16", "out FP16", name="{ForeignNode[a...b]}")


def test_found() -> None:
    (one,) = findings("PLAN118", *LAYERS, BLOCK, times=(0.2, 0.2, 0.2, 0.4))
    assert (
        one.message == "takes 0.400 ms, 40 % of the time, and the plan shows nothing of its kernels"
    )
    assert one.saving.bound_ms is None  # nothing tells what can be won
    assert "TensorRT 10" in one.advice


def test_its_time_is_that_of_every_table() -> None:
    made = plan(*LAYERS, BLOCK)
    whole = WholeRequest("gpu_compute", 0.996)
    report = lint(LintInput(plan=made, profile=timed(made, 0.2, 0.2, 0.2, 0.4), whole=whole))
    (one,) = (it for it in report.findings if it.code == "PLAN118")
    assert one.message.startswith("takes 0.399 ms, 40 % ")


def test_not_found() -> None:
    assert findings("PLAN118", *LAYERS, BLOCK, times=(0.2, 0.2, 0.2, 0.01)) == ()
    assert findings("PLAN118", *LAYERS, BLOCK) == ()
    assert findings("PLAN118", *LAYERS, times=(0.2, 0.2, 0.2)) == ()
