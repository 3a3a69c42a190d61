from __future__ import annotations

import pytest

from enginescope.records.plan.plan import Layer
from tests.rules.made import findings, layer

KERNELS = (
    layer("kgen", "in FP16", "a FP16", tactic_name="__myl_MulAddMeanSubMulMean_0x93", name="mean"),
    layer("kgen", "a FP16", "out FP16", tactic_name="__myl_AddSqrtDivMulMulAdd_0x12", name="root"),
)
LAYERS = (
    layer("Reduce", "in FP32", "a FP32", name="/norm/ReduceMean"),
    layer("PointWise", "a FP32", "b FP32", name="PWN(/norm/Sub, /norm/Pow)"),
    layer("Reduce", "b FP32", "c FP32", name="/norm/ReduceMean_1"),
    layer("PointWise", "c FP32", "out FP32", name="PWN(PWN(/norm/Add, /norm/Sqrt), /norm/Div)"),
)


def test_found() -> None:
    (one,) = findings("PLAN119", *KERNELS, times=(0.25, 0.5))
    assert (one.subject, one.layers) == ("mean", (0, 1))
    assert one.message == "begins a normalization that is split over 2 kernels"
    assert one.saving.bound_ms == 0.25  # one kernel is needed


def test_found_of_reductions_and_pointwise_layers() -> None:
    (one,) = findings("PLAN119", *LAYERS, times=(0.1, 0.1, 0.1, 0.3))
    assert one.layers == (2, 3)


@pytest.mark.parametrize(
    "layers",
    [
        (layer("kgen", "in FP16", "out FP16", tactic_name="__myl_MeanSubMulMeanAddSqrtDiv_0x1"),),
        (KERNELS[0], layer("gemm", "a FP16", "b FP16"), layer("kgen", "b FP16", "out FP16")),
        (KERNELS[0], layer("kgen", "a FP16", "out FP16", tactic_name="__myl_MulAdd_0x1")),
        (layer("Reduce", "in FP16", "out FP16", name="/pool/ReduceMean"),),
    ],
)
def test_not_found(layers: tuple[Layer, ...]) -> None:
    assert findings("PLAN119", *layers) == ()
