"""Lines of a tool's log as the tool wrote them: what later hands put around a line is removed.

Times and names that CI, containers and loggers put before each line, quotes and
indents of Markdown, colors, redrawn lines, wrapped lines, and lines joined by a slash.

Sections of lines: printed options, and the table of layer times.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from enginescope.formats.lenient_json import decode_text
from enginescope.formats.log_facts import SUMMARY_METRICS, number
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile

#: Colors and other control sequences of terminals (ECMA-48).
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_STAMP = r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] "
_LEVEL = r"(?:\[TRT\] )?\[[VIWEF]\]"
#: What trtexec prints of a measurement: a line of one of these is known without its prefix.
_HEADINGS = rf"(?:Throughput: [-+\w.]+ qps|(?:{'|'.join(SUMMARY_METRICS)}): min = )"
_TITLES = r"=== (?:Model Options|Performance summary|Inference Options) ==="
_BLOCKS = r"(?:Host [Ll]atency|GPU Compute)\s*$"
_STATUS = r"&&&& (?:RUNNING|PASSED|FAILED) TensorRT\b"
#: Where a line of trtexec's or of TensorRT's logger begins.
_LINE_BEGIN = rf"(?:{_STATUS}|{_STAMP}\[|{_LEVEL} |{_TITLES}|{_HEADINGS}|{_BLOCKS})"
_BEGIN = re.compile(f"^{_LINE_BEGIN}", re.MULTILINE)
_LATE_BEGIN = re.compile(rf"^([^\n]{{1,100}}?){_LINE_BEGIN}", re.MULTILINE)


def log_text(data: bytes, source: str) -> tuple[str, tuple[Notice, ...]]:
    """Return a log as text: as `decode_text`, without colors, its lines ended by line feeds.

    A program that redraws a line ends it with a carriage return. What stands before every line, but
    for its digits the same, is left out.
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


def parts_at(text: str, cuts: Sequence[int]) -> list[tuple[int, str]]:
    """Return the number of its first line and the text of each part that begins at a cut."""
    spans = pairwise((*cuts, len(text)))
    return [(text.count("\n", 0, at) + 1, text[at:end]) for at, end in spans if end > at]


_PREFIX = re.compile(
    rf"^({_STAMP})?(\[TRT\] )?\[([A-Z])\](?(1) ?|(?: |$))(\[TRT\] ?)?(.*)$", re.DOTALL
)
#: Anywhere in a text, at the start of a line: this is a trtexec log.
IS_LOG = re.compile(
    rf"^(?:{_STATUS}|{_STAMP}\[[VIWEF]\]|(?:\[I\] )?(?:{_TITLES}|{_HEADINGS}|{_BLOCKS}))",
    re.MULTILINE,
)

#: What Torch-TensorRT puts before TensorRT's own lines: its logger in Python, and that in C++.
_TORCH = (
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|INTERNAL_ERROR|CRITICAL):"
    r"(?:torch_tensorrt \[[^\]]*Conversion Context\]:| \[Torch-TensorRT[^\]]*Context\] - )"
)
_TORCH_PREFIX = re.compile(_TORCH + "(?P<text>.*)$", re.DOTALL)
_TORCH_LEVELS = {"INTERNAL_ERROR": "F", "CRITICAL": "F"}
#: The same of TensorRT's logger in Python, which puts its name before the level, and of loggers
#: that samples bring along.
IS_SCRIPT_LOG = re.compile(
    rf"^(?:{_STAMP}\[TRT\] \[[VIWEF]\]|\[[VI]\] \[MemUsage[A-Z]|{_TORCH})", re.MULTILINE
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


SUMMARY_LINE = re.compile(_HEADINGS)
#: What follows a summary's line and belongs to it: statistics, or the rest of one.
_CONTINUED = re.compile(r"^(?!\[|=|&&&&|\s*[A-Z])\s*\S.*$")
_JOINED = re.compile(rf" ?[/|;] (?={_HEADINGS})")
#: No summary is wrapped into more lines.
_MOST_WRAPS = 8


def log_lines(text: str, first: int = 1) -> Iterator[LogLine]:
    """Yield the lines that can matter: verbose ones, which are most, are passed over.

    A summary that was wrapped is one line again, and several that were joined are lines each.

    Args:
        first: Number of the first line in its file.
    """
    held: LogLine | None = None
    wraps = 0
    for line in _single_lines(text, first):
        if held is not None:
            is_rest = line.level in (None, held.level) and _CONTINUED.match(line.text)
            if is_rest and wraps < _MOST_WRAPS:
                space = " " if held.text.endswith((",", "=")) else ""
                held, wraps = held._replace(text=f"{held.text}{space}{line.text}"), wraps + 1
                continue
            yield from _apart(held)
            held = None
        if SUMMARY_LINE.match(line.text.lstrip()):
            held, wraps = line, 0
        else:
            yield line
    if held is not None:
        yield from _apart(held)


def _apart(line: LogLine) -> Iterator[LogLine]:
    return (line._replace(text=part) for part in _JOINED.split(line.text))


#: A verbose line that matters: up to 8.5 the builder says so at that level alone.
_BUILT = "Engine generation completed in "


def _single_lines(text: str, first: int) -> Iterator[LogLine]:
    for at, line in enumerate(text.split("\n"), start=first):
        if (line[22:25] == "[V]" or line[22:31] == "[TRT] [V]") and _BUILT not in line:
            continue
        if line[:1] == "[" and (match := _PREFIX.match(line)):
            if match[3] != "V" or _BUILT in line:
                is_library = match[2] is not None or match[4] is not None
                yield LogLine(at, match[3], is_library=is_library, text=match[5])
        elif "Context]" in line and (match := _TORCH_PREFIX.match(line)):
            level = _TORCH_LEVELS.get(match["level"], match["level"][0])
            if level != "D":
                yield LogLine(at, level, is_library=True, text=match["text"])
        else:
            yield LogLine(at, None, is_library=False, text=line)


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
        if self.is_complete:
            return
        if self._has_median is None:
            if "Layer" in text and "(ms)" in text:
                self._has_median = "Median" in text
            return
        row = self._row(text)
        if row and row.name == "Total" and (row.share_pct is None or row.share_pct > 99.9):
            self.is_complete = True
        elif row:
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
        if (match := _HEADER.match(text)) is None:
            return None
        self.current, self._last_key = match[1].strip(), None
        return self.current

    def add(self, text: str) -> None:
        if not text.strip():
            self.current = None
        if self.current is None or self.current.startswith(("Profile (", *_SKIPPED)):
            return
        section = self.sections.setdefault(self.current, {})
        key, colon, value = text.partition(":")
        if colon:
            self._last_key = key.strip()
        if self._last_key is not None:
            added, before = (value if colon else text).strip(), section.get(self._last_key)
            section[self._last_key] = "; ".join(filter(None, (before, added)))
