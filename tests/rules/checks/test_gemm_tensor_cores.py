from __future__ import annotations

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
