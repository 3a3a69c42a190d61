"""Plans: a head as real ones have it, what the fake wants to know, and the model itself."""

from __future__ import annotations

import json
from typing import Any

import onnx
from tensorrt._version import FULL, NUMBERS, SERIALIZATION

TAG = b"ftrt"
_HEAD_BYTES = 32


def write(facts: dict[str, Any], model: Any) -> bytes:
    """Return the bytes of a plan of this version."""
    stamp = bytes((*NUMBERS, 0, 0)[:4])
    text = json.dumps({**facts, "tensorrt": FULL, "serialization": SERIALIZATION}).encode()
    head = TAG + bytes(20) + stamp + len(text).to_bytes(4, "little")
    return head + text + model.SerializeToString()


def read(data: bytes) -> tuple[dict[str, Any], Any] | None:
    """Return what `write` was given; ``None`` if it is no plan, or not a whole one."""
    if len(data) < _HEAD_BYTES or data[:4] != TAG:
        return None
    size = int.from_bytes(data[28:32], "little")
    try:
        facts = json.loads(data[_HEAD_BYTES : _HEAD_BYTES + size])
        return facts, onnx.load_from_string(data[_HEAD_BYTES + size :])
    except Exception:  # noqa: BLE001  # whatever is wrong with it: it is no plan
        return None
