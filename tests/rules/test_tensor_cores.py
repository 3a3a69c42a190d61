from __future__ import annotations

import pytest

from enginescope.records.environment import Device
from enginescope.records.tensor import DataType
from enginescope.rules.tensor_cores import (
    alignment_of,
    is_matrix_vector,
    lacks_tensor_cores,
    uses_tensor_cores,
)


@pytest.mark.parametrize(
    "tactic",
    [
        "ampere_h16816cudnn_128x128_ldg8_relu_exp_stages_64x3_large_nhwc_tn_v1",
        "ampere_h1688cudnn_256x64_ldg8_relu",
        "turing_fp16_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1",
        "volta_fp16_s884cudnn_fp16_128x128",
        "trt_turing_cutlass_image_network_first_layer_hmma_fprop_f16f16f32_nhwc",
        "sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize64x32x64_tensor16x8x16",
        "sm90_xmma_fprop_implicit_gemm_f16f16_warpgroupsize1x1x1_g1_beta0",
        "cutlass_80_tensorop_f16_s16816gemm",
        "nvjet_hsh_64x8_64x16",
    ],
)
def test_with(tactic: str) -> None:
    assert uses_tensor_cores(tactic) is True


@pytest.mark.parametrize(
    "tactic",
    [
        "ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "volta_int8x4_icudnn_int8x4_128x32_relu_xregs_medium_c32_nn_v1",
        "sm70_xmma_fprop_conv1x1_i8f32_f32_f32_nchw_vect_c_4_simt_small_batch_bias_relu",
        "sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n",
        "volta_sgemm_128x64_tn",
    ],
)
def test_without(tactic: str) -> None:
    assert uses_tensor_cores(tactic) is False


@pytest.mark.parametrize("tactic", [None, "__myl_MulSumAdd_0x8816884", "my_own_kernel"])
def test_not_told(tactic: str | None) -> None:
    assert uses_tensor_cores(tactic) is None


def test_matrix_vector() -> None:
    assert is_matrix_vector("sm50_xmma_cublas_gemvx_f16f16")
    assert not is_matrix_vector("sm80_xmma_gemm_f16f16")
    assert not is_matrix_vector(None)


def test_alignment() -> None:
    assert [alignment_of(one) for one in (DataType.FP16, DataType.INT8)] == [8, 16]
    assert alignment_of(DataType.BOOL) is None
    assert alignment_of(None) is None


@pytest.mark.parametrize(
    ("capability", "lacks"), [("6.1", True), ("7.0", False), ("10.0", False), (None, False)]
)
def test_gpus_without(capability: str | None, lacks: bool) -> None:
    assert lacks_tensor_cores(Device(name="x", compute_capability=capability)) is lacks
    assert not lacks_tensor_cores(None)
