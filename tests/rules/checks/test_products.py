import pytest

from tests.rules.made import findings, layer, severities


@pytest.mark.parametrize(
    ("dtype", "multiple"), [("FP32", 4), ("FP16", 8), ("BF16", 8), ("INT8", 16), ("FP8", 16)]
)
def test_conv_alignment_found(dtype: str, multiple: int) -> None:
    odd, even = multiple * 3 + 1, multiple * 3
    found = findings(
        "PLAN102",
        layer("Convolution", f"x {dtype} 1x{odd}x8x8", f"a {dtype} 1x{even}x8x8"),
        layer("Convolution", f"a {dtype} 1x{even}x8x8", f"b {dtype} 1x{odd}x8x8"),
        layer("Convolution", f"b {dtype} 1x{odd}x8", f"y {dtype} 1x{odd}x8"),
    )
    assert [one.message for one in found] == [
        f"has input channels {odd}, not a multiple of {multiple}",
        f"has output channels {odd}, not a multiple of {multiple}",
        f"has input channels {odd} and output channels {odd}, not a multiple of {multiple}",
    ]
    assert severities(found) == ["warning"] * 3


def test_found_by_group() -> None:
    conv = layer("Convolution", "x FP16 1x64x8x8", "y FP16 1x64x8x8", Groups=16)
    (one,) = findings("PLAN102", conv)
    assert one.message.startswith("has input channels 4 and output channels 4 per group, not")


def test_with_the_gpu_known_padding_and_what_is_beyond_its_limit_are_at_stake() -> None:
    # 3,211,264 × 10 + 6,422,528 bytes: 0.0080 ms at H200's 4,800 GB/s
    ends = "x FP16 1x10x1120x1434", "y FP16 1x2x1120x1434"
    conv = layer("Convolution", *ends, tactic_name="x_simt", Kernel=[1, 1])
    limit_ms = (10 + 2) * 1120 * 1434 * 2 / 4.8e9
    (whole,) = findings("PLAN102", conv, times=(0.02,))
    (near,) = findings("PLAN102", conv, times=(0.02,), gpu="NVIDIA H200")
    (unknown,) = findings("PLAN102", conv, times=(0.02,), gpu="some GPU")
    assert whole.saving.bound_ms == unknown.saving.bound_ms == 0.02
    assert near.saving.bound_ms == pytest.approx(0.02 - limit_ms)
    (faster,) = findings("PLAN102", conv, times=(limit_ms / 2,), gpu="NVIDIA H200")
    assert (faster.saving.bound_ms, faster.saving.share_pct(faster.saving.bound_ms)) == (0.0, 0.0)
    conv = layer("Convolution", "x FP16 1x12x8x8", "y FP16 1x4x8x8")
    (one,) = findings("PLAN102", conv, times=(1.0,))
    assert one.saving.bound_ms == pytest.approx(1 - 12 / 16 * 4 / 8)


def test_conv_alignment_the_model_s_interface_is_not_to_be_changed() -> None:
    """An image's channels and a head's classes were the first advice of a ResNet and of a ViT."""
    assert not findings(
        "PLAN102",
        layer("Reformat", "in FP32 1x3x8x8", "a FP16 1x3x8x8"),
        layer("Convolution", "a FP16 1x3x8x8", "b FP16 1x64x8x8"),
        layer("Convolution", "b FP16 1x64x8x8", "c FP16 1x1x8x8"),
        layer("Resize", "c FP16 1x1x8x8", "d FP16 1x1x16x16"),
        layer("Reformat", "d FP16 1x1x16x16", "out FP32 1x1x16x16"),
    )
    conv = layer("Convolution", "in FP16 1x3x8x8", "a FP16 1x20x8x8")
    one, *_ = findings("PLAN102", conv, layer("Convolution", "a FP16 1x20x8x8", "out FP16 1x1x8x8"))
    assert one.message == "has output channels 20, not a multiple of 8"
    found = findings(
        "PLAN102",
        layer("Convolution", "in FP16 1x3x8x8", "a FP16 1x64x8x8"),
        layer("Convolution", "a FP16 1x64x8x8", "b FP16 1x3x8x8"),
        layer("Convolution", "b FP16 1x3x8x8", "c FP16 1x64x8x8"),
        layer("Convolution", "c FP16 1x64x8x8", "out FP16 1x64x8x8"),
    )
    assert [one.layers for one in found] == [(1,), (2,)]


def test_conv_alignment_not_found() -> None:
    assert not findings(
        "PLAN102",
        layer("Convolution", "in FP16 1x64x8x8", "a FP16 1x64x8x8"),
        layer("Convolution", "a FP16 1x100x8x8", "b FP16 1x100x8x8", Groups=100),
        layer("Convolution", "b FP16 1x?x8x8", "c FP16"),
        layer("Convolution", "c INT32 1x3x8x8", "d INT32 1x3x8x8"),
        layer("Convolution", "", "out FP16 1x3x8x8"),
        layer("Pooling", "in FP16 1x3x8x8", "e FP16 1x3x8x8"),
    )
    conv = layer("Convolution", "x FP16 1x3x8x8", "y FP16 1x64x8x8")
    assert findings("PLAN102", conv, capability="6.1") == ()


SIMT = "sm70_xmma_fprop_conv1x1_simt_small_batch"
IO = ("in FP16 1x64x8x8", "out FP16 1x64x8x8")


def test_conv_tensor_cores_found() -> None:
    conv = layer("Convolution", *IO, name="conv", tactic_name=SIMT)
    (one,) = findings("PLAN101", conv, times=(0.25,))
    assert (one.code, one.subject, one.layers) == ("PLAN101", "conv", (0,))
    assert (one.message, one.severity.value) == ("does not use tensor cores", "warning")
    assert (one.saving.bound_ms, one.saving.share_pct(one.saving.bound_ms)) == (0.25, 100)
    assert one.evidence["tactic"] == SIMT
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


def test_conv_tensor_cores_not_found() -> None:
    assert not findings(
        "PLAN101",
        layer("Convolution", *IO, tactic_name="ampere_h16816cudnn_128x128"),
        layer("Convolution", *IO, name="not told"),
        layer("Convolution", "in FP32 1x64x8x8", "a FP32 1x64x8x8", tactic_name=SIMT),
        layer("Pooling", *IO, tactic_name=SIMT),
    )
    conv = layer("Convolution", *IO, tactic_name=SIMT)
    assert findings("PLAN101", conv, capability="6.1") == ()
    assert len(findings("PLAN101", conv, capability="7.5")) == 1


def test_gemm_alignment_found() -> None:
    found = findings(
        "PLAN108",
        layer("gemm", "x FP16 4x100, w FP16 100x64", "a FP16 4x64"),
        layer("MatrixMultiply", "a INT8 4x64, v INT8 65x64", "b INT8 4x65"),
        layer("gemm", "b FP8 2x4x30, u FP8 30x50", "y FP8 2x4x50"),
    )
    assert [one.message for one in found] == [
        "has K = 100, not a multiple of 8",
        "has N = 65, not a multiple of 16",
        "has K = 30 and N = 50, not a multiple of 16",
    ]
    assert found[0].evidence == {"K": 100, "N": 64, "multiple": 8}


def test_gemm_alignment_not_found() -> None:
    assert not findings(
        "PLAN108",
        layer("gemm", "in FP16 4x128, w FP16 128x64", "a FP16 4x64"),
        layer("gemm", "a FP16 ?x100, w2 FP16 100x65", "b FP16 ?x65"),
        layer("gemm", "b INT32 4x3, w3 INT32 3x3", "c INT32 4x3"),
        layer("kgen", "c FP16 4x3, w4 FP16 3x3", "out FP16 4x3"),
    )
    lone = layer("gemm", "x FP16 4x3, w FP16 3x3", "y FP16 4x3")
    assert findings("PLAN108", lone, capability="5.2") == ()


def test_gemm_alignment_the_model_s_interface_is_not_to_be_changed() -> None:
    assert not findings(
        "PLAN108",
        layer("gemm", "in FP16 4x100, w FP16 100x64", "a FP16 4x64"),
        layer("gemm", "a FP16 4x64, v FP16 64x1001", "b FP16 4x1001"),
        layer("SoftMax", "b FP16 4x1001", "out FP16 4x1001"),
    )


def test_gemm_tensor_cores_found() -> None:
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


def test_gemm_tensor_cores_not_found() -> None:
    without = "sm80_simt_hgemm_128x64"
    assert not findings(
        "PLAN107",
        layer("gemm", "in FP16", "a FP16", tactic_name="sm80_xmma_gemm_tensor16x8x16"),
        layer("gemm", "a FP16", "b FP16", name="no tactic"),
        layer("gemm", "b FP32", "c FP32", tactic_name=without),
        layer("kgen", "c FP16", "out FP16", tactic_name=without),
    )
    lone = layer("gemm", "in FP16", "out FP16", tactic_name=without)
    assert findings("PLAN107", lone, capability="6.1") == ()
    reads = "in FP16 1x9216,weights FP16 9216x4096"
    one = layer("gemm", reads, "out FP16 1x4096", tactic_name="sm80_simt_hgemm_128x64")
    (whole,) = findings("PLAN107", one, times=(0.24,))
    (capped,) = findings("PLAN107", one, times=(0.24,), gpu="RTX 3060")
    moved = (4096 * 9216 + 9216 + 4096) * 2
    assert whole.saving.bound_ms == 0.24
    assert capped.saving.bound_ms == pytest.approx(0.24 - moved / 360e6)
