"""A build on one screen.

Formats and evidence of a builder's choices, in words.
"""

from __future__ import annotations

import re

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.build_log.build_choices import Choice, Option
from enginescope.core.units import format_bytes
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.build_trace import ChosenTensor
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base.facts import place_line, subject_line
from enginescope.render.base.text import failure_lines, label_row, notice_lines


def build_text(run: Run) -> RenderableType:
    """Return what was built, how long it took and what it takes; or why it failed."""
    title = Text(subject_line(run), style="bold")
    place = place_line(run)
    lines: list[RenderableType] = [title, *([Text(place, style="dim")] if place else []), Text()]
    if run.outcome.kind is not OutcomeKind.OK:
        lines += [*failure_lines(run), Text()]
    if run.build is not None:
        lines += [label_row(name, value) for name, value in build_facts(run.build)]
        lines.append(Text())
    return Group(*lines, *notice_lines(run.notices))


def build_facts(report: BuildReport) -> tuple[tuple[str, str], ...]:
    """Return a build as (name, value) pairs."""
    times = f"{_seconds(report.build_ms)}, parsing {_seconds(report.parse_ms)}"
    kept = " (at build time; the engine comes from the cache)" if report.from_cache else ""
    targets = report.compute_capabilities
    product = "TensorRT for RTX" if targets else "TensorRT"
    pairs = (
        ("engine", f"{format_bytes(report.engine_bytes)}, {product} {report.tensorrt}"),
        ("runs on", f"compute capability {', '.join(targets)}" if targets else None),
        ("built in", f"{times}{kept}"),
        ("network", f"{report.layers:,} layers before fusion" if report.layers else None),
        ("peak", _peaks(report)),
    )
    return tuple((name, value) for name, value in pairs if value)


def _peaks(report: BuildReport) -> str | None:
    parts = ((report.peak_host_bytes, "of the host"), (report.peak_device_bytes, "of the GPU"))
    return ", ".join(f"{format_bytes(size)} {where}" for size, where in parts if size) or None


def _seconds(value_ms: float | None) -> str:
    return "not known" if value_ms is None else f"{value_ms / 1e3:.1f} s"


_UNKNOWN = "—"
_FORMAT = re.compile(r"^(\w+)\(([^)]*)\)$")
#: `Choice.evidence` in words.
EVIDENCE = {
    "timed": "timed",
    "ambiguous": "several times match",
    "not timed": "from the timing cache",
    "none": "not named in tuning",
    "inert": "does no work",
}


def chosen_formats(choice: Choice) -> str:
    """Return the formats a layer ended up with: ``FP16:8``, or ``FP32 → FP16:8``."""
    return _arrow([_of(one) for one in choice.layer.inputs], [_of(o) for o in choice.layer.outputs])


def option_formats(option: Option | None) -> str:
    """Return the formats of something that was tried; a dash for nothing."""
    if option is None:
        return _UNKNOWN
    return _arrow(
        [brief_format(one) for one in option.inputs],
        [brief_format(output) for output in option.outputs],
    )


def _arrow(inputs: list[str], outputs: list[str]) -> str:
    """Formats of a layer, each once: its inputs usually share one."""
    sides = ["+".join(dict.fromkeys(side)) for side in (inputs, outputs)]
    return sides[0] if sides[0] == sides[1] else " → ".join(one for one in sides if one)


def _of(tensor: ChosenTensor) -> str:
    name = tensor.dtype.value if tensor.dtype else tensor.format
    wide = tensor.vector_width is not None and tensor.vector_width > 1
    return f"{name}:{tensor.vector_width}" if wide else name


def brief_format(text: str) -> str:
    """``Half(25088,1:8,448,8)`` as ``FP16:8``: type and elements that lie together."""
    match = _FORMAT.match(text)
    if match is None:
        return text
    dtype = parse_dtype(match[1])
    widths = [one.partition(":")[2].strip() for one in match[2].split(",") if ":" in one]
    name = dtype.value if dtype else match[1]
    return f"{name}:{widths[0]}" if widths else name
