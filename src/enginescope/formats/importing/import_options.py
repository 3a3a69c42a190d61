"""What trtexec's printed options say of the job: workload, mode, precision, subject."""

from __future__ import annotations

import re
from collections.abc import Mapping

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_duration_ms
from enginescope.formats.importing.report_merge import is_of_build
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.tool_report import ToolReport
from enginescope.records.run.job import InputShape, Mode, StopRule, WarmUp, Workload

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
    return Workload(
        batch=_batch(options.get("Batch"), plan),
        shapes=_shapes(options),
        warmup=WarmUp(time_ms=warmup if warmup is not None else 0.0, iterations=0),
        stop=StopRule(
            duration_ms=duration,
            precision_pct=None,
            min_samples=iterations if iterations is not None else 0,
        ),
        mode=Mode(
            in_flight=None,
            transfers=_switch(options.get("Data transfers")),
            cuda_graph=_switch(options.get("CUDA Graph")),
            spin_wait=_switch(options.get("Spin-wait")),
            streams=_whole(options.get("Inference Streams") or options.get("Streams")),
        ),
    )


def precision_of(report: ToolReport | None) -> str | None:
    """Return the lowest precision the build allowed, as in ``trtexec:fp16``."""
    if report is None or not is_of_build(report):
        return None
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
