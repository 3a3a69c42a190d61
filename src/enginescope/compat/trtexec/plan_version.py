"""The TensorRT version that wrote an engine, from the first bytes of its file."""

from __future__ import annotations

from enginescope.core.errors import FormatError

_TAG = b"ftrt"
_VERSION_AT = 24
_HEAD_BYTES = 28


def plan_version(head: bytes, source: str) -> str:
    """Return the version, four numbers with dots.

    Args:
        head: The first 28 bytes or more.
        source: The file, for messages.

    Raises:
        FormatError: It is no engine, or one in a serialisation whose head is not known.
    """
    if len(head) < _HEAD_BYTES or head[:4] != _TAG:
        raise FormatError(source, why="it does not begin as an engine does", expected="a plan")
    if head[4:8] != bytes(4):
        raise FormatError(
            source,
            why=f"its serialisation is version {int.from_bytes(head[4:8], 'little')}",
            expected="version 0, whose head is known",
        )
    return ".".join(str(one) for one in head[_VERSION_AT:_HEAD_BYTES])
