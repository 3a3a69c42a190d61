"""The rules, in the order of their codes. A new one is a file in `checks` and a line here."""

from __future__ import annotations

from enginescope.rules.base import Rule
from enginescope.rules.checks import (
    below_roofline,
    conv_alignment,
    conv_tensor_cores,
    data_copies,
    far_from_optimum,
    fp32_left,
    gemm_alignment,
    gemm_tensor_cores,
    host_shapes,
    profile_mismatch,
    quantized_float_output,
    reformat_converts_type,
    reformat_sandwich,
    slice_converts_type,
    time_concentrated,
    tiny_kernels,
    unfused_attention,
    unfused_qdq,
)

RULES: tuple[Rule, ...] = (
    conv_tensor_cores.RULE,
    conv_alignment.RULE,
    quantized_float_output.RULE,
    reformat_converts_type.RULE,
    slice_converts_type.RULE,
    unfused_qdq.RULE,
    gemm_tensor_cores.RULE,
    gemm_alignment.RULE,
    reformat_sandwich.RULE,
    fp32_left.RULE,
    data_copies.RULE,
    host_shapes.RULE,
    unfused_attention.RULE,
    far_from_optimum.RULE,
    time_concentrated.RULE,
    tiny_kernels.RULE,
    profile_mismatch.RULE,
    below_roofline.RULE,
)
