"""Plans: a head as real ones have it, what the fake wants to know, and the model itself."""

import json
from typing import Any

import onnx
from tensorrt._version import FULL, IS_RTX, NUMBERS, SERIALIZATION

TAG = b"vtrt" if IS_RTX else b"ftrt"
#: As TensorRT for RTX counts the bits of a plan's second header.
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
_HEAD_BYTES = 40


def write(facts: dict[str, Any], model: Any) -> bytes:
    stamp = bytes((*NUMBERS, 0, 0)[:4])
    text = json.dumps({**facts, "tensorrt": FULL, "serialization": SERIALIZATION}).encode()
    wanted = facts.get("capabilities") or CAPABILITIES[1:]
    bits = sum(1 << CAPABILITIES.index(one) for one in wanted) if IS_RTX else 0
    head = TAG + bytes(20) + stamp + TAG + bits.to_bytes(4, "little")
    head += len(text).to_bytes(4, "little")
    return head + text + model.SerializeToString()


def read(data: bytes) -> tuple[dict[str, Any], Any] | None:
    if len(data) < _HEAD_BYTES or data[:4] != TAG:
        return None
    size = int.from_bytes(data[36:40], "little")
    try:
        facts = json.loads(data[_HEAD_BYTES : _HEAD_BYTES + size])
        return facts, onnx.load_from_string(data[_HEAD_BYTES + size :])
    except Exception:  # noqa: BLE001  # whatever is wrong with it: it is no plan
        return None
