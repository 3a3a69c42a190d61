"""Options of the providers that are known here, and what their values may be.

What is not in these tables is handed on, with a notice: a newer ONNX Runtime may know it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest, did_you_mean

Kind: TypeAlias = Literal["switch", "number", "text"] | tuple[str, ...]

_SWITCH = {"0", "1", "true", "false"}
_NUMBER = re.compile(r"^-?\d+$")

CUDA_OPTIONS: Mapping[str, Kind] = {
    "device_id": "number",
    "gpu_mem_limit": "number",
    "arena_extend_strategy": ("kNextPowerOfTwo", "kSameAsRequested"),
    "cudnn_conv_algo_search": ("EXHAUSTIVE", "HEURISTIC", "DEFAULT"),
    "do_copy_in_default_stream": "switch",
    "cudnn_conv_use_max_workspace": "switch",
    "enable_cuda_graph": "switch",
    "cudnn_conv1d_pad_to_nc1d": "switch",
    "enable_cudnn": "switch",
    "tunable_op_enable": "switch",
    "tunable_op_tuning_enable": "switch",
    "tunable_op_max_tuning_duration_ms": "number",
    "enable_skip_layer_norm_strict_mode": "switch",
    "prefer_nhwc": "switch",
    "use_ep_level_unified_stream": "switch",
    "use_tf32": "switch",
    "fuse_conv_bias": "switch",
    "sdpa_kernel": "number",
}

TENSORRT_OPTIONS: Mapping[str, Kind] = {
    "device_id": "number",
    "trt_max_partition_iterations": "number",
    "trt_min_subgraph_size": "number",
    "trt_max_workspace_size": "number",
    "trt_fp16_enable": "switch",
    "trt_bf16_enable": "switch",
    "trt_int8_enable": "switch",
    "trt_int8_calibration_table_name": "text",
    "trt_int8_use_native_calibration_table": "switch",
    "trt_dla_enable": "switch",
    "trt_dla_core": "number",
    "trt_dump_subgraphs": "switch",
    "trt_engine_cache_enable": "switch",
    "trt_engine_cache_path": "text",
    "trt_engine_cache_prefix": "text",
    "trt_weight_stripped_engine_enable": "switch",
    "trt_onnx_model_folder_path": "text",
    "trt_engine_decryption_enable": "switch",
    "trt_engine_decryption_lib_path": "text",
    "trt_force_sequential_engine_build": "switch",
    "trt_context_memory_sharing_enable": "switch",
    "trt_layer_norm_fp32_fallback": "switch",
    "trt_timing_cache_enable": "switch",
    "trt_timing_cache_path": "text",
    "trt_force_timing_cache": "switch",
    "trt_force_timing_cache_match": "switch",
    "trt_detailed_build_log": "switch",
    "trt_build_heuristics_enable": "switch",
    "trt_sparsity_enable": "switch",
    "trt_builder_optimization_level": ("0", "1", "2", "3", "4", "5"),
    "trt_auxiliary_streams": "number",
    "trt_tactic_sources": "text",
    "trt_extra_plugin_lib_paths": "text",
    "trt_profile_min_shapes": "text",
    "trt_profile_max_shapes": "text",
    "trt_profile_opt_shapes": "text",
    "trt_cuda_graph_enable": "switch",
    "trt_dump_ep_context_model": "switch",
    "trt_ep_context_file_path": "text",
    "trt_ep_context_embed_mode": "number",
    "trt_engine_hw_compatible": "switch",
    "trt_op_types_to_exclude": "text",
    "trt_preview_features": "text",
    "trt_load_user_initializer": "switch",
}

RTX_OPTIONS: Mapping[str, Kind] = {
    "device_id": "number",
    "nv_max_workspace_size": "number",
    "nv_max_shared_mem_size": "number",
    "nv_dump_subgraphs": "switch",
    "nv_detailed_build_log": "switch",
    "nv_profile_min_shapes": "text",
    "nv_profile_max_shapes": "text",
    "nv_profile_opt_shapes": "text",
    "enable_cuda_graph": "switch",
    "nv_multi_profile_enable": "switch",
    "nv_use_external_data_initializer": "switch",
    "nv_runtime_cache_path": "text",
}

#: Addresses in a process's memory: nobody outside it has one.
_STREAMS = frozenset({"has_user_compute_stream", "user_compute_stream", "user_aux_stream_array"})


def check_value(backend: str, key: str, value: str, known: Mapping[str, Kind]) -> None:
    """Raise `UsageError` for a value that a known option cannot have."""
    if key in _STREAMS:
        raise UsageError(
            f"{backend}: {key}",
            why="a stream is an address in another process; each job has its own process",
            hint="omit it: the provider creates its stream",
        )
    kind = known.get(key)
    what = f"{backend}: {key}={value}"
    if kind == "switch" and value.lower() not in _SWITCH:
        raise UsageError(what, hint="0 or 1")
    if kind == "number" and not _NUMBER.match(value):
        raise UsageError(what, why="not a whole number")
    if isinstance(kind, tuple) and value not in kind:
        raise UsageError(what, hint=did_you_mean(value, kind))


def spelled(options: Mapping[str, str], known: Mapping[str, Kind]) -> dict[str, str]:
    """Return the options with their switches as ``True`` and ``False``."""
    words = {"0": "False", "false": "False", "1": "True", "true": "True"}
    return {
        key: words.get(value.lower(), value) if known.get(key) == "switch" else value
        for key, value in options.items()
    }


def unknown(options: Mapping[str, str], known: Mapping[str, Kind]) -> dict[str, str | None]:
    """Return the options that are in no table, each with a known one that is called alike."""
    return {key: closest(key, known) for key in options if key not in known}
