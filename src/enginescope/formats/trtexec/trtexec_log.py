"""trtexec's log, 7.x to 11.x, build or timing, whole or cut off."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record, replace
from enginescope.formats import log_facts
from enginescope.formats.log_facts import device_of
from enginescope.formats.log_lines import (
    IS_LOG,
    IS_SCRIPT_LOG,
    SUMMARY_LINE,
    LogLine,
    ProfileTable,
    SectionReader,
    is_profile_title,
    log_lines,
    log_text,
    parts_at,
)
from enginescope.formats.plan.plan_json import IS_LAYER, inspected_plan
from enginescope.judge.notice import Notice, Notices
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.plan.plan import Profile
from enginescope.records.samples import ReportedSummary

_LEVELS = {"W": "warning", "E": "error", "F": "fatal"}
_SUMMARY_TITLE = "Performance summary"
_UNREAD = "W-FIGURES-UNREAD"
_SHOWN_LINES = 3
DEVICE_SECTION = "Device Information"


class TrtexecLog(Record, frozen=True, kw_only=True):
    """What one process logged.

    Attributes:
        profile: From the printed table: rounded, and without layers that took no time.
        inspected: Layers that the log holds, with the keys of the inspector's JSON.
        backend: What ran the engine, as `BackendSpec` names it.
        versions: Of libraries, by name.
        warmup_queries: Those before the measurement.
        queries: Those of the measurement.
    """

    report: ToolReport
    profile: Profile | None = None
    inspected: dict[str, Any] | None = None
    backend: str = "trtexec"
    versions: Mapping[str, str] = {}
    warmup_queries: int | None = None
    queries: int | None = None

    @property
    def has_figures(self) -> bool:
        """Whether it states a time or a size, of a build or of a measurement."""
        report = self.report
        stated = (report.build_s, report.engine_bytes, report.throughput_per_s, report.load_s)
        printed = (report.summaries, report.memory, self.profile, self.inspected)
        return any(printed) or any(figure is not None for figure in stated)


def parse_trtexec_log(data: bytes, source: str) -> tuple[TrtexecLog, Notices]:
    """Return the facts in a log of one trtexec; of several processes those of the last.

    Lines are taken with or without the prefix of time and level; verbose ones are passed over.
    """
    return parse_trtexec_logs(data, source)[-1]


def parse_trtexec_logs(data: bytes, source: str) -> tuple[tuple[TrtexecLog, Notices], ...]:
    """Return the facts of each process in a log, in its order, with their notices."""
    text, notices = log_text(data, source)
    if IS_LOG.search(text) is None:
        why = "no line of trtexec's in it"
        raise FormatError(source, why=why, expected="trtexec's own log, 7.x or later")
    logs = []
    for first, part in _processes(text, source):
        log, own = read_part(part, "trtexec", source, first=first)
        logs.append((log, (*notices, *own)))
    reports = [log.report for log, _ in logs]
    is_told = any(one.options or one.messages or one.device or one.command for one in reports)
    if not is_told and not any(log.has_figures for log, _ in logs):
        unread = [notice.message for _, told in logs for notice in told if notice.code == _UNREAD]
        why = "trtexec wrote it, and no figure in it can be read"
        hint = unread[0] if unread else "log the whole run, down to its summary"
        raise FormatError(source, why=why, hint=hint)
    return tuple(logs)


def read_part(text: str, tool: str, source: str, *, first: int = 1) -> tuple[TrtexecLog, Notices]:
    """Return the facts of one process, or of one engine of a script.

    Args:
        text: Its lines.
        first: Number of its first line in the file.
    """
    reader = _LogReader(tool)
    for line in log_lines(text, first):
        reader.take(line)
    return reader.result(inspected_plan(text)), tuple(reader.notices(source))


def _processes(text: str, source: str) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each process."""
    starts, most = _starts(text)
    cuts = [0, *starts[1:], len(text)]
    parts = [text[at:end] for at, end in pairwise(cuts)]
    ends_twice = len(parts) > 1 and any(len(_ENDED.findall(part)) > 1 for part in parts)
    if len(starts) > most or ends_twice or any(part.count(_DEVICES) > 1 for part in parts):
        processes = "several processes of trtexec wrote this log at the same time"
        why, hint = f"{processes}, so their lines are mixed", "give each process its own log"
        raise FormatError(source, why=why, hint=hint)
    places = [place for at, end in pairwise(cuts) for place in _summaries_from(text, at, end)]
    return parts_at(text, places)


def _summaries_from(text: str, at: int, end: int) -> list[int]:
    """Return where a process begins, and where each further summary in its lines does."""
    titles = [match.start() for match in _SUMMARY.finditer(text, at, end)]
    is_first = not titles or SUMMARY_LINE.search(text, at, titles[0]) is None
    return [at, *titles[is_first:]]


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
_SUMMARY = re.compile(r"^[^=\n]{0,80}=== Performance summary ===", re.MULTILINE)
_DEVICES = "=== Device Information ==="
_ENDED = re.compile(r"^&&&& (?:PASSED|FAILED) TensorRT\b", re.MULTILINE)


class _LogReader:
    def __init__(self, tool: str) -> None:
        self.fields: dict[str, Any] = {"tool": tool}
        self.summaries: dict[str, ReportedSummary] = {}
        self.memory: dict[str, int] = {}
        self.messages: dict[tuple[str, str], LogMessage] = {}
        self.blocks: list[log_facts.Block] = []
        self.queries: dict[str, int] = {}
        self.unread: list[LogLine] = []
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
            self._own(line)

    def _own(self, line: LogLine) -> None:
        text = line.text
        if (title := self.sections.header(text)) is not None:
            self.table = ProfileTable(title) if is_profile_title(title) else self.table
            return
        if self.sections.current is not None and is_profile_title(self.sections.current):
            assert self.table is not None
            self.table.add(text)
            return
        if (version := log_facts.printed_version(text)) is not None:
            self.fields["tool_version"] = version
            self.sections.current = None
            return
        if (block := log_facts.block(text)) is not None:
            self.blocks.append(block)
            self.sections.current = None
        elif not (self.blocks and self.blocks[-1].add(text)):
            self.sections.add(text)
            is_read = self._fact(text) or self.sections.current not in (None, _SUMMARY_TITLE)
            if not is_read and log_facts.has_figure(text):
                self.unread.append(line)

    def _fact(self, text: str) -> bool:
        """Take what a line states; ``False`` if that is nothing known."""
        if (statistics := log_facts.summary(text)) is not None:
            if statistics.metric in self.summaries:
                return False  # without a heading, nothing says whose it is: the first counts
            self.summaries[statistics.metric] = statistics
        elif (found := log_facts.seconds(text)) is not None:
            self.fields[found[0]] = found[1]
        elif (size := log_facts.engine_size(text)) is not None:
            if size[0] <= self.engine_size_rank:
                self.engine_size_rank, self.fields["engine_bytes"] = size
        elif (context := log_facts.context_size(text)) is not None:
            self.fields["context_memory_bytes"] = context
        elif sizes := log_facts.memory(text):
            self.memory.update(sizes)
        elif queries := log_facts.queries(text):
            self.queries.update(queries)
        else:
            return False
        return True

    def _status(self, text: str) -> None:
        if (found := log_facts.status(text)) is None:
            return
        word, version, command = found
        self.has_started |= word == "RUNNING"
        if version is not None:
            self.fields.setdefault("tool_version", version)
        if command is not None:
            self.fields["command"] = command
        self.fields["passed"] = {"PASSED": True, "FAILED": False}.get(word)

    def result(self, inspected: dict[str, Any] | None) -> TrtexecLog:
        options = dict(self.sections.sections)
        facts = options.pop(DEVICE_SECTION, {})
        for block in self.blocks:
            for statistics in block.summaries():
                self.summaries.setdefault(statistics.metric, statistics)
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
            warmup_queries=self.queries.get("warmup_queries"),
            queries=self.queries.get("queries"),
        )

    def notices(self, source: str) -> Iterator[Notice]:
        if self.has_started and self.fields.get("passed") is None:
            message = f"{source} ends before trtexec prints PASSED or FAILED"
            yield Notice("W-LOG-UNFINISHED", message, {"file": source})
        if self.table is not None and self.table.layers and not self.table.is_complete:
            ends = f"{source}: the table of layer times ends before its total"
            message = f"{ends}; layers are missing, and the last name may be cut off"
            evidence = {"file": source, "layers": len(self.table.layers)}
            yield Notice("W-TRUNCATED", message, evidence)
        if lines := [line for line in self.unread if not self.summaries or "min = " in line.text]:
            first = lines[:_SHOWN_LINES]
            shown = "; ".join(f"line {line.number}: {line.text.strip()[:80]}" for line in first)
            left = len(lines) - len(first)
            more = f" and {left:,} more" if left else ""
            message = f"{source} has figures in a layout that enginescope does not read: "
            evidence = {"file": source, "lines": [line.number for line in first]}
            yield Notice(_UNREAD, message + shown + more, evidence)


#: What the builder says when it has finished an engine, and when it begins with one.
_BUILT = re.compile(r"Engine generation completed in ")
_SCRIPT_BEGINS = re.compile(r"^.*(?:Input filename: |Init builder kernel library).*$", re.MULTILINE)
# The logger never states the version; the libraries that it loads have it in their names.
_LIBRARY = re.compile(r"\blibnvinfer\w*\.so\.(\d+\.\d+\.\d+)\b")


def is_script_log(head: str) -> bool:
    """Whether a text has lines of TensorRT's Python logger, or layers as the inspector prints."""
    return IS_SCRIPT_LOG.search(head) is not None or IS_LAYER.search(head) is not None


def parse_script_logs(data: bytes, source: str) -> tuple[tuple[TrtexecLog, Notices], ...]:
    """Return the facts of each engine in a script's log, in its order, with their notices."""
    text, notices = log_text(data, source)
    library = _LIBRARY.search(text)
    version: dict[str, Any] = {"tool_version": library[1]} if library else {}
    logs = []
    for first, part in _engines(text):
        log, own = read_part(part, "tensorrt", source, first=first)
        report = replace(log.report, **version)
        logs.append((replace(log, report=report, backend="trt"), (*notices, *own)))
    if not any(log.has_figures for log, _ in logs):
        why = "TensorRT's logger wrote it, and it holds neither a built engine nor layers"
        hint = "print the inspector's layers, or log a build: trt.Logger(trt.Logger.VERBOSE)"
        raise FormatError(source, why=why, hint=hint)
    return tuple(logs)


def _engines(text: str) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each engine that was built."""
    cuts = [0]
    for built in _BUILT.finditer(text):
        begins = _SCRIPT_BEGINS.search(text, built.end())
        if begins is not None and begins.start() > cuts[-1]:
            cuts.append(begins.start())
    return parts_at(text, cuts)
