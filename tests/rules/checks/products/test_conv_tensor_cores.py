from __future__ import annotations

import pytest

from tests.rules.made import findings, layer, severities

SIMT = "sm70_xmma_fprop_conv1x1_simt_small_batch"
IO = ("in FP16 1x64x8x8", "out FP16 1x64x8x8")


def test_found() -> None:
    (one,) = findings(
        "PLAN101", layer("Convolution", *IO, name="conv", tactic_name=SIMT), times=(0.25,)
    )
    assert (one.code, one.subject, one.layers) == ("PLAN101", "conv", (0,))
    assert one.message == "does not use tensor cores"
    assert one.severity.value == "warning"
    assert (one.saving.bound_ms, one.saving.share_pct(one.saving.bound_ms)) == (0.25, 100)
    assert one.evidence["tactic"] == SIMT


def test_reasons_make_it_info() -> None:
    found = findings(
        "PLAN101",
        layer("Convolution", "in INT8 1x32x8x8", "a INT8 1x32x8x8", Groups=32, tactic_name=SIMT),
        layer("Convolution", *IO, subtype="CudaDepthwiseConvolution"),
        layer("Convolution", "x FP16 1x3x8x8", "b FP16 1x64x8x8", tactic_name=SIMT),
        layer("Convolution", *IO, tactic_name="sm50_xmma_cublas_gemvx_f16"),
    )
    assert severities(found) == ["info"] * 4
    assert [one.message.partition(": ")[2] for one in found] == [
        "depthwise",
        "does it use tensor cores?",
        "input channels 3",
        "a matrix-vector product",
    ]


@pytest.mark.parametrize(
    "tactic", ["sm50_xmma_convolution_trt_depthwiseHMMA_NHWC8", "sm80_trt_depthwise_fp16", None]
)
def test_a_name_that_does_not_tell_is_a_question(tactic: str | None) -> None:
    io = ("in FP16 1x32x8x8", "out FP16 1x32x8x8")
    conv = layer("Convolution", *io, Groups=32, tactic_name=tactic)
    (one,) = findings("PLAN101", conv, times=(1.0,))
    assert one.is_question
    assert (one.severity.value, one.saving.bound_ms) == ("info", None)
    assert "Nsight Compute" in one.advice


def test_not_found() -> None:
    assert (
        findings(
            "PLAN101",
            layer("Convolution", *IO, tactic_name="ampere_h16816cudnn_128x128"),
            layer("Convolution", *IO, name="not told"),
            layer("Convolution", "in FP32 1x64x8x8", "a FP32 1x64x8x8", tactic_name=SIMT),
            layer("Pooling", *IO, tactic_name=SIMT),
        )
        == ()
    )


def test_not_on_a_gpu_without() -> None:
    conv = layer("Convolution", *IO, tactic_name=SIMT)
    assert findings("PLAN101", conv, capability="6.1") == ()
    assert len(findings("PLAN101", conv, capability="7.5")) == 1
