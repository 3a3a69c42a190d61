"""Metadata of a build in trex's form (``*.build.metadata.json``)."""

from __future__ import annotations

from typing import Any

import msgspec

from enginescope.model.build import BuildReport
from enginescope.model.environment import Device

_PARTS = {"fp16": "FP16", "bf16": "BF16", "int8": "INT8", "fp8": "FP8", "int4": "INT4"}


def build_metadata(report: BuildReport, model: str, device: Device | None) -> dict[str, Any]:
    """Return the sections that trex cuts out of a build log, and the whole report beside them.

    Parameters
    ----------
    model : str
        Path of the model.
    device : Device or None
        The GPU it was built on.
    """
    return {
        "model_options": {"Format": "ONNX", "Model": model},
        "build_options": {
            "Precision": _precision(report.precision),
            **{name.replace("_", " "): text for name, text in report.options.items()},
        },
        "device_information": _device(device, report.device),
        "enginescope": msgspec.to_builtins(report),
    }


def _precision(asked: str | None) -> str:
    """Return it as trtexec prints it: ``FP32+FP16``."""
    parts = (asked or "").split("+")
    return "+".join(["FP32", *(_PARTS.get(one, one.upper()) for one in parts if one)])


def _device(device: Device | None, name: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"Selected Device": device.name if device else name}
    if device is not None and device.compute_capability is not None:
        facts["Compute Capability"] = float(device.compute_capability)
    if device is not None and device.sm_count is not None:
        facts["SMs"] = float(device.sm_count)
    if device is not None and device.memory_bytes is not None:
        facts["Device Global Memory"] = f"{device.memory_bytes >> 20} MiB"
    return {name: value for name, value in facts.items() if value is not None}
