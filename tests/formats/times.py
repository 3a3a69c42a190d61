"""Exported files: times as trtexec writes them, of made-up queries; one of each other kind."""

import json
from typing import Any

PROFILE = [{"count": 2}, {"name": "a", "timeMs": 2.0, "averageMs": 1.0, "percentage": 100}]
METADATA = {
    "performance_summary": {"Latency": [1.0, 2.0, 1.5, 1.5, 1.9], "Throughput": 3.0},
    "device_information": {"Selected Device": "GPU", "SMs": 3.0, "Device Global Memory": "1 MiB"},
}
#: A profile of ONNX Runtime.
EVENTS = [
    {"cat": "Node", "name": "a_kernel_time", "ts": 1, "dur": 5, "args": {"op_name": "If"}},
    {"cat": "Session", "name": "model_run", "ts": 0, "dur": 9, "args": {}},
] * 3


def record(start_ms: float, compute_ms: float, **more: float) -> dict[str, Any]:
    end = start_ms + compute_ms
    return {
        "startEnqMs": start_ms,
        "endEnqMs": start_ms + 0.01,
        "startH2dMs": start_ms,
        "endH2dMs": start_ms,
        "startComputeMs": start_ms,
        "endComputeMs": end,
        "startD2hMs": end,
        "endD2hMs": end,
        "h2dMs": 0,
        "computeMs": compute_ms,
        "d2hMs": 0,
        "latencyMs": compute_ms,
        **more,
    }


def records(n: int = 5, first_ms: float = 200.0) -> list[dict[str, Any]]:
    return [record(first_ms + 2.0 * i, 1.5 + 0.25 * (i % 3)) for i in range(n)]


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()
