"""What ONNX Runtime's profile says of its allocators (from 1.26 on)."""

from __future__ import annotations

from typing import Any

from enginescope.formats.lenient_json import Document
from enginescope.records.run.run import ArenaUse


def arenas_of(document: Document) -> tuple[ArenaUse, ...]:
    """Return the highest marks of each provider's allocator; empty where the profile has none."""
    in_use: dict[str, int] = {}
    held: dict[str, int] = {}
    for event in document.value if isinstance(document.value, list) else ():
        arguments = event.get("args") if isinstance(event, dict) else None
        if not isinstance(arguments, dict) or not isinstance(arguments.get("provider"), str):
            continue
        for marks, key in ((in_use, "mem_in_use_peak"), (held, "mem_arena_held")):
            value = _bytes(arguments.get(key))
            if value is not None:
                name = arguments["provider"]
                marks[name] = max(value, marks.get(name, 0))
    return tuple(
        ArenaUse(provider=name, in_use_peak_bytes=value, held_bytes=held.get(name))
        for name, value in in_use.items()
    )


def _bytes(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() else None
