"""trtexec's log, 8.x to 11.x, build or timing, whole or cut off."""

from __future__ import annotations

from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats import log_facts
from enginescope.formats.foreign_text import decode_text
from enginescope.formats.log_lines import IS_LOG, LogLine, log_lines
from enginescope.formats.log_profile import ProfileTable, is_profile_title
from enginescope.formats.log_sections import SectionReader
from enginescope.formats.reported_device import device_of
from enginescope.model.notice import Notice
from enginescope.model.samples import ReportedSummary
from enginescope.model.timing import Profile
from enginescope.model.tool_report import LogMessage, ToolReport

_LEVELS = {"W": "warning", "E": "error", "F": "fatal"}
DEVICE_SECTION = "Device Information"


class TrtexecLog(Record, frozen=True, kw_only=True):
    """What one log holds.

    Attributes
    ----------
    report : ToolReport
    profile : Profile or None
        From the printed table: rounded, and without layers that took no time.
    """

    report: ToolReport
    profile: Profile | None = None


def parse_trtexec_log(data: bytes, source: str) -> tuple[TrtexecLog, tuple[Notice, ...]]:
    """Return the facts in a log of trtexec.

    Lines are taken with or without the prefix of time and level; verbose ones are passed over.

    Parameters
    ----------
    data : bytes
    source : str
        The file, for messages.

    Raises
    ------
    FormatError
        Nothing in it looks like trtexec.
    """
    text, notices = decode_text(data, source)
    if IS_LOG.search(text) is None:
        raise FormatError(
            source, why="no line of trtexec's in it", expected="trtexec's own log, 8.x or later"
        )
    reader = _LogReader()
    for line in log_lines(text):
        reader.take(line)
    return reader.result(), (*notices, *reader.notices(source))


class _LogReader:
    def __init__(self) -> None:
        self.fields: dict[str, Any] = {"tool": "trtexec"}
        self.summaries: dict[str, ReportedSummary] = {}
        self.memory: dict[str, int] = {}
        self.messages: dict[tuple[str, str], LogMessage] = {}
        self.sections = SectionReader()
        self.table: ProfileTable | None = None
        self.engine_size_rank = 99
        self.runs = 0

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
        self.runs += word == "RUNNING"
        if version is not None:
            self.fields.setdefault("tool_version", version)
        if command is not None:
            self.fields["command"] = command
        self.fields["passed"] = {"PASSED": True, "FAILED": False}.get(word)

    def result(self) -> TrtexecLog:
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
        return TrtexecLog(report=report, profile=self.table.profile() if self.table else None)

    def notices(self, source: str) -> list[Notice]:
        found = []
        if self.runs > 1:
            found.append(
                Notice(
                    code="W-SEVERAL-RUNS",
                    message=f"{source} holds {self.runs} runs of trtexec; of each fact the last "
                    "is used",
                    evidence={"file": source, "runs": self.runs},
                )
            )
        if self.runs and self.fields.get("passed") is None:
            found.append(
                Notice(
                    code="W-LOG-UNFINISHED",
                    message=f"{source} ends before trtexec says PASSED or FAILED",
                    evidence={"file": source},
                )
            )
        return found
