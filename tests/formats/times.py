"""Exported times as trtexec writes them, from made-up queries."""

import json
from typing import Any


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
