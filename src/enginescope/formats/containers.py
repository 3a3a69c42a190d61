"""Documents in a file: what a file wraps around JSON is unpacked here, before any reader sees it.

JSON values one after another, with or without lines between them; JSON in Markdown and among other
lines; JSON inside JSON strings; and the texts in JSON, such as the outputs of a notebook or the
lines of a container's log, which may hold a log or JSON again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.record import replace
from enginescope.formats.lenient_json import Document, decode_text, end_of_value, read_json

#: Where a value may begin: at the start of a line, or right behind the value before.
_START = re.compile(r"(?:^|(?<=[\]}]))[ \t,]*(?=[{\[])", re.MULTILINE)
#: The same, where the line goes on as JSON does: most texts have no such line.
_LIKELY = re.compile(r"^[ \t]*(?:\{\s*[\"}]|\[\s*[\[{\"\d-])", re.MULTILINE)
_STARTS = ("{", "[", '"')
#: A log's line, not a list.
_LOG_LINE = re.compile(r"\[(?:\d\d/\d\d/\d{4}-|TRT\]|[A-Z]\] )")


def may_hold_json(text: str) -> bool:
    """Whether a text is JSON, or has some among its lines."""
    return text.lstrip().startswith(_STARTS) or _LIKELY.search(text) is not None


def documents_of(data: bytes, source: str, *, is_log: bool) -> tuple[Document, ...]:
    """Return the JSON values of a file, in its order; none if it is a log or another text.

    Args:
        is_log: Whether the text is a known log, so that JSON among its lines is a part of it.
    """
    if data.lstrip()[:1] in (b"{", b"[", b'"'):
        try:
            return (Document(source=source, value=msgspec.json.decode(data)),)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    text, notices = decode_text(data, source)
    begin = text[:4096].lstrip()
    is_json = begin.startswith(_STARTS) and not _LOG_LINE.match(begin)
    if not is_json and (is_log or _LIKELY.search(text) is None):
        return ()
    spans = tuple(_spans(text))
    if is_json and is_log and not _is_all(text, spans):
        return ()
    if is_json and len(spans) < 2:
        return (read_json(data, source),)
    documents = tuple(_decoded(text, spans, source, is_lenient=is_json))
    if not documents:
        return ()
    first, *rest = documents
    return (replace(first, notices=(*notices, *first.notices)), *rest)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each value; the last may be cut off."""
    at = 0
    while match := _START.search(text, at):
        end = end_of_value(text, match.end())
        yield match.end(), len(text) if end is None else end
        at = len(text) if end is None else max(end, match.end() + 1)


def _is_all(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether nothing stands between the values."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return not any(
        text[end:start].strip(" \t\r\n,") for end, start in zip(ends, starts, strict=True)
    )


def _decoded(
    text: str, spans: Sequence[tuple[int, int]], source: str, *, is_lenient: bool
) -> Iterator[Document]:
    """Yield the values that can be read; among other lines only objects and lists of these."""
    for start, end in spans:
        piece = text[start:end].encode("utf-8", "replace")
        try:
            if is_lenient:
                yield read_json(piece, source)
                continue
            value = msgspec.json.decode(piece)
        except (FormatError, msgspec.DecodeError, RecursionError):
            continue
        if isinstance(value, dict) or (value and isinstance(value[0], dict)):
            yield Document(source=source, value=value)


def joined(documents: Sequence[Document]) -> Document:
    """Return values one after another as one list: an object a line, or a layer each."""
    notices = tuple(notice for document in documents for notice in document.notices)
    values = [document.value for document in documents]
    return Document(source=documents[0].source, value=values, notices=notices)


def texts_within(value: Any) -> Iterator[str]:
    """Yield the strings in a value; a list of strings is one text, as in notebooks."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list) and part and all(isinstance(line, str) for line in part):
            yield "".join(part) if part[0].endswith("\n") else "\n".join(part)
        elif isinstance(part, (list, dict)):
            children = list(part.values()) if isinstance(part, dict) else part
            pending += reversed(children)
