"""Formats and evidence of a builder's choices, in words."""

from __future__ import annotations

import re

from enginescope.analysis.build_log.build_choices import Choice, Option
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.records.plan.build_trace import ChosenTensor

_UNKNOWN = "—"
_FORMAT = re.compile(r"^(\w+)\(([^)]*)\)$")
#: `Choice.evidence` in words.
EVIDENCE = {
    "timed": "timed",
    "ambiguous": "several times fit",
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
