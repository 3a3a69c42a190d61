from __future__ import annotations

import pytest

from enginescope.records.plan.plan import Layer
from tests.rules.made import findings, layer

SCORES = layer("gemm", "q FP16, k FP16", "s FP16", name="scores")
CONTEXT = layer("gemm", "p FP16, v FP16", "out FP16", name="context")


@pytest.mark.parametrize(
    "softmax",
    [
        layer("SoftMax", "s FP16", "p FP16", name="softmax"),
        layer("kgen", "s FP16", "p FP16", tactic_name="__myl_MulAddMaxrSubExpSumDivMul_0x12"),
        layer("kgen", "s FP16", "p FP16", onnx_nodes=("/attn/Softmax",)),
    ],
)
def test_found(softmax: Layer) -> None:
    layers = (SCORES, softmax, CONTEXT)
    (one,) = findings("PLAN113", *layers, times=(0.25, 0.5, 0.125), inputs="q k v")
    assert one.layers == (0, 1, 2)
    assert one.saving.bound_ms == 0.5  # what lies between the products
    assert one.evidence == {"before": "scores", "after": "context"}


def test_found_with_a_mask_in_between() -> None:
    mask = layer("kgen", "s FP16", "m FP16", name="mask")
    softmax = layer("SoftMax", "m FP16", "p FP16")
    (one,) = findings("PLAN113", SCORES, mask, softmax, CONTEXT, inputs="q k v")
    assert one.layers == (0, 1, 2, 3)


def test_not_found() -> None:
    softmax = layer("SoftMax", "s FP16", "p FP16")
    assert findings("PLAN113", SCORES, softmax, inputs="q k", outputs="p") == ()
    assert findings("PLAN113", softmax, CONTEXT, inputs="s v") == ()
    fused = layer("kgen", "s FP16", "p FP16", name="softmax", tactic_name="_gemm_mha_v2_0x1")
    assert findings("PLAN113", SCORES, fused, CONTEXT, inputs="q k v") == ()
    other = layer("kgen", "s FP16", "p FP16", tactic_name="__myl_MulAdd_0x1")
    assert findings("PLAN113", SCORES, other, CONTEXT, inputs="q k v") == ()
    conv = layer("Convolution", "s FP16", "t FP16")
    apart = layer("SoftMax", "t FP16", "p FP16")
    assert findings("PLAN113", SCORES, conv, apart, CONTEXT, inputs="q k v") == ()
