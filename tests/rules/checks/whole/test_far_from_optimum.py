from __future__ import annotations

from enginescope.records.plan.plan import IOTensor, ProfileShapes
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Finding, LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import layer, plan, tensor, timed

SHAPES = (
    ProfileShapes(index=0, opt_shape=(4, 3, 8, 8)),
    ProfileShapes(index=1, opt_shape=(64, 3, 8, 8)),
)


def found(*fed: str, index: int | None = None) -> tuple[Finding, ...]:
    io = tuple(
        IOTensor(tensor=Tensor(name=name), mode="input", profiles=SHAPES) for name in ("a", "b")
    )
    made = plan(layer("PointWise", "a FP16, b FP16", "out FP16"), io=io)
    given = LintInput(
        plan=made,
        profile=timed(made, 0.5),
        fed=tuple(tensor(one) for one in fed),
        profile_index=index,
    )
    return lint(given, LintConfig(select=("PLAN114",))).findings


def test_found() -> None:
    (one,) = found("a FP16 8x3x8x8", "b FP16 1x3x8x8")
    assert one.subject == "input b"
    assert one.message == "was fed as 1×3×8×8, the profile's optimum is 4×3×8×8"
    assert one.evidence == {"elements_ratio": 0.25, "inputs": 2, "profile": 0}
    assert one.saving.bound_ms is None


def test_found_in_the_profile_in_use() -> None:
    (one,) = found("a FP16 4x3x8x8", index=1)
    assert one.evidence["elements_ratio"] == 4 / 64


def test_not_found() -> None:
    assert found("a FP16 4x3x8x8", "b FP16 6x3x8x8") == ()
    assert found("a FP16 ?x3x8x8", "c FP16 1x1") == ()
    assert found("a FP16 8x3x8x8", index=2) == ()
    assert found() == ()
