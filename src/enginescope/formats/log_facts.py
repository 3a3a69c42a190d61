"""Lines of a trtexec log without their prefix, and single facts that a line states.

Facts are versions, seconds, sizes, statistics, and the GPU that a tool says it ran on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from enginescope.formats.lenient_json import decode_text
from enginescope.records.environment import Device
from enginescope.records.notice import Notice
from enginescope.records.samples import ReportedSummary

# What a summary line is headed -> the metric.
SUMMARY_METRICS: dict[str, str] = {
    "Latency": "trtexec_latency",
    "End-to-End Host Latency": "end_to_end",
    "Enqueue Time": "enqueue",
    "H2D Latency": "h2d",
    "GPU Compute Time": "gpu_compute",
    "D2H Latency": "d2h",
}
_LARGEST = 1e15
_NUMBER = r"([-+\w.]+)"
_SUMMARY = re.compile(rf"^\s*({'|'.join(SUMMARY_METRICS)}): (?=min = )")
_STATISTIC = re.compile(rf"(min|max|mean|median|percentile\(([\d.]+)%\)) = {_NUMBER} ms")
_STATUS = re.compile(
    r"^&&&& (RUNNING|PASSED|FAILED) TensorRT\.\S+(?: \[TensorRT v(\d{4,6})\])?[^#]*(?:# (.*))?$"
)
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_SIZE = rf"{_NUMBER} ?({'|'.join(_SIZES)}|bytes)?\b"

# Text -> the `ToolReport` field it fills, in seconds.
_SECONDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parse_s", re.compile(rf"Finished parsing network model\. Parse time: {_NUMBER}")),
    ("build_s", re.compile(rf"Engine generation completed in {_NUMBER} seconds")),
    ("build_s", re.compile(rf"Engine built in {_NUMBER} sec")),
    ("load_s", re.compile(rf"Engine loaded in {_NUMBER} sec")),
    ("deserialize_s", re.compile(rf"Engine deserialized in {_NUMBER} sec")),
    ("host_walltime_s", re.compile(rf"^\s*Total Host Walltime: {_NUMBER} s\b")),
    ("total_gpu_compute_s", re.compile(rf"^\s*Total GPU Compute Time: {_NUMBER} s\b")),
    ("throughput_per_s", re.compile(rf"^\s*Throughput: {_NUMBER} qps")),
)
# The first that is found goes first.
_ENGINE_SIZES = (
    re.compile(rf"Created engine with size: {_SIZE}"),
    re.compile(rf"Loaded engine with size: {_SIZE}"),
    re.compile(rf"Loaded engine size: {_SIZE}"),
)
_CONTEXT_SIZE = re.compile(rf"Created execution context with device memory size: {_SIZE}")
_TOTAL = re.compile(rf"^\s*((?:Total|Max) [A-Za-z ]*[Mm]emory)(?: is|:) {_SIZE}")
_PEAK = re.compile(rf"Peak memory usage.*?: CPU {_NUMBER} MiB, GPU {_NUMBER} MiB")
_VERSION = re.compile(r"^\s*TensorRT version: (\S+)")


def status(text: str) -> tuple[str, str | None, str | None] | None:
    """Return (RUNNING | PASSED | FAILED, version, command line) of a ``&&&&`` line."""
    match = _STATUS.match(text)
    if match is None:
        return None
    version = version_text(match[2]) if match[2] else None
    return match[1], version, (match[3] or "").strip() or None


def version_text(digits: str) -> str:
    """Return ``8.6.1`` for ``8601`` and ``10.16.0`` for ``101600``."""
    number = int(digits)
    base = 10_000 if number >= 100_000 else 1_000
    return f"{number // base}.{number % base // 100}.{number % 100}"


def printed_version(text: str) -> str | None:
    """Return the version of a ``TensorRT version:`` line."""
    match = _VERSION.match(text)
    return match[1] if match else None


def seconds(text: str) -> tuple[str, float] | None:
    """Return the field of `ToolReport` that a line fills with a plain number, and the number."""
    for field, pattern in _SECONDS:
        match = pattern.search(text)
        if match:
            value = number(match[1])
            return None if value is None else (field, value)
    return None


def summary(text: str) -> ReportedSummary | None:
    """Return the statistics of a line of the performance summary."""
    head = _SUMMARY.match(text)
    if head is None:
        return None
    plain: dict[str, float | None] = {}
    percentiles = []
    for name, p, raw in _STATISTIC.findall(text):
        value, share = number(raw), number(p) if p else None
        if not p:
            plain[name] = value
        elif value is not None and share is not None and 0 <= share <= 100:
            percentiles.append((share, value))
    return ReportedSummary(
        metric=SUMMARY_METRICS[head[1]],
        min_ms=plain.get("min"),
        max_ms=plain.get("max"),
        mean_ms=plain.get("mean"),
        median_ms=plain.get("median"),
        percentiles=tuple(percentiles),
    )


def engine_size(text: str) -> tuple[int, int] | None:
    """Return (rank, bytes) of a line with the engine's size; the lowest rank is the best."""
    for rank, pattern in enumerate(_ENGINE_SIZES):
        size = _size(pattern.search(text))
        if size is not None:
            return rank, size
    return None


def context_size(text: str) -> int | None:
    """Return the device memory of the execution context, bytes."""
    return _size(_CONTEXT_SIZE.search(text))


def memory(text: str) -> dict[str, int]:
    """Return the named totals of memory in a line, bytes."""
    peak = _PEAK.search(text)
    if peak:
        sizes = {"Peak TRT CPU allocators": peak[1], "Peak TRT GPU allocators": peak[2]}
        known = {name: number(raw) for name, raw in sizes.items()}
        return {name: int(value * 2**20) for name, value in known.items() if value is not None}
    match = _TOTAL.match(text)
    size = _size(match, first=2)
    return {match[1]: size} if match and size is not None else {}


def number(text: str) -> float | None:
    """Return a printed number; ``None`` for ``nan``, ``inf``, absurd sizes and what is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _LARGEST else None  # not for nan either


def size_bytes(text: str) -> int | None:
    """Return the bytes of a text such as ``143155 MiB``."""
    return _size(re.match(_SIZE, text))


def _size(match: re.Match[str] | None, first: int = 1) -> int | None:
    value = number(match[first]) if match else None
    if match is None or value is None or not 0 <= value < 2**40:
        return None
    return int(value * _SIZES.get(match[first + 1] or "B", 1))


def device_of(facts: Mapping[str, str]) -> Device | None:
    """Return the device of a ``Device Information`` section, or ``None`` if it names none."""
    name = facts.get("Selected Device")
    if not name:
        return None
    units = number(facts.get("SMs", ""))
    return Device(
        name=name,
        uuid=facts.get("Selected Device UUID") or None,
        compute_capability=facts.get("Compute Capability") or None,
        memory_bytes=size_bytes(facts.get("Device Global Memory", "")),
        sm_count=int(units) if units is not None and 0 < units < 2**31 else None,
    )


#: Colors and other control sequences of terminals (ECMA-48).
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


#: Where a line of trtexec's or of TensorRT's logger begins.
_LINE_BEGIN = r"(?:&&&& (?:RUNNING|PASSED|FAILED) TensorRT\b|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[)"
_BEGIN = re.compile(f"^{_LINE_BEGIN}", re.MULTILINE)
_LATE_BEGIN = re.compile(rf"^([^\n]{{1,100}}?){_LINE_BEGIN}", re.MULTILINE)


def log_text(data: bytes, source: str) -> tuple[str, tuple[Notice, ...]]:
    """Return a log as text: as `decode_text`, without colors, its lines ended by line feeds.

    A program that redraws a line ends it with a carriage return. A time or a name that CI or a
    container put before every line is left out.
    """
    text, notices = decode_text(data, source)
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    late = None if _BEGIN.search(text) else _LATE_BEGIN.search(text)
    if late:
        before = re.sub(r"\d+", r"\\d+", re.escape(late[1].rstrip()))
        spaces = len(late[1]) - len(late[1].rstrip())
        text = re.sub(rf"(?m)^{before}[ \t]{{0,{spaces}}}", "", text)
    return text, notices


_PREFIX = re.compile(
    r"^\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] (\[TRT\] )?\[([A-Z])\] ?(\[TRT\] ?)?(.*)$", re.DOTALL
)
#: Anywhere in a text, at the start of a line: this is a trtexec log.
IS_LOG = re.compile(
    r"^(?:&&&& (?:RUNNING|PASSED|FAILED) TensorRT\b"
    r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[[VIWEF]\]"
    r"|=== (?:Model Options|Performance summary|Inference Options) ===)",
    re.MULTILINE,
)

#: What Torch-TensorRT puts before TensorRT's own lines: its logger in Python, and that in C++.
_TORCH = (
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|INTERNAL_ERROR|CRITICAL):"
    r"(?:torch_tensorrt \[[^\]]*Conversion Context\]:| \[Torch-TensorRT[^\]]*Context\] - )"
)
_TORCH_PREFIX = re.compile(_TORCH + "(?P<text>.*)$", re.DOTALL)
_TORCH_LEVELS = {"INTERNAL_ERROR": "F", "CRITICAL": "F"}
#: The same of TensorRT's logger in Python, which puts its name before the level.
IS_SCRIPT_LOG = re.compile(
    rf"^(?:\[\d\d/\d\d/\d{{4}}-\d\d:\d\d:\d\d\] \[TRT\] \[[VIWEF]\]|{_TORCH})", re.MULTILINE
)


class LogLine(NamedTuple):
    """One line.

    Attributes:
        number: From 1.
        level: ``"I"``, ``"W"``, ``"E"``, ``"F"``; ``None`` for a line without prefix.
        is_library: Whether TensorRT itself said it (``[TRT]``), not trtexec.
    """

    number: int
    level: str | None
    is_library: bool
    text: str


def log_lines(text: str, first: int = 1) -> Iterator[LogLine]:
    """Yield the lines that can matter: verbose ones, which are most, are passed over.

    Args:
        first: Number of the first line in its file.
    """
    for number, line in enumerate(text.split("\n"), start=first):
        if line[22:25] == "[V]" or line[22:31] == "[TRT] [V]":
            continue
        if line[:1] != "[":
            found = _torch_line(number, line)
            if found is None or found.level != "D":
                yield found or LogLine(number, None, is_library=False, text=line)
            continue
        match = _PREFIX.match(line)
        if match is None:
            yield LogLine(number, None, is_library=False, text=line)
        else:
            is_library = match[1] is not None or match[3] is not None
            yield LogLine(number, match[2], is_library=is_library, text=match[4])


def _torch_line(number: int, line: str) -> LogLine | None:
    """Return a line of TensorRT as Torch-TensorRT logs it; ``None`` for any other."""
    match = _TORCH_PREFIX.match(line) if "Context]" in line else None
    if match is None:
        return None
    level = _TORCH_LEVELS.get(match["level"], match["level"][0])
    return LogLine(number, level, is_library=True, text=match["text"])
