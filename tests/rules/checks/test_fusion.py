import pytest

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.records.plan.plan import Layer
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.rules.made import findings, layer, plan, timed

SMALL_LAYERS = tuple(layer("PointWise", "in FP16", f"t{at} FP16") for at in range(3))
BLOCK = layer("Myelin", "in FP16", "out FP16", name="{ForeignNode[a...b]}")


def test_opaque_block_found() -> None:
    (one,) = findings("PLAN118", *SMALL_LAYERS, BLOCK, times=(0.2, 0.2, 0.2, 0.4))
    message = "takes 0.400 ms, 40 % of the time, and the plan shows nothing of its kernels"
    assert one.message == message
    assert one.saving.bound_ms is None  # nothing tells what can be won
    assert "TensorRT 10" in one.advice
    made = plan(*SMALL_LAYERS, BLOCK)
    whole = WholeRequest("gpu_compute", 0.996)
    report = lint(LintInput(plan=made, profile=timed(made, 0.2, 0.2, 0.2, 0.4), whole=whole))
    (one,) = (it for it in report.findings if it.code == "PLAN118")
    assert one.message.startswith("takes 0.399 ms, 40 % ")


def test_opaque_block_not_found() -> None:
    assert findings("PLAN118", *SMALL_LAYERS, BLOCK, times=(0.2, 0.2, 0.2, 0.01)) == ()
    assert findings("PLAN118", *SMALL_LAYERS, BLOCK) == ()
    assert findings("PLAN118", *SMALL_LAYERS, times=(0.2, 0.2, 0.2)) == ()


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
def test_unfused_attention_found(softmax: Layer) -> None:
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


def test_unfused_attention_not_found() -> None:
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


KERNELS = (
    layer("kgen", "in FP16", "a FP16", tactic_name="__myl_MulAddMeanSubMulMean_0x93", name="mean"),
    layer("kgen", "a FP16", "out FP16", tactic_name="__myl_AddSqrtDivMulMulAdd_0x12", name="root"),
)
NORM_LAYERS = (
    layer("Reduce", "in FP32", "a FP32", name="/norm/ReduceMean"),
    layer("PointWise", "a FP32", "b FP32", name="PWN(/norm/Sub, /norm/Pow)"),
    layer("Reduce", "b FP32", "c FP32", name="/norm/ReduceMean_1"),
    layer("PointWise", "c FP32", "out FP32", name="PWN(PWN(/norm/Add, /norm/Sqrt), /norm/Div)"),
)


def test_unfused_layer_norm_found() -> None:
    (one,) = findings("PLAN119", *KERNELS, times=(0.25, 0.5))
    assert (one.subject, one.layers) == ("mean", (0, 1))
    assert one.message == "begins a normalization that is split over 2 kernels"
    assert one.saving.bound_ms == 0.25  # one kernel is needed
    (one,) = findings("PLAN119", *NORM_LAYERS, times=(0.1, 0.1, 0.1, 0.3))
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
def test_unfused_layer_norm_not_found(layers: tuple[Layer, ...]) -> None:
    assert findings("PLAN119", *layers) == ()
