"""What trtexec's log says of a run beyond the report: mode, warm-up, inputs and outputs."""

from __future__ import annotations

import re

import msgspec

from enginescope.formats.importing.import_options import inference_options, workload_of
from enginescope.formats.trtexec.log_lines import log_lines
from enginescope.records.notice import Notice
from enginescope.records.plan.tool_report import ToolReport
from enginescope.records.run.job import Mode
from enginescope.records.run.run import WarmUpReport
from enginescope.records.tensor import DataType, Tensor

_WARM_UP = re.compile(r"Warmup completed (\d+) queries over (\S+) ms")
_BINDING = re.compile(
    r"^(Input|Output) binding for (.+) "
    r"(?:with dimensions (\d*(?:x\d+)*) (?:and type (\w+) )?is created\."
    r"|is dynamic and will be created)"
)
_IDLE = re.compile(r"^([\d.]+)ms$")
_CAPTURE_FAILED = re.compile(r"CUDA graph capture.*failed")


def printed_mode(report: ToolReport) -> Mode:
    """Return the mode as the options that trtexec prints have it.

    A graph that could not be captured is none, whatever the options say.
    """
    options = inference_options(report)
    idle = _IDLE.match(options.get("Idle time", ""))
    dma = options.get("ExposeDMA")
    mode = msgspec.structs.replace(
        workload_of(report, None).mode,
        kind="throughput",
        in_flight=None if dma is None else 1 if dma == "Enabled" else 2,
        idle_ms=float(idle[1]) if idle else None,
    )
    return msgspec.structs.replace(mode, cuda_graph=False) if capture_failed(report) else mode


def capture_failed(report: ToolReport) -> bool:
    """Whether trtexec fell back from a CUDA graph to plain launches."""
    return any(_CAPTURE_FAILED.search(one.text) for one in report.messages)


def mode_notices(report: ToolReport, meant: Mode | None) -> list[Notice]:
    """Return what differs between the mode that was meant and the one that was printed."""
    found = []
    if capture_failed(report):
        found.append(
            Notice(
                code="W-NO-CUDA-GRAPH",
                message="the engine could not be captured into a CUDA graph; trtexec launched it "
                "without one",
            )
        )
    if meant is None:
        return found
    printed = printed_mode(report)
    for field in ("transfers", "cuda_graph", "spin_wait", "streams", "in_flight"):
        wanted, seen = getattr(meant, field), getattr(printed, field)
        if seen is None or seen == wanted or (field == "cuda_graph" and capture_failed(report)):
            continue
        found.append(
            Notice(
                code="W-MODE",
                message=f"trtexec ran with {field} {seen}, not {wanted} as its flags say",
                evidence={"field": field, "asked": wanted, "printed": seen},
            )
        )
    return found


def warm_up_report(log: str) -> WarmUpReport | None:
    """Return the warm-up as trtexec counted it."""
    match = _WARM_UP.search(log)
    if match is None:
        return None
    return WarmUpReport(iterations=int(match[1]), duration_ms=float(match[2]), ended_by="fixed")


def bindings(log: str) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return inputs and outputs with the shapes they had in this run.

    The type is not printed up to 8.6, nor is the shape of an output that depends on the data.
    """
    sides: dict[str, dict[str, Tensor]] = {"Input": {}, "Output": {}}
    for line in log_lines(log):
        match = _BINDING.match(line.text)
        if match is None:
            continue
        side, name, dims, word = match.groups()
        shape = None if dims is None else tuple(int(one) for one in dims.split("x") if one)
        dtype = DataType.__members__.get(word.upper()) if word else None
        sides[side].setdefault(name, Tensor(name=name, shape=shape, dtype=dtype))
    return tuple(sides["Input"].values()), tuple(sides["Output"].values())
