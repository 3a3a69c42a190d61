"""Single facts that a line of a trtexec log states.

Facts are versions, seconds, sizes, statistics, and the GPU that a tool says it ran on.

Also why TensorRT could not build an engine, by its own messages.
"""

import re
from collections.abc import Iterable, Mapping

from enginescope.records.environment import Device
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
#: The same of TensorRT 7, which prints a statistic a line below its heading, in lower case.
_BLOCKS = {
    "host latency": "trtexec_latency",
    "enqueue time": "enqueue",
    "gpu compute": "gpu_compute",
}
_LARGEST = 1e15
_NUMBER = r"([-+\w.]+)"
#: A line with all statistics of a metric, whatever trtexec of a later version calls it.
_SUMMARY = re.compile(r"^\s*([A-Z][\w -]{0,60}): (?=min = )")
_STATISTIC = re.compile(rf"(min|max|mean|median|percentile\(([\d.]+)%\))\s*=\s*{_NUMBER}\s*ms")
_BLOCK = re.compile(rf"^\s*({'|'.join(_BLOCKS)})\s*$", re.IGNORECASE)
_BLOCK_STATISTIC = re.compile(
    rf"^\s*(min|max|mean|median|percentile): {_NUMBER} ms(?: at {_NUMBER}%)?"
    rf"(?: \(end to end {_NUMBER} ms(?: at {_NUMBER}%)?\))?\s*$"
)
_STATUS = re.compile(
    r"^&&&& (RUNNING|PASSED|FAILED) TensorRT\.\S+(?: \[TensorRT v(\d{4,6})\])?[^#]*(?:# (.*))?$"
)
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_SIZE = rf"{_NUMBER} ?({'|'.join(_SIZES)}|bytes)?\b"
_GPU_COMPUTE = r"(?:Total GPU Compute Time|total compute time)"

# Text -> the `ToolReport` field it fills, in seconds.
_SECONDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parse_s", re.compile(rf"Finished parsing network model\. Parse time: {_NUMBER}")),
    ("build_s", re.compile(rf"Engine generation completed in {_NUMBER} seconds")),
    ("build_s", re.compile(rf"Engine built in {_NUMBER} sec")),
    ("load_s", re.compile(rf"Engine loaded in {_NUMBER} sec")),
    ("deserialize_s", re.compile(rf"Engine deserialized in {_NUMBER} sec")),
    ("host_walltime_s", re.compile(rf"^\s*(?:Total Host W|w)alltime: {_NUMBER} s\b")),
    ("total_gpu_compute_s", re.compile(rf"^\s*{_GPU_COMPUTE}: {_NUMBER} s\b")),
    ("throughput_per_s", re.compile(rf"^\s*[Tt]hroughput: {_NUMBER} qps")),
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
    if (match := _STATUS.match(text)) is None:
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
        if match := pattern.search(text):
            value = number(match[1])
            return None if value is None else (field, value)
    return None


def summary(text: str) -> ReportedSummary | None:
    """Return the statistics of a line of the performance summary; ``None`` for other metrics."""
    head = _SUMMARY.match(text)
    metric = SUMMARY_METRICS.get(head[1]) if head else None
    if metric is None:
        return None
    return _reported(metric, ((name, p, raw) for name, p, raw in _STATISTIC.findall(text)))


class Block:
    """Reads the statistics that TensorRT 7 prints below a heading, one a line.

    Times of a query from end to end stand in parentheses behind those of the host's latency.
    """

    def __init__(self, heading: str) -> None:
        self._metric = _BLOCKS[heading.strip().lower()]
        self._rows: dict[str, list[tuple[str, str, str]]] = {}

    def add(self, text: str) -> bool:
        """Take a line; ``False`` if it is not a statistic."""
        if (match := _BLOCK_STATISTIC.match(text)) is None:
            return False
        name, raw, share, whole, whole_share = match.groups()
        self._rows.setdefault(self._metric, []).append((name, share or "", raw))
        if whole is not None:
            row = (name, whole_share or share or "", whole)
            self._rows.setdefault("end_to_end", []).append(row)
        return True

    def summaries(self) -> list[ReportedSummary]:
        return [_reported(metric, rows) for metric, rows in self._rows.items()]


def block(text: str) -> Block | None:
    """Return a reader of what follows a heading of TensorRT 7's summary."""
    return Block(text) if _BLOCK.match(text) else None


def _reported(metric: str, rows: Iterable[tuple[str, str, str]]) -> ReportedSummary:
    """Return statistics of (name, percentile or nothing, figure)."""
    plain: dict[str, float | None] = {}
    percentiles = []
    for name, p, raw in rows:
        value, share = number(raw), number(p) if p else None
        if not p:
            plain[name] = value
        elif value is not None and share is not None and 0 <= share <= 100:
            percentiles.append((share, value))
    return ReportedSummary(
        metric=metric,
        percentiles=tuple(percentiles),
        **{f"{name}_ms": value for name, value in plain.items()},
    )


#: A figure of a measurement, in words that some version of trtexec may use.
_FIGURE = re.compile(
    r"(?:latency|throughput|mean|median|percentile|average|compute|enqueue|\bmin\b|\bmax\b)"
    r".*?[-+]?\d[\d.]*(?:e[-+]?\d+)? ?(?:ms|us|s|qps|fps)\b",
    re.IGNORECASE,
)


def has_figure(text: str) -> bool:
    """Whether a line states a time or a rate, in whatever layout."""
    return _FIGURE.search(text) is not None


def engine_size(text: str) -> tuple[int, int] | None:
    """Return (rank, bytes) of a line with the engine's size; the lowest rank is the best."""
    for rank, pattern in enumerate(_ENGINE_SIZES):
        if (size := _size(pattern.search(text))) is not None:
            return rank, size
    return None


def context_size(text: str) -> int | None:
    """Return the device memory of the execution context, bytes."""
    return _size(_CONTEXT_SIZE.search(text))


def memory(text: str) -> dict[str, int]:
    """Return the named totals of memory in a line, bytes."""
    if peak := _PEAK.search(text):
        sizes = {"Peak TRT CPU allocators": peak[1], "Peak TRT GPU allocators": peak[2]}
        known = {name: number(raw) for name, raw in sizes.items()}
        return {name: int(value * 2**20) for name, value in known.items() if value is not None}
    match = _TOTAL.match(text)
    size = _size(match, first=2)
    return {match[1]: size} if match and size is not None else {}


_QUERIES = re.compile(r"(Warmup completed|Timing trace has) (\d{1,12}) queries over ")


def queries(text: str) -> dict[str, int]:
    """Return the count of queries that a line states: of the warm-up, or of the measurement."""
    if (match := _QUERIES.search(text)) is None:
        return {}
    return {"warmup_queries" if match[1].startswith("Warmup") else "queries": int(match[2])}


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
    if not (name := facts.get("Selected Device")):
        return None
    units = number(facts.get("SMs", ""))
    return Device(
        name=name,
        uuid=facts.get("Selected Device UUID") or None,
        compute_capability=facts.get("Compute Capability") or None,
        memory_bytes=size_bytes(facts.get("Device Global Memory", "")),
        sm_count=int(units) if units is not None and 0 < units < 2**31 else None,
    )


#: Names of fused layers have blanks and dots; the message goes on behind a dot and a blank.
_NO_IMPLEMENTATION = re.compile(
    r"[Cc]ould not find any implementation for node (.+?)"
    r"(?= due to insufficient |\.\s|\.?\)?\s*$)"
)
_NO_MEMORY = re.compile(
    r"out of memory|out_?of_?memory|insufficient memory|memory is insufficient"
    r"|requested amount of \S+ memory"
    r"|skipping tactic \S+ due to (?:insufficient (?!workspace)|oom)",
    re.IGNORECASE,
)
_NO_WORKSPACE = "insufficient workspace"
_LESS_MEMORY = (
    "free GPU memory, or try a smaller batch or shape, a smaller workspace, or another GPU"
)


def build_failure_hint(messages: Iterable[str]) -> str | None:
    """Return which of the two it is and what to try; ``None`` for other failures.

    A builder without memory skips tactics, and may then say that a node has no implementation:
    memory goes first, and a workspace that is too small for every tactic is a limit of its own.
    """
    texts = list(messages)
    node = next((match[1] for text in texts if (match := _NO_IMPLEMENTATION.search(text))), None)
    if any(map(_NO_MEMORY.search, texts)):
        behind = f" ('no implementation for {node}' follows from it)" if node else ""
        return f"the GPU's memory was too small{behind}: {_LESS_MEMORY}"
    if any(_NO_WORKSPACE in text for text in texts):
        return f"the workspace was too small{f' for {node}' if node else ''}: allow a larger one"
    if node is None:
        return None
    return (
        f"TensorRT has no implementation of {node} with these types, shapes and flags: allow "
        "another precision, a larger workspace, or all tactic sources"
    )
