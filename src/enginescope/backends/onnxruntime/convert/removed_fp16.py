"""Converted models that ONNX Runtime runs in FP32 all the same.

A provider without FP16 kernels gets casts around each node, and the optimizer removes the casts.
"""

from __future__ import annotations

from typing import Any

from enginescope.backends.onnxruntime.options import fp16_way, session_options
from enginescope.backends.onnxruntime.providers.opening import Setup, open_session
from enginescope.core.errors import BackendError
from enginescope.core.optional import require
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_precision import graphs_of, load_without_weights
from enginescope.judge.notice import Notice
from enginescope.records.notice import NOT_FP16
from enginescope.records.run.job import Job

_EXTERNAL = "session.optimized_model_external_initializers"
#: Operators that move or convert values and compute none: they have FP16 kernels everywhere.
_MOVES = frozenset(
    {
        *("Cast", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements"),
        *("GatherND", "Identity", "Pad", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze"),
        *("Tile", "Transpose", "Unsqueeze", "Where"),
    }
)


def fp16_notice(ort: Any, job: Job, setup: Setup) -> tuple[Notice, ...]:
    """Return a notice if no node that computes is left in FP16; nothing without a conversion.

    Opens a session that writes its optimized graph; a provider that cannot write it says nothing.
    """
    if fp16_way(job.backend, setup.provider) not in ("converter", "autocast"):
        return ()
    options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
    with temporary_folder() as folder:
        file = folder / "optimized.onnx"
        options.optimized_model_filepath = str(file)
        options.add_session_config_entry(f"{_EXTERNAL}_file_name", "weights.bin")
        options.add_session_config_entry(f"{_EXTERNAL}_min_size_in_bytes", "1024")
        try:
            open_session(ort, setup, options)
            left, nodes = _in_fp16(load_without_weights(str(file)))
        except BackendError:  # the session that is measured says what is wrong
            return ()
    if left:
        return ()
    name = setup.provider.name
    return (
        Notice(
            code=NOT_FP16,
            message=f"not FP16: {name} runs none of the {nodes} nodes that compute in FP16; the "
            "weights are rounded to FP16, the computation is FP32; measure without :fp16",
            evidence={"nodes": nodes, "provider": name},
        ),
    )


def _in_fp16(model: Any) -> tuple[int, int]:
    """Return how many of the nodes that compute read or write FP16, and how many compute."""
    onnx = require("onnx", purpose="reading the optimized model", install="onnx")
    half, left, count = onnx.TensorProto.FLOAT16, 0, 0
    names: set[str] = set()
    for graph in graphs_of(model.graph):
        values = (*graph.value_info, *graph.input, *graph.output)
        names |= {one.name for one in values if one.type.tensor_type.elem_type == half}
        names |= {one.name for one in graph.initializer if one.data_type == half}
        for node in graph.node:
            computes = node.op_type not in _MOVES
            count += computes
            left += computes and not names.isdisjoint((*node.input, *node.output))
    return left, count
