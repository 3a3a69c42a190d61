"""What trtexec's printed options say of the job: workload, mode, precision, subject.

Several reports of one engine, such as its build and its timing log, as one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_duration_ms
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Plan
from enginescope.records.run.job import InputShape, Mode, StopRule, WarmUp, Workload

_BUILD_SECTIONS = ("Model Options", "Build Options")
_FIRST_KNOWN = (
    *("tool_version", "device", "throughput_per_s", "host_walltime_s", "total_gpu_compute_s"),
    *("build_s", "parse_s", "deserialize_s", "load_s", "engine_bytes", "context_memory_bytes"),
)


def is_of_build(report: ToolReport) -> bool:
    """Whether a report's build options were used: trtexec prints defaults when it loads a plan."""
    options = report.options.get("Build Options")
    return options is not None and not options.get("Load engine")


def merge_reports(reports: Sequence[ToolReport]) -> ToolReport | None:
    """Return one report: figures of the timing, options and messages of the build too.

    Those with a performance summary go first; of each fact the first that is known is taken,
    model and build options come from the build. Command lines are joined by a line break, the
    build's first.
    """
    if not reports:
        return None
    ordered = sorted(reports, key=lambda one: (not one.summaries, is_of_build(one)))
    built = [one for one in ordered if is_of_build(one)] or ordered
    verdicts = [one.passed for one in ordered if one.passed is not None]
    chronological = list(reversed(ordered))
    facts: Mapping[str, str] = next((one.device_facts for one in ordered if one.device_facts), {})
    return ToolReport(
        tool=ordered[0].tool,
        command="\n".join(one.command for one in chronological if one.command) or None,
        passed=all(verdicts) if verdicts else None,
        options=_options(ordered, built),
        device_facts=dict(facts),
        summaries=next((one.summaries for one in ordered if one.summaries), ()),
        memory={name: size for one in chronological for name, size in one.memory.items()},
        messages=tuple(dict.fromkeys(m for one in chronological for m in one.messages)),
        **{field: _first(ordered, field) for field in _FIRST_KNOWN},
    )


def _first(reports: Sequence[ToolReport], field: str) -> Any:
    values = (getattr(report, field) for report in reports)
    return next((value for value in values if value is not None), None)


def _options(
    ordered: Sequence[ToolReport], built: Sequence[ToolReport]
) -> dict[str, dict[str, str]]:
    options: dict[str, dict[str, str]] = {}
    for one in ordered:
        for title, section in one.options.items():
            options.setdefault(title, section)
    for title in _BUILD_SECTIONS:
        if stated := [one.options[title] for one in built if title in one.options]:
            options[title] = stated[0]
    return options


_DURATION = re.compile(r"^\s*(\S+)(?: \(\+ (\S+) warm ?up\))?")
_SHAPE = re.compile(r"^(.+)=(\d{1,9}(?:x\d{1,9})*)$")
_SWITCH = {"enabled": True, "disabled": False}
# Lowest first: what an engine with this precision allowed is called by.
_PRECISIONS = ("INT4", "FP8", "INT8", "FP16", "BF16", "FP32")


def inference_options(report: ToolReport | None) -> Mapping[str, str]:
    """Return the options of the timing, empty where they are not known."""
    return report.options.get("Inference Options", {}) if report else {}


def warmup_ms(report: ToolReport | None) -> float | None:
    """Return the warm-up time that trtexec was given, in milliseconds."""
    return _durations(inference_options(report))[1]


def workload_of(report: ToolReport | None, plan: Plan | None) -> Workload:
    """Return the workload that the options describe; what they do not say is ``None``.

    trtexec runs until both a number of queries and a duration are reached.
    """
    options = inference_options(report)
    duration, warmup = _durations(options)
    iterations = _whole(options.get("Iterations"))
    min_samples = iterations if iterations is not None else 0
    return Workload(
        batch=_batch(options.get("Batch"), plan),
        shapes=_shapes(options),
        warmup=WarmUp(time_ms=warmup if warmup is not None else 0.0, iterations=0),
        stop=StopRule(duration_ms=duration, precision_pct=None, min_samples=min_samples),
        mode=Mode(
            in_flight=None,
            transfers=_switch(options.get("Data transfers")),
            cuda_graph=_switch(options.get("CUDA Graph")),
            spin_wait=_switch(options.get("Spin-wait")),
            streams=_whole(options.get("Inference Streams") or options.get("Streams")),
        ),
    )


def precision_of(report: ToolReport | None, plan: Plan | None = None) -> str | None:
    """Return the lowest precision the build allowed, as in ``trtexec:fp16``.

    Without the build's options: the lowest one in which a layer of the plan computes.
    """
    if report is None or not is_of_build(report):
        read = [layer.precision for layer in plan.layers] if plan else []
        computes = {one._name_ for one in read if one}  # a member's value and hash call Python
        return next((one.lower() for one in _PRECISIONS if one in computes), None)
    stated = report.options["Build Options"].get("Precision", "")
    if stated.lower().startswith("strongly typed"):
        return "strongly-typed"
    allowed = {one.strip().upper() for one in stated.split("+")}
    return next((one.lower() for one in _PRECISIONS if one in allowed), None)


def engine_path(report: ToolReport | None) -> str | None:
    """Return the engine file that trtexec wrote or read, as it was given."""
    options = report.options.get("Build Options", {}) if report else {}
    return options.get("Save engine") or options.get("Load engine") or None


def _durations(options: Mapping[str, str]) -> tuple[float | None, float | None]:
    match = _DURATION.match(options.get("Duration", ""))
    return (_milliseconds(match[1]), _milliseconds(match[2])) if match else (None, None)


def _milliseconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration_ms(text)
    except UsageError:
        return None  # -1s: until interrupted


def _batch(text: str | None, plan: Plan | None) -> int | None:
    batch = _whole(text)
    if batch != 1 or plan is None:
        return batch
    # trtexec prints 1 for every plan it loads.
    shapes = [one.tensor.shape for one in plan.inputs]
    return 1 if shapes and all(shape and shape[0] == 1 for shape in shapes) else None


def _shapes(options: Mapping[str, str]) -> tuple[InputShape, ...]:
    stated = options.get("Input inference shape") or options.get("Input inference shapes") or ""
    found = (_SHAPE.match(one.strip()) for one in re.split(r"[;,]\s*", stated))
    return tuple(
        InputShape(name=match[1], dims=tuple(int(dim) for dim in match[2].split("x")))
        for match in found
        if match
    )


def _switch(text: str | None) -> bool | None:
    return _SWITCH.get(text.strip().lower()) if text else None


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
