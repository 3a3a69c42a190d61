"""The file of an experiment: a header, then a line for every measurement as it ends.

A line that a kill cut off is dropped when the experiment is continued.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enginescope.judge.errors import UsageError


class Journal:
    """Appends JSON lines to a file; what `append` has returned of is on the disk.

    Args:
        header: What identifies the experiment; a file that exists must have the same.

    Attributes:
        rows: What the file had when it was opened, without the header.

    Raises:
        UsageError: The file is of another experiment, or not such a file.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.rows: tuple[dict[str, Any], ...] = ()
        if not path.exists() or not path.stat().st_size:
            path.write_text("", encoding="utf-8")
            self.append(header)
            return
        first, *rows = (*_lines(path), None) if path.stat().st_size else (None,)
        if first is None:
            raise UsageError(f"{path} is not a file of an experiment", hint="name another file")
        differing = [key for key in header if first.get(key) != header[key]]
        if differing:
            key = differing[0]
            raise UsageError(
                f"{path} has another experiment",
                why=f"{key} was {first.get(key)!r} and is {header[key]!r}",
                hint="name another file, or ask for the same again",
            )
        self.rows = tuple(row for row in rows if row is not None)

    def append(self, row: dict[str, Any]) -> None:
        """Write a line, and wait until it is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a file, and cut off what follows the first broken one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror) from error
    whole = 0
    for line in data.splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            break
        whole += len(line)
        yield row
    if whole and whole < len(data):
        os.truncate(path, whole)
