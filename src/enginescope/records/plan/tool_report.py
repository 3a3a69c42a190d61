"""What another tool's log or metadata says of itself."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.records.environment import Device
from enginescope.records.samples import ReportedSummary


class LogMessage(Record, frozen=True, kw_only=True):
    """A warning or error another tool logged."""

    level: str
    text: str
    line: int | None = None


class ToolReport(Record, frozen=True, kw_only=True):
    """Facts from a build or a timing log, as the tool stated them.

    Attributes:
        tool: ``"trtexec"``, …
        tool_version: As printed, such as ``"8.6.0"``.
        command: Its command line.
        passed: Its own verdict.
        options: Per section ("Build Options", "Inference Options", …), values kept whole.
        device_facts: The device section, values kept whole.
        throughput_per_s: Queries per second, as printed.
        engine_bytes, context_memory_bytes: As exact as the log says it.
        memory: Named totals from the log, bytes.
    """

    tool: str
    tool_version: str | None = None
    command: str | None = None
    passed: bool | None = None
    options: dict[str, dict[str, str]] = {}
    device: Device | None = None
    device_facts: dict[str, str] = {}
    summaries: tuple[ReportedSummary, ...] = ()
    throughput_per_s: float | None = None
    host_walltime_s: float | None = None
    total_gpu_compute_s: float | None = None
    build_s: float | None = None
    parse_s: float | None = None
    deserialize_s: float | None = None
    load_s: float | None = None
    engine_bytes: int | None = None
    context_memory_bytes: int | None = None
    memory: dict[str, int] = {}
    messages: tuple[LogMessage, ...] = ()
