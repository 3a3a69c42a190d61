"""trtexec's log, 8.x to 11.x, build or timing, whole or cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats import log_facts
from enginescope.formats.log_facts import (
    IS_LOG,
    LogLine,
    device_of,
    log_lines,
    log_text,
    number,
)
from enginescope.formats.plan.inspector_text import inspected_plan
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.plan.tool_report import LogMessage, ToolReport
from enginescope.records.samples import ReportedSummary

_TITLE = re.compile(r"^Profile \((\d{1,15}) iterations\s*\)$")
_FIGURE = r"\s*([-+\w.]+)"
_WITH_MEDIAN = re.compile(rf"^{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s\s*(\S.*)$")
_WITHOUT_MEDIAN = re.compile(rf"^{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s\s*(\S.*)$")


class ProfileTable:
    """Reads the rows below ``=== Profile (N iterations ) ===``.

    Figures are total, average, median (not up to 8.2) and percentage; the rest of the row is the
    name, spaces and all. Layers without time are not printed, and the figures are rounded.
    """

    def __init__(self, title: str) -> None:
        match = _TITLE.match(title)
        self.iterations = int(match[1]) if match else None
        self.layers: list[LayerTiming] = []
        self.is_complete = False
        self._has_median: bool | None = None

    def add(self, text: str) -> None:
        """Take one line below the title."""
        if self.is_complete:
            return
        if self._has_median is None:
            if "Layer" in text and "(ms)" in text:
                self._has_median = "Median" in text
            return
        row = self._row(text)
        if row is None:
            return
        if row.name == "Total" and (row.share_pct is None or row.share_pct > 99.9):
            self.is_complete = True
        else:
            self.layers.append(row)

    def profile(self) -> Profile | None:
        """Return the table, or ``None`` if no row was seen."""
        if not self.layers:
            return None
        return Profile(source="trtexec", layers=tuple(self.layers), iterations=self.iterations)

    def _row(self, text: str) -> LayerTiming | None:
        match = (_WITH_MEDIAN if self._has_median else _WITHOUT_MEDIAN).match(text)
        if match is None:
            return None
        *figures, name = match.groups()
        values = [number(figure) for figure in figures]
        if values[0] is None:
            return None
        return LayerTiming(
            index=len(self.layers),
            name=name.strip(),
            total_ms=values[0],
            mean_ms=values[1],
            median_ms=values[2] if self._has_median else None,
            share_pct=values[-1],
        )


def is_profile_title(title: str) -> bool:
    """Whether a section's title is that of the table."""
    return _TITLE.match(title) is not None


_HEADER = re.compile(r"^\s*=== (.+?) ===\s*$")
_SKIPPED = ("Trace details", "Performance summary", "Explanations of the performance metrics")


class SectionReader:
    """Collects ``Key: value`` lines under the header before them.

    A section ends at the next header or an empty message. Values are kept whole, colons and all;
    a key that comes again, and a line without a key, add to the value after ``"; "``.

    Attributes:
        current: Header of the section the last line belongs to, of whatever kind.
    """

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, str]] = {}
        self.current: str | None = None
        self._last_key: str | None = None

    def header(self, text: str) -> str | None:
        """Return the title if `text` is a header, and open its section."""
        match = _HEADER.match(text)
        if match is None:
            return None
        self.current, self._last_key = match[1].strip(), None
        return self.current

    def add(self, text: str) -> None:
        """Take a line of the open section."""
        if self.current is None:
            return
        if not text.strip():
            self.current = None
            return
        if self.current.startswith(("Profile (", *_SKIPPED)):
            return
        section = self.sections.setdefault(self.current, {})
        key, colon, value = text.partition(":")
        if colon:
            self._last_key = key.strip()
            _append(section, self._last_key, value.strip())
        elif self._last_key is not None:
            _append(section, self._last_key, text.strip())


def _append(section: dict[str, str], key: str, value: str) -> None:
    before = section.get(key)
    section[key] = f"{before}; {value}" if before and value else before or value


_LEVELS = {"W": "warning", "E": "error", "F": "fatal"}
DEVICE_SECTION = "Device Information"


class TrtexecLog(Record, frozen=True, kw_only=True):
    """What one process logged.

    Attributes:
        profile: From the printed table: rounded, and without layers that took no time.
        inspected: Layers that the log holds, with the keys of the inspector's JSON.
        backend: What ran the engine, as `BackendSpec` names it.
        versions: Of libraries, by name.
        process: From 1, of a log of several processes.
    """

    report: ToolReport
    profile: Profile | None = None
    inspected: dict[str, Any] | None = None
    backend: str = "trtexec"
    versions: Mapping[str, str] = {}
    process: int | None = None


def parse_trtexec_log(data: bytes, source: str) -> tuple[TrtexecLog, tuple[Notice, ...]]:
    """Return the facts in a log of one trtexec; of several processes those of the last.

    Lines are taken with or without the prefix of time and level; verbose ones are passed over.

    Args:
        source: The file, for messages.

    Raises:
        FormatError: Nothing in it looks like trtexec.
    """
    return parse_trtexec_logs(data, source)[-1]


def parse_trtexec_logs(
    data: bytes, source: str
) -> tuple[tuple[TrtexecLog, tuple[Notice, ...]], ...]:
    """Return the facts of each process in a log, in its order, with their notices.

    Raises:
        FormatError: Nothing in it looks like trtexec, or two processes wrote at the same time.
    """
    text, notices = log_text(data, source)
    if IS_LOG.search(text) is None:
        raise FormatError(
            source, why="no line of trtexec's in it", expected="trtexec's own log, 8.x or later"
        )
    parts = _processes(text, source)
    logs = []
    for count, (first, part) in enumerate(parts, start=1):
        process = count if len(parts) > 1 else None
        read = read_part(part, "trtexec", source, first=first, process=process)
        logs.append((read[0], (*notices, *read[1])))
    return tuple(logs)


def read_part(
    text: str, tool: str, source: str, *, first: int = 1, process: int | None = None
) -> tuple[TrtexecLog, tuple[Notice, ...]]:
    """Return the facts of one process, or of one engine of a script.

    Args:
        text: Its lines.
        first: Number of its first line in the file.
    """
    reader = _LogReader(tool)
    for line in log_lines(text, first):
        reader.take(line)
    return reader.result(inspected_plan(text), process), tuple(reader.notices(source))


def _processes(text: str, source: str) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each process.

    Raises:
        FormatError: The lines of two processes are mixed.
    """
    starts, most = _starts(text)
    cuts = [0, *starts[1:], len(text)]
    parts = [text[at:end] for at, end in pairwise(cuts)]
    ends_twice = len(parts) > 1 and any(len(_ENDED.findall(part)) > 1 for part in parts)
    if len(starts) > most or ends_twice or any(part.count(_DEVICES) > 1 for part in parts):
        raise FormatError(
            source,
            why="several processes of trtexec wrote this log at the same time, so their lines "
            "are mixed",
            hint="give each process its own log",
        )
    return [(text.count("\n", 0, at) + 1, part) for at, part in zip(cuts, parts, strict=False)]


def _starts(text: str) -> tuple[list[int], int]:
    """Return where each process begins, and how many processes there can be.

    A process begins with its first line, or with its options where that line is missing.
    """
    starts, running, options, is_open = [], 0, 0, False
    for match in _BEGINS.finditer(text):
        is_first = match[1] is not None
        running, options = running + is_first, options + (not is_first)
        if is_first or not is_open:
            starts.append(match.start())
        is_open = is_first
    return starts, max(running, options)


_BEGINS = re.compile(
    r"^(?:(&&&& RUNNING TensorRT\b)|[^=\n]{0,80}=== Model Options ===)", re.MULTILINE
)
_DEVICES = "=== Device Information ==="
_ENDED = re.compile(r"^&&&& (?:PASSED|FAILED) TensorRT\b", re.MULTILINE)


class _LogReader:
    def __init__(self, tool: str) -> None:
        self.fields: dict[str, Any] = {"tool": tool}
        self.summaries: dict[str, ReportedSummary] = {}
        self.memory: dict[str, int] = {}
        self.messages: dict[tuple[str, str], LogMessage] = {}
        self.sections = SectionReader()
        self.table: ProfileTable | None = None
        self.engine_size_rank = 99
        self.has_started = False

    def take(self, line: LogLine) -> None:
        if line.text.startswith("&&&& "):
            self._status(line.text)
        elif line.level in _LEVELS:
            level = _LEVELS[line.level or ""]
            message = LogMessage(level=level, text=line.text.strip(), line=line.number)
            if message.text:
                self.messages.setdefault((level, message.text), message)
        elif line.is_library:
            self._fact(line.text)
        else:
            self._own(line.text)

    def _own(self, text: str) -> None:
        title = self.sections.header(text)
        if title is not None:
            self.table = ProfileTable(title) if is_profile_title(title) else self.table
            return
        if self.sections.current is not None and is_profile_title(self.sections.current):
            assert self.table is not None
            self.table.add(text)
            return
        version = log_facts.printed_version(text)
        if version is not None:
            self.fields["tool_version"] = version
            self.sections.current = None
            return
        self.sections.add(text)
        self._fact(text)

    def _fact(self, text: str) -> None:
        statistics = log_facts.summary(text)
        if statistics is not None:
            self.summaries[statistics.metric] = statistics
            return
        found = log_facts.seconds(text)
        if found is not None:
            self.fields[found[0]] = found[1]
            return
        size = log_facts.engine_size(text)
        if size is not None:
            if size[0] <= self.engine_size_rank:
                self.engine_size_rank, self.fields["engine_bytes"] = size
            return
        context = log_facts.context_size(text)
        if context is not None:
            self.fields["context_memory_bytes"] = context
            return
        self.memory.update(log_facts.memory(text))

    def _status(self, text: str) -> None:
        found = log_facts.status(text)
        if found is None:
            return
        word, version, command = found
        self.has_started |= word == "RUNNING"
        if version is not None:
            self.fields.setdefault("tool_version", version)
        if command is not None:
            self.fields["command"] = command
        self.fields["passed"] = {"PASSED": True, "FAILED": False}.get(word)

    def result(self, inspected: dict[str, Any] | None, process: int | None) -> TrtexecLog:
        options = dict(self.sections.sections)
        facts = options.pop(DEVICE_SECTION, {})
        report = ToolReport(
            **self.fields,
            options=options,
            device=device_of(facts),
            device_facts=facts,
            summaries=tuple(self.summaries.values()),
            memory=self.memory,
            messages=tuple(self.messages.values()),
        )
        return TrtexecLog(
            report=report,
            profile=self.table.profile() if self.table else None,
            inspected=inspected,
            process=process,
        )

    def notices(self, source: str) -> Iterator[Notice]:
        if self.has_started and self.fields.get("passed") is None:
            yield Notice(
                code="W-LOG-UNFINISHED",
                message=f"{source} ends before trtexec prints PASSED or FAILED",
                evidence={"file": source},
            )
        if self.table is not None and self.table.layers and not self.table.is_complete:
            yield Notice(
                code="W-TRUNCATED",
                message=f"{source}: the table of layer times ends before its total; layers are "
                "missing, and the last name may be cut off",
                evidence={"file": source, "layers": len(self.table.layers)},
            )
