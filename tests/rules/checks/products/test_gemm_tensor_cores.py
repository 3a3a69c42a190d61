from __future__ import annotations

import pytest

from tests.rules.made import findings, layer, severities


def test_found() -> None:
    found = findings(
        "PLAN107",
        layer("gemm", "in FP16", "a FP16", tactic_name="sm80_simt_hgemm_128x64"),
        layer("MatrixMultiply", "a FP16", "out FP16", tactic_name="sm50_xmma_cublas_gemvx_f16"),
    )
    assert [one.message for one in found] == [
        "does not use tensor cores",
        "does not use tensor cores: a matrix-vector product",
    ]
    assert severities(found) == ["warning", "info"]
    assert "batch" in found[1].advice


def test_not_found() -> None:
    without = "sm80_simt_hgemm_128x64"
    assert (
        findings(
            "PLAN107",
            layer("gemm", "in FP16", "a FP16", tactic_name="sm80_xmma_gemm_tensor16x8x16"),
            layer("gemm", "a FP16", "b FP16", name="no tactic"),
            layer("gemm", "b FP32", "c FP32", tactic_name=without),
            layer("kgen", "c FP16", "out FP16", tactic_name=without),
        )
        == ()
    )
    lone = layer("gemm", "in FP16", "out FP16", tactic_name=without)
    assert findings("PLAN107", lone, capability="6.1") == ()


def test_a_product_at_its_limit_has_nothing_to_win() -> None:
    reads = "in FP16 1x9216,weights FP16 9216x4096"
    one = layer("gemm", reads, "out FP16 1x4096", tactic_name="sm80_simt_hgemm_128x64")
    (whole,) = findings("PLAN107", one, times=(0.24,))
    (capped,) = findings("PLAN107", one, times=(0.24,), gpu="RTX 3060")
    moved = (4096 * 9216 + 9216 + 4096) * 2
    assert whole.saving.bound_ms == 0.24
    assert capped.saving.bound_ms == pytest.approx(0.24 - moved / 360e6)
