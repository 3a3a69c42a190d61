import pytest

from enginescope.records.environment import Device
from enginescope.records.plan.plan import IOTensor, Layer, Plan, ProfileShapes
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.rules.made import findings, layer, plan, profile, severities, tensor, timed

# 3,200,000 bytes each way: 0.00133 ms at H200's 4,800 GB/s
COPY = layer("Reformat", "in FP16 100x16000", "out FP16 100x16000")


def test_below_roofline_found() -> None:
    (one,) = findings("TIME204", COPY, times=(0.0266666667,), gpu="NVIDIA H200")
    assert one.message == "takes 20.0 × its limit by memory on H200"
    assert round(one.saving.bound_ms, 6) == round(0.0266666667 * 0.95, 6)


def test_below_roofline_not_found() -> None:
    assert findings("TIME204", COPY, times=(0.0266666667,)) == ()
    assert findings("TIME204", COPY, gpu="NVIDIA H200") == ()
    assert findings("TIME204", COPY, times=(0.005,), gpu="NVIDIA H200") == ()
    assert findings("TIME204", COPY, times=(0.0266666667,), gpu="T4") == ()
    kernel = layer("kgen", "in FP16 100x16000", "out FP16 100x16000")
    assert findings("TIME204", kernel, times=(0.5,), gpu="NVIDIA H200") == ()
    long = layer("PluginV2", "out FP16", "out2 FP16")
    assert findings("TIME204", COPY, long, times=(0.0266666667, 9.0), gpu="NVIDIA H200") == ()
    times = (0.0266666667, 2.513)  # 1.05 % of the time, of which it loses 0.95
    assert findings("TIME204", COPY, long, times=times, gpu="NVIDIA H200") == ()
    assert len(findings("TIME204", COPY, long, times=(0.03, 2.513), gpu="NVIDIA H200")) == 1


def cuda_graph_findings(each_ms: float, count: int = 20, **how) -> tuple[Finding, ...]:
    made = plan(*(layer("PointWise", "in FP16", f"t{at} FP16") for at in range(count)))
    given = LintInput(plan=made, profile=timed(made, *(each_ms,) * count), **how)
    return lint(given, LintConfig(select=("TIME206",))).findings


def test_cuda_graph_found() -> None:
    (one,) = cuda_graph_findings(0.01, cuda_graph=False)
    assert (one.subject, one.severity.value) == ("the engine", "warning")
    assert one.message == (
        "launches 20 layers one by one, without a CUDA graph; elsewhere a "
        "graph saved 0.6 to 0.9 µs a layer"
    )
    assert one.saving.bound_ms == pytest.approx(20 * 0.0009)
    (one,) = cuda_graph_findings(0.01, enqueue_ms=0.1)
    assert "no faster" not in one.message
    (bound,) = cuda_graph_findings(0.01, enqueue_ms=0.19)
    assert bound.message.endswith("; the host enqueues no faster than the GPU computes")
    (one,) = cuda_graph_findings(0.02, cuda_graph=False)
    assert one.severity.value == "info"


def test_cuda_graph_not_found() -> None:
    assert cuda_graph_findings(0.01, cuda_graph=True) == ()
    assert cuda_graph_findings(0.01) == ()  # nothing tells how it ran
    assert cuda_graph_findings(0.01, enqueue_ms=0.002) == ()  # one launch for all layers
    assert cuda_graph_findings(0.1, cuda_graph=False) == ()
    assert cuda_graph_findings(0.01, count=9, cuda_graph=False) == ()


SHAPES = (
    ProfileShapes(index=0, opt_shape=(4, 3, 8, 8)),
    ProfileShapes(index=1, opt_shape=(64, 3, 8, 8)),
)


def far_findings(*fed: str, index: int | None = None) -> tuple[Finding, ...]:
    io = tuple(IOTensor(tensor=Tensor(name=name), mode="input", profiles=SHAPES) for name in "ab")
    made = plan(layer("PointWise", "a FP16, b FP16", "out FP16"), io=io)
    how = {"fed": tuple(map(tensor, fed)), "profile_index": index}
    given = LintInput(plan=made, profile=timed(made, 0.5), **how)
    return lint(given, LintConfig(select=("PLAN114",))).findings


def test_far_from_optimum_found() -> None:
    (one,) = far_findings("a FP16 8x3x8x8", "b FP16 1x3x8x8")
    assert one.subject == "input b"
    assert one.message == "was fed as 1×3×8×8, the profile's optimum is 4×3×8×8"
    assert one.evidence == {"elements_ratio": 0.25, "inputs": 2, "profile": 0}
    assert one.saving.bound_ms is None
    (one,) = far_findings("a FP16 4x3x8x8", index=1)
    assert one.evidence["elements_ratio"] == 4 / 64


def test_far_from_optimum_not_found() -> None:
    assert far_findings("a FP16 4x3x8x8", "b FP16 6x3x8x8") == ()
    assert far_findings("a FP16 ?x3x8x8", "c FP16 1x1") == ()
    assert (far_findings("a FP16 8x3x8x8", index=2), far_findings()) == ((), ())


WORK = layer("PointWise", "in FP16", "out FP16")
CALLS = (layer("shape_call", "", "", name="call 1"), layer("shape_call", "", "", name="call 2"))


def test_host_shapes_found() -> None:
    (one,) = findings("PLAN112", WORK, *CALLS, times=(0.9, 0.04, 0.06))
    assert (one.subject, one.layers) == ("call 1 … call 2", (1, 2))
    assert (one.saving.bound_ms, round(one.evidence["share_pct"])) == (0.04 + 0.06, 10)
    (one,) = findings("PLAN112", WORK, layer("DeviceToShapeHost", "in FP16", "s INT32", name="to"))
    assert one.subject == "to"
    message = "computes 1 shape on the host between the layers, and the GPU waits for it"
    assert one.message == message


def test_host_shapes_not_found() -> None:
    assert findings("PLAN112", WORK, *CALLS, times=(1.0, 0.004, 0.004)) == ()
    assert findings("PLAN112", WORK, *CALLS, times=(1.0, 0.0, 0.0)) == ()
    assert findings("PLAN112", WORK, *CALLS) == ()


PLAN = plan(
    *(layer("PointWise", "in FP16", f"{name} FP16", name=name) for name in "abc"),
    layer("shape_call", "", "", name="call"),
)


def mismatch_findings(*times: tuple[str, float], given: Plan = PLAN) -> tuple[Finding, ...]:
    config = LintConfig(select=("TIME203",))
    return lint(LintInput(plan=given, profile=profile(*times)), config).findings


def test_profile_mismatch_found_has_no_time_at_stake() -> None:
    (strange,) = mismatch_findings(("a", 1.0), ("b", 1.0), ("c", 1.0), ("x", 0.5), ("y", 0.25))
    assert strange.message == "has 2 times whose layer the plan does not have"
    assert strange.saving.bound_ms is None
    assert (strange.evidence["names"], severities((strange,))) == (["x", "y"], ["warning"])
    (untimed,) = mismatch_findings(("a", 1.0), ("b", 1.0))
    assert untimed.message == "has no time for 1 of 3 layers"
    assert (untimed.layers, untimed.saving.bound_ms) == ((2,), None)
    assert severities((untimed,)) == ["warning"]
    strange, untimed = mismatch_findings(("a", 1.0), ("b", 1.0), ("x", 0.5))
    assert strange.message == (
        "has 1 time whose layer the plan does not have: it is of another build, so no rule uses "
        "its times"
    )
    assert severities((strange, untimed)) == ["error", "error"]
    report = lint(LintInput(plan=PLAN, profile=profile(("a", 9.0), ("b", 1.0), ("x", 0.5))))
    assert (report.sum_ms, report.findings[0].code) == (None, "TIME203")
    assert all(finding.saving.bound_ms is None for finding in report.findings)


def test_profile_mismatch_not_found() -> None:
    assert mismatch_findings(("c", 1.0), ("a", 1.0), ("b", 0.0)) == ()
    assert mismatch_findings(("a", 1.0), ("b", 1.0), ("c", 1.0), ("call", 0.1), ("x", 0.0)) == ()
    assert lint(LintInput(plan=PLAN), LintConfig(select=("TIME203",))).findings == ()
    assert mismatch_findings(("a", 1.0), given=plan()) == ()
    two = plan(
        layer("PointWise", "in FP16", "a FP16", name="a", profile_index=0),
        layer("PointWise", "in FP16", "a1 FP16", name="a [profile 1]", profile_index=1),
    )
    assert mismatch_findings(("a", 1.0), given=two) == ()


TACTIC = "sm80_xmma_fprop_implicit_gemm_f16f16_tilesize64x32x64_stage5_tensor16x8x16"


# 7 × 7 positions and 512 channels: 1 × 16 tiles of 64 × 32, or 2 × 8
def conv_of(writes: str, tactic: str = TACTIC) -> Layer:
    shape = "FP16 1x512x7x7"
    ends = f"in {shape}", f"{writes} {shape}"
    return layer("Convolution", *ends, name="conv", tactic_name=tactic, Kernel=[3, 3])


CONV = conv_of("out")


def batch_findings(count: int, *times: float, tactic: str = TACTIC) -> tuple[Finding, ...]:
    made = plan(conv_of("a", tactic), layer("PointWise", "a FP16", "out FP16"))
    device = Device(name="some GPU", sm_count=count)
    fed = (tensor("in FP16 1x512x7x7"),)
    given = LintInput(plan=made, profile=timed(made, *times), device=device, fed=fed)
    return lint(given, LintConfig(select=("TIME205",))).findings


def test_small_batch_found() -> None:
    (one,) = batch_findings(108, 0.5, 0.5)
    assert one.message == "leave more than half of the GPU's 108 multiprocessors idle at batch 1"
    assert (one.evidence["tiles"], one.evidence["batch"]) == ([16], 1)
    assert one.saving.item_ms == 0.25  # half of it, at twice the batch
    ends, how = ("in FP16 1x64, w FP16 64x64", "a FP16 1x64"), {"tactic_name": "cublas_gemvx"}
    gemvs = [layer("gemm", *ends, name=f"product {at}", **how) for at in range(3)]
    (one,) = findings("TIME205", *gemvs, WORK, times=(0.25, 0.125, 0.125, 0.5))
    assert one.message.startswith("multiply a matrix by one vector each")
    assert (one.subject, one.saving.item_ms) == ("3 layers (product 0 … product 2)", 0.25)
    (one,) = findings("TIME205", CONV, times=(1.0,), gpu="NVIDIA H200")
    assert one.evidence["multiprocessors"] == 132


def test_small_batch_not_found() -> None:
    assert batch_findings(30, 0.5, 0.5) == ()  # 16 tiles fill more than half
    assert batch_findings(108, 0.04, 0.96) == ()
    assert batch_findings(108, 0.5, 0.5, tactic="no_size_in_its_name") == ()
    assert batch_findings(108, 0.5, 0.5, tactic=f"{TACTIC}_splitK4") == ()
    assert findings("TIME205", CONV, times=(1.0,)) == ()
    assert findings("TIME205", CONV, gpu="NVIDIA H200") == ()


TINY_LAYERS = tuple(layer("PointWise", "in FP16", f"t{i} FP16") for i in range(21))


def test_tiny_kernels_found() -> None:
    (one,) = findings("TIME202", *TINY_LAYERS, times=(*(0.004,) * 20, 0.01))
    assert (one.subject, one.layers) == ("20 layers", tuple(range(20)))
    assert round(one.saving.bound_ms, 9) == 0.04


def test_tiny_kernels_not_found() -> None:
    assert findings("TIME202", *TINY_LAYERS, times=(*(0.004,) * 19, 0.01, 0.01)) == ()
    assert findings("TIME202", *TINY_LAYERS, times=(*(0.004,) * 20, 1.0)) == ()
    assert findings("TIME202", *TINY_LAYERS, times=(0.0,) * 21) == ()
    assert findings("TIME202", *TINY_LAYERS) == ()
    # A profile may give a constant some microseconds all the same.
    constants = tuple(layer("Constant", "", f"c{i} FP16") for i in range(5))
    assert findings("TIME202", *TINY_LAYERS[:19], *constants, times=(0.004,) * 24) == ()
    (found,) = findings("TIME202", *TINY_LAYERS, *constants, times=(0.004,) * 26)
    assert found.layers == tuple(range(21))
