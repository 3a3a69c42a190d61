"""What another tool's log or metadata says of itself."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.environment import Device
from enginescope.model.samples import ReportedSummary


class LogMessage(Record, frozen=True, kw_only=True):
    """A warning or error another tool logged."""

    level: str
    text: str
    line: int | None = None


class ToolReport(Record, frozen=True, kw_only=True):
    """Facts from a build or a timing log, as the tool stated them.

    Attributes
    ----------
    tool : str
        ``"trtexec"``, …
    tool_version : str or None
        As printed, such as ``"8.6.0"``.
    command : str or None
        Its command line.
    passed : bool or None
        Its own verdict.
    options : dict of str to (dict of str to str)
        Per section ("Build Options", "Inference Options", …), values kept whole.
    device : Device or None
    device_facts : dict of str to str
        The device section, values kept whole.
    summaries : tuple of ReportedSummary
    throughput_per_s : float or None
        Queries per second, as printed.
    host_walltime_s, total_gpu_compute_s : float or None
    build_s, parse_s, deserialize_s, load_s : float or None
    engine_bytes, context_memory_bytes : int or None
        As exact as the log says it.
    memory : dict of str to int
        Named totals from the log, bytes.
    messages : tuple of LogMessage
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
