"""CSV that spreadsheets open without running anything."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

#: A text cell that begins so may be taken for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_bytes(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows as CSV: UTF-8, one header line, line feeds at line ends.

    Numbers are written in full, ``None`` as an empty cell, truth as ``true`` and ``false``. Text
    that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue().encode()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = f"'{value}" if value.startswith(_FORMULA) else value
        # The writer leaves a bare carriage return unquoted, and readers end the row there.
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return value
