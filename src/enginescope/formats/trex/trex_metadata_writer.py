"""Metadata in trex's form (``*.build.metadata.json``, ``*.profile.metadata.json``)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from enginescope.formats.log_facts import SUMMARY_METRICS
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.tool_report import ToolReport

_OF_BUILD = {"Model Options": "model_options", "Build Options": "build_options"}
_OF_MEASUREMENT = {"Inference Options": "inference_options"}
#: Facts of a device that trex keeps as numbers.
_NUMBERS = frozenset(
    {"Compute Capability", "SMs", "Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate"}
)
_LEADING = re.compile(r"\d+(\.\d+)?")
_PARTS = {"fp16": "FP16", "bf16": "BF16", "int8": "INT8", "fp8": "FP8", "int4": "INT4"}


def build_metadata(report: BuildReport, model: str, device: Device | None) -> dict[str, Any]:
    """Return the sections that trex cuts out of a build log, and the whole report beside them.

    Args:
        model: Path of the model.
        device: The GPU it was built on.
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
    return "+".join(["FP32", *(_PARTS.get(part, part.upper()) for part in parts if part)])


def _device(device: Device | None, name: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"Selected Device": device.name if device else name}
    if device is not None and device.compute_capability is not None:
        facts["Compute Capability"] = float(device.compute_capability)
    if device is not None and device.sm_count is not None:
        facts["SMs"] = float(device.sm_count)
    if device is not None and device.memory_bytes is not None:
        facts["Device Global Memory"] = f"{device.memory_bytes >> 20} MiB"
    return {name: value for name, value in facts.items() if value is not None}


def log_metadata(report: ToolReport) -> dict[str, Any]:
    """Return the sections that trex cuts out of a log: of a measurement if it has figures.

    Statistics are lists as trex has them: min, max, mean, median, then the percentiles.
    """
    sections = _OF_MEASUREMENT if report.summaries else _OF_BUILD
    found: dict[str, Any] = {
        key: report.options[title] for title, key in sections.items() if title in report.options
    }
    if report.summaries:
        found["performance_summary"] = _performance(report)
    if report.device_facts:
        found["device_information"] = {
            name: _number(text) if name in _NUMBERS else text
            for name, text in report.device_facts.items()
        }
    return found


def _performance(report: ToolReport) -> dict[str, Any]:
    names = {metric: name for name, metric in SUMMARY_METRICS.items()}
    figures: dict[str, Any] = {"Throughput": report.throughput_per_s}
    for summary in report.summaries:
        fixed = [summary.min_ms, summary.max_ms, summary.mean_ms, summary.median_ms]
        figures[names[summary.metric]] = [*fixed, *(value for _, value in summary.percentiles)]
    figures["Total Host Walltime"] = report.host_walltime_s
    figures["Total GPU Compute Time"] = report.total_gpu_compute_s
    return {name: value for name, value in figures.items() if value is not None}


def _number(text: str) -> float | str:
    """Return the number a text begins with, as trex keeps the clock rates; else the text."""
    match = _LEADING.match(text)
    return float(match[0]) if match else text
