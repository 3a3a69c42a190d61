"""What ONNX Runtime's profile says of its allocators, from 1.26 on."""

from __future__ import annotations

from typing import Any

from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime.ort_profile import SUFFIX
from enginescope.records.run.run import ArenaStep, ArenaUse


def arenas_of(document: Document) -> tuple[ArenaUse, ...]:
    """Return the highest marks of each provider's allocator; empty where the profile has none."""
    in_use: dict[str, int] = {}
    held: dict[str, int] = {}
    steps: dict[str, list[ArenaStep]] = {}
    later: dict[str, list[ArenaStep]] = {}
    is_first = True
    for event in document.value if isinstance(document.value, list) else ():
        if not isinstance(event, dict):
            continue
        is_first = is_first and event.get("name") != "model_run"
        arguments = event.get("args")
        if not isinstance(arguments, dict) or not isinstance(arguments.get("provider"), str):
            continue
        name = arguments["provider"]
        step = _step(event.get("name"), arguments)
        if step is not None and (is_first or step.peak_bytes > in_use.get(name, 0)):
            (steps if is_first else later).setdefault(name, []).append(step)
        for marks, key in ((in_use, "mem_in_use_peak"), (held, "mem_arena_held")):
            if (value := _bytes(arguments.get(key))) is not None:
                marks[name] = max(value, marks.get(name, 0))
    return tuple(
        ArenaUse(
            provider=name,
            in_use_peak_bytes=value,
            held_bytes=held.get(name),
            steps=tuple(steps.get(name, ())),
            later=tuple(later.get(name, ())),
        )
        for name, value in in_use.items()
    )


def _step(name: Any, arguments: dict[str, Any]) -> ArenaStep | None:
    keys = ("mem_bytes_in_use", "mem_in_use_peak", "mem_in_use_delta")
    after, peak, change = (_bytes(arguments.get(key)) for key in keys)
    if not isinstance(name, str) or after is None or peak is None or change is None:
        return None
    node = name.removesuffix(SUFFIX)
    return ArenaStep(node=node, before_bytes=after - change, in_use_bytes=after, peak_bytes=peak)


def _bytes(value: Any) -> int | None:
    """Return a number of bytes, which may be a negative change."""
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    is_count = digits.isdecimal() and len(digits) < len(str(1 << 63))
    return int(value) if is_count else None
