from __future__ import annotations

from enginescope.records.environment import Device
from enginescope.rules.base import Finding, LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from tests.rules.made import findings, layer, plan, timed

TACTIC = "sm80_xmma_fprop_implicit_gemm_f16f16_tilesize64x32x64_stage5_tensor16x8x16"
# 7 × 7 positions and 512 channels: 1 × 16 tiles of 64 × 32, or 2 × 8
CONV = layer(
    "Convolution",
    "in FP16 1x512x7x7",
    "out FP16 1x512x7x7",
    name="conv",
    tactic_name=TACTIC,
    Kernel=[3, 3],
)


def found(count: int, *times: float, tactic: str = TACTIC) -> tuple[Finding, ...]:
    conv = layer(
        "Convolution", "in FP16 1x512x7x7", "a FP16 1x512x7x7", tactic_name=tactic, Kernel=[3, 3]
    )
    made = plan(conv, layer("PointWise", "a FP16", "out FP16"))
    device = Device(name="some GPU", sm_count=count)
    given = LintInput(plan=made, profile=timed(made, *times), device=device)
    return lint(given, LintConfig(select=("TIME205",))).findings


def test_found() -> None:
    (one,) = found(108, 0.5, 0.5)
    assert one.message == "leave more than half of the GPU's 108 multiprocessors idle"
    assert one.evidence["tiles"] == [16]
    assert one.saving.item_ms == 0.25  # half of it, at twice the batch


def test_found_where_a_matrix_meets_one_vector() -> None:
    gemv = layer("gemm", "in FP16 1x64, w FP16 64x64", "a FP16 1x64", tactic_name="cublas_gemvx")
    (one,) = findings("TIME205", gemv, layer("PointWise", "a FP16", "out FP16"), times=(0.5, 0.5))
    assert one.message.startswith("multiply a matrix by one vector each")
    assert one.saving.item_ms == 0.25


def test_the_table_knows_the_multiprocessors_of_a_named_gpu() -> None:
    (one,) = findings("TIME205", CONV, times=(1.0,), gpu="NVIDIA H200")
    assert one.evidence["multiprocessors"] == 132


def test_not_found() -> None:
    assert found(30, 0.5, 0.5) == ()  # 16 tiles fill more than half
    assert found(108, 0.04, 0.96) == ()
    assert found(108, 0.5, 0.5, tactic="no_size_in_its_name") == ()
    assert found(108, 0.5, 0.5, tactic=f"{TACTIC}_splitK4") == ()
    assert findings("TIME205", CONV, times=(1.0,)) == ()
    assert findings("TIME205", CONV, gpu="NVIDIA H200") == ()
