from __future__ import annotations

from typing import Any

from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime.ort_memory import arenas_of


def event(node: str, after: int, change: int, peak: int) -> dict[str, Any]:
    arguments = {
        "provider": "CPUExecutionProvider",
        "mem_bytes_in_use": str(after),
        "mem_in_use_delta": str(change),
        "mem_in_use_peak": str(peak),
        "mem_arena_held": "1048576",
    }
    return {"cat": "Node", "name": f"{node}_kernel_time", "dur": 1, "args": arguments}


RUN = {"cat": "Session", "name": "model_run", "dur": 9}


def test_steps_are_of_the_first_inference_and_later_marks_only_where_they_rise() -> None:
    events = [
        event("a", 300, 200, 300),
        event("b", 200, -100, 300),
        RUN,
        event("a", 400, 0, 400),
        event("b", 400, 0, 900),
        RUN,
        event("a", 400, 0, 900),
        RUN,
    ]
    (use,) = arenas_of(Document(value=events, source="p.json"))
    assert (use.in_use_peak_bytes, use.held_bytes) == (900, 1 << 20)
    assert [(one.node, one.before_bytes, one.in_use_bytes) for one in use.steps] == [
        ("a", 100, 300),
        ("b", 300, 200),
    ]
    assert [(one.node, one.peak_bytes) for one in use.later] == [("a", 400), ("b", 900)]


def test_a_profile_without_all_marks_has_no_steps() -> None:
    partial = event("a", 1, 1, 1)
    del partial["args"]["mem_in_use_delta"]
    odd = event("b", 1, 1, 1)
    odd["args"]["mem_in_use_delta"] = "--1"
    (use,) = arenas_of(Document(value=[partial, odd, RUN], source="p.json"))
    assert use.steps == ()
