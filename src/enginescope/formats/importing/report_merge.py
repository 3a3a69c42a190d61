"""Several reports of one engine, such as its build and its timing log, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enginescope.records.plan.tool_report import ToolReport

_BUILD_SECTIONS = ("Model Options", "Build Options")
_FIRST_KNOWN = (
    "tool_version",
    "device",
    "throughput_per_s",
    "host_walltime_s",
    "total_gpu_compute_s",
    "build_s",
    "parse_s",
    "deserialize_s",
    "load_s",
    "engine_bytes",
    "context_memory_bytes",
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
        stated = [one.options[title] for one in built if title in one.options]
        if stated:
            options[title] = stated[0]
    return options
