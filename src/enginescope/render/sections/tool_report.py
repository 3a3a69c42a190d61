"""What the tool that made an imported run says of itself."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes, format_significant
from enginescope.render.base.facts import Facts
from enginescope.render.base.figures import reported_rows
from enginescope.render.sections.section import Section


def tool_report(view: RunView) -> Section | None:
    """Printed figures beside ours, options, memory, warnings; ``None`` for our own runs."""
    tool = view.run.tool
    if tool is None:
        return None
    version = f" {tool.tool_version}" if tool.tool_version else ""
    return Section(
        key="tool",
        title=f"What {tool.tool}{version} says",
        facts={
            "table": reported_rows(view),
            "pairs": _facts(view),
            "options": {**tool.options, "Device": tool.device_facts},
            "messages": tool.messages,
        },
    )


def _facts(view: RunView) -> Facts:
    tool = view.run.tool
    assert tool is not None
    passed = None if tool.passed is None else "passed" if tool.passed else "failed"
    pairs = (
        ("Verdict", passed),
        ("Throughput, queries/s", _number(tool.throughput_per_s)),
        ("Host wall time, s", _number(tool.host_walltime_s)),
        ("Total GPU compute time, s", _number(tool.total_gpu_compute_s)),
        ("Build, s", _number(tool.build_s)),
        ("Parse, s", _number(tool.parse_s)),
        ("Deserialize, s", _number(tool.deserialize_s)),
        ("Load, s", _number(tool.load_s)),
        ("Engine", format_bytes(tool.engine_bytes) if tool.engine_bytes is not None else None),
        (
            "Context memory",
            format_bytes(tool.context_memory_bytes)
            if tool.context_memory_bytes is not None
            else None,
        ),
        *((name, format_bytes(size)) for name, size in tool.memory.items()),
    )
    return tuple((name, value) for name, value in pairs if value is not None)


def _number(value: float | None) -> str | None:
    return None if value is None else format_significant(value, 6)
