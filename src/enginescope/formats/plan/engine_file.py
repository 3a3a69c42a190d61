"""Which files are serialized TensorRT engines."""

from __future__ import annotations

#: Endings of serialized TensorRT engines; everything else is taken for an ONNX model.
ENGINE_SUFFIXES = frozenset({".engine", ".plan", ".trt"})
#: What they begin with.
ENGINE_TAGS = (b"ftrt", b"ptrt")


def is_engine_file(head: bytes, suffix: str) -> bool:
    """Whether a file that begins with `head` and is no text is an engine, by tag or by name."""
    return head.startswith(ENGINE_TAGS) or suffix.lower() in ENGINE_SUFFIXES
