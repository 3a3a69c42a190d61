"""What a presenter may not say: an offence is found in its text or its document."""

import re
from collections.abc import Iterator
from typing import Any

from enginescope.judge.samples import Summary
from enginescope.judge.verdict import Reason

#: ``p99 7.80 ms`` or ``p99 latency 7.80 ms`` in prose, and what follows.
_STATED = re.compile(
    r"\bp(\d+(?:\.\d+)?)(?: latency)?[:,]? (\d[\d.,]*)(?: … [\d.,]+)? m?s\b(.{0,60})"
)
_INTERVAL = re.compile(r" ?\(?95 % CI \d")
_MARKED = re.compile(
    r" ?→ [\d.,]+ m?s, .*?% CI \S+ … |"  # a change with its interval
    r" ?\(?(\d[\d,]* of [\d,]+ effective samples needed|p[\d.]+ has too few|no interval: )"
    r"|,? ?in \d+ processes"
)
#: A cell with its interval, a marked one, one without a figure.
_CELL = re.compile(r".*( … .*| \*)$|—?$")
_NUMBER = re.compile(r"[\d.,]+( m?s\b|$)")
_COLUMN = re.compile(r"p\d+(\.\d+)?(, ms| ms)?$")
_ROW = re.compile(r"p\d+(\.\d+)?( latency)?")
_CODES = tuple(reason.value for reason in Reason if "-" in reason.value)
#: Words that would be a second one for a verdict.
_SECOND_WORDS = (
    *("undecided", "are the same within", "is no faster", "significant"),
    *("equivalent", "indistinguishable", "cannot be told"),
)


def bare_percentiles(made: Any, latency: Summary | None = None) -> Iterator[str]:
    """Yield each percentile that has neither its interval nor a mark.

    Args:
        latency: Its percentiles that have a mark are not stated with an interval alone.
    """
    if isinstance(made, str):
        yield from _in_prose(made, latency)
        yield from _in_tables(made)
    else:
        yield from _in_document(made)


def _in_prose(text: str, latency: Summary | None) -> Iterator[str]:
    for found in _STATED.finditer(text):
        p, after = float(found[1]), found[3]
        known = latency.percentile(p) if latency else None
        is_sure = _INTERVAL.match(after) is not None
        is_marked = _MARKED.match(after) is not None
        if not (is_sure or is_marked) or (is_sure and known is not None and known.mark):
            yield found[0]


def _in_tables(text: str) -> Iterator[str]:
    columns: dict[int, str] = {}
    for line in text.splitlines():
        cells = _cells(line)
        if any(map(_COLUMN.match, cells)) and not any(map(_NUMBER.match, cells)):
            columns = {at: cell for at, cell in enumerate(cells) if _COLUMN.match(cell)}
            continue
        if len(cells) < 2:
            columns = {}
        for at in columns.keys() & set(range(len(cells))):
            if not _CELL.match(cells[at]) and not set(cells[at]) <= set("-: ─"):
                yield f"{columns[at]}: {cells[at]}"
        named = [cell for cell in cells if _ROW.fullmatch(cell)]
        named = named if any(map(_NUMBER.fullmatch, cells)) else []
        if named and not columns and not re.search(r" … | \*|needed|too few|no interval", line):
            yield line


def _cells(line: str) -> list[str]:
    if "|" in line:
        return [cell.strip().replace("\\", "") for cell in line.strip().strip("|").split("|")]
    return re.split(r"\s{2,}", line.strip())


def _in_document(made: Any, place: str = "") -> Iterator[str]:
    if isinstance(made, list):
        for at, one in enumerate(made):
            yield from _in_document(one, f"{place}[{at}]")
    if not isinstance(made, dict):
        return
    if {"p", "value_ms"} <= made.keys():
        has_interval = made.get("interval") or made.get("low_ms")
        if not has_interval and not made.get("mark"):
            yield f"{place}: {made}"
    for name, value in made.items():
        column = re.fullmatch(r"(p\d+(?:\.\d+)?)(_ms)?", name)
        if column and value not in ("", None):
            ends = (f"{column[1]}_low_ms", f"{column[1]}_low", f"{column[1]}_interval")
            sure = any(made.get(end) for end in ends)
            if not sure and not made.get(f"{column[1]}_mark"):
                yield f"{place}.{name}"
        yield from _in_document(value, f"{place}.{name}")


def second_words(made: Any) -> Iterator[str]:
    """Yield words that are a second name of a verdict, and codes in tables for people."""
    if not isinstance(made, str):
        return
    for word in _SECOND_WORDS:
        if word in made.lower():
            yield word
    for found in re.finditer(r"no difference(?! above [\d.,]+ )(.{0,30})", made, re.IGNORECASE):
        yield found[0]
    for line in made.splitlines():
        yield from (cell for cell in _cells(line) if cell in _CODES)
    yield from re.findall(r"(?<=[ |(])-\d[\d.,]* (?:%|ms)", made)
