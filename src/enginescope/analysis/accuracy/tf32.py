"""Whether a backend was told to leave TF32 alone."""

from __future__ import annotations

from enginescope.records.run.job import BackendSpec

#: What TensorRT, trtexec and ONNX Runtime's CUDA provider call it.
_SWITCHES = ("tf32", "use_tf32")
_OFF = frozenset({"0", "false"})


def forbids_tf32(backend: BackendSpec) -> bool:
    """Return whether FP32 stays FP32, by an option of the backend."""
    return any(backend.options.get(one, "").lower() in _OFF for one in _SWITCHES)
