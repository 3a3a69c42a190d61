"""Can a provider be started at all? Only a session can tell."""

from __future__ import annotations

from typing import Any

from enginescope.backends.onnxruntime.failures import translated
from enginescope.backends.onnxruntime.placement import require_provider
from enginescope.core.errors import BackendError
from enginescope.core.optional import require


def probe_failure(ort: Any, provider: str) -> str | None:
    """Open a one-node model on `provider`; return why that failed, or ``None``."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        with translated(f"starting {provider}"):
            session = ort.InferenceSession(
                _one_node_model(), options, providers=[provider], enable_fallback=0
            )
            require_provider(session, provider, ())
    except BackendError as error:
        return str(error).strip().splitlines()[0]
    return None


def _one_node_model() -> bytes:
    require("onnx", purpose="probing an execution provider", install="onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", [x], [y])
    # set both: onnx writes newer versions by default than onnxruntime reads
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString())
