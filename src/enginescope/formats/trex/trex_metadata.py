"""Metadata that trex cut out of trtexec's logs (``*.metadata.json``), or dumped of a device.

Metadata in trex's form (``*.build.metadata.json``, ``*.profile.metadata.json``).
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document, finite_number, read_json, whole_number
from enginescope.formats.log_facts import SUMMARY_METRICS, device_of
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport, ToolReport
from enginescope.records.samples import ReportedSummary

_PERFORMANCE = "performance_summary"
_DEVICE = "device_information"
_TITLES = {
    "model_options": "Model Options",
    "build_options": "Build Options",
    "inference_options": "Inference Options",
}
_SECTIONS = frozenset({_PERFORMANCE, _DEVICE, *_TITLES})
# Length of a list of statistics -> the percentiles after min, max, mean, median.
_PERCENTILES: dict[int, tuple[float, ...]] = {4: (), 5: (99.0,), 7: (90.0, 95.0, 99.0)}


def parse_trex_metadata(data: bytes, source: str) -> tuple[ToolReport, tuple[Notice, ...]]:
    """Return the facts in a metadata file.

    trex cuts values at their second colon (``Memory Pools: workspace: …``); they are given as the
    file has them. The statistics are min, max, mean, median and one percentile (99) up to trtexec
    8.4, three (90, 95, 99) since; lists of another length leave their percentiles without a name.
    """
    return metadata_of(read_json(data, source))


def metadata_of(document: Document) -> tuple[ToolReport, tuple[Notice, ...]]:
    """Return the facts in a file already read; see `parse_trex_metadata`."""
    root = document.value
    if not is_trex_metadata(root):
        why = "none of trex's sections in it"
        raise FormatError(document.source, why=why, expected="performance_summary, …")
    if isinstance(root, list):
        return _device_dump(root[0]), document.notices
    performance = _section(root, _PERFORMANCE)
    facts = _texts(_section(root, _DEVICE))
    known = {name: performance[name] for name in SUMMARY_METRICS if name in performance}
    report = ToolReport(
        tool="trtexec",
        options={
            title: _texts(_section(root, key)) for key, title in _TITLES.items() if key in root
        },
        device=device_of(facts),
        device_facts=facts,
        summaries=tuple(
            one for name, raw in known.items() if (one := _summary(SUMMARY_METRICS[name], raw))
        ),
        throughput_per_s=finite_number(performance.get("Throughput")),
        host_walltime_s=finite_number(performance.get("Total Host Walltime")),
        total_gpu_compute_s=finite_number(performance.get("Total GPU Compute Time")),
    )
    lengths = {name: len(raw) for name, raw in known.items() if isinstance(raw, list)}
    odd = {name: size for name, size in lengths.items() if size > 4 and size not in _PERCENTILES}
    if not odd:
        return report, document.notices
    source = document.source
    lacks = f"{source} has statistics without the names of the percentiles"
    message = f"{lacks}; enginescope skips them"
    notice = Notice("W-PERCENTILES-UNNAMED", message, {"file": source, "lengths": odd})
    return report, (*document.notices, notice)


def is_trex_metadata(value: Any) -> bool:
    """Whether JSON values are trex's metadata, of either form."""
    if isinstance(value, dict):
        return any(isinstance(value.get(key), dict) for key in _SECTIONS)
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    return isinstance(value[0].get("Name"), str) and "ComputeCapability" in value[0]


def _section(root: dict[str, Any], key: str) -> dict[str, Any]:
    section = root.get(key)
    return section if isinstance(section, dict) else {}


def _texts(section: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in section.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value)) if abs(value) >= 10 else str(value)
    return str(value)


def _summary(metric: str, raw: Any) -> ReportedSummary | None:
    if not isinstance(raw, list):
        return None
    values = [finite_number(one) for one in raw]
    names = _PERCENTILES.get(len(values), ())
    pairs = zip(names, values[4:], strict=True) if names else ()
    return ReportedSummary(
        metric=metric,
        percentiles=tuple((p, value) for p, value in pairs if value is not None),
        **dict(zip(("min_ms", "max_ms", "mean_ms", "median_ms"), values, strict=False)),
    )


def _device_dump(raw: dict[str, Any]) -> ToolReport:
    """The older form: one device with all its CUDA attributes."""
    memory = whole_number(raw.get("TotalMemory"))
    capability = raw.get("ComputeCapability")
    parts = capability if isinstance(capability, list) else [capability]
    units = next((raw[key] for key in raw if key.upper() == "MULTIPROCESSOR_COUNT"), None)
    count = whole_number(units)
    device = Device(
        name=raw["Name"],
        compute_capability=".".join(str(part) for part in parts if part is not None) or None,
        memory_bytes=memory if memory is not None and memory > 0 else None,
        sm_count=count if count is not None and count > 0 else None,
    )
    return ToolReport(tool="trtexec", device=device, device_facts=_texts(raw))


_OF_BUILD = {"Model Options": "model_options", "Build Options": "build_options"}
_OF_MEASUREMENT = {"Inference Options": "inference_options"}
#: Facts of a device that trex keeps as numbers.
_NUMBERS = frozenset(
    {"Compute Capability", "SMs", "Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate"}
)
_LEADING = re.compile(r"\d+(\.\d+)?")


def build_metadata(report: BuildReport, model: str, device: Device | None) -> dict[str, Any]:
    """Return the sections that trex cuts out of a build log, and the whole report beside them.

    Args:
        model: Path of the model.
        device: The GPU it was built on.
    """
    parts = filter(None, (report.precision or "").split("+"))
    precision = "+".join(("FP32", *map(str.upper, parts)))  # as trtexec prints it
    return {
        "model_options": {"Format": "ONNX", "Model": model},
        "build_options": {
            "Precision": precision,
            **{name.replace("_", " "): text for name, text in report.options.items()},
        },
        "device_information": _device(device, report.device),
        "enginescope": msgspec.to_builtins(report),
    }


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
            # trex keeps clock rates as the number that a text begins with
            name: float(match[0]) if name in _NUMBERS and (match := _LEADING.match(text)) else text
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
