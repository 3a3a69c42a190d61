"""Models of depth compared, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.tasks.depth_benchmark import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.task_report import TaskReport
from enginescope.render.accuracy.task_data import task_data, task_samples_data
from enginescope.render.depth.depth_words import gpu_text


def depth_json(found: DepthBenchmark) -> bytes:
    """Return all figures."""
    data = {
        "enginescope": __version__,
        "command": found.sides[0].view.run.command,
        "image": found.image_name,
        "sides": [_side(side) for side in found.sides],
        "agreement": _report(found.agreement),
        "quality": _report(found.quality),
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"


def _side(one: DepthSide) -> dict[str, Any]:
    view = one.view
    latency, throughput = view.latency, view.throughput
    return {
        "side": one.label,
        "run": view.id,
        "outcome": view.run.outcome.kind,
        "latency": latency,
        "throughput_per_s": throughput.per_s if throughput else None,
        "map_shape": list(one.depth.shape),
        "map_least": float(one.depth.min()),
        "map_greatest": float(one.depth.max()),
        "gpu": gpu_text(one),
        "notices": view.notices,
    }


def _report(report: TaskReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {**task_data(report), "samples": task_samples_data(report)}
