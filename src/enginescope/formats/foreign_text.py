"""Bytes of a foreign text file as text."""

from __future__ import annotations

from enginescope.records.notice import Notice

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decode_text(data: bytes, source: str) -> tuple[str, tuple[Notice, ...]]:
    """Return `data` as text: UTF-8, or UTF-16 where a byte-order mark says so.

    Bytes that are neither are replaced by U+FFFD, and a notice counts them. UTF-16 is what a
    redirection in PowerShell writes.
    """
    encoding = "utf-8"
    for mark, name in _MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], name
            break
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        notice = Notice(
            code="I-ENCODING",
            message=f"{source} has bytes that are not {encoding}; they were replaced",
            evidence={"file": source, "first_byte": error.start, "count": text.count("\ufffd")},
            level="info",
        )
        return text, (notice,)
