"""Files that a verb writes, and a note on standard error for each."""

from __future__ import annotations

from pathlib import Path

from enginescope.cli.options import note
from enginescope.services.output_files import check_outputs, write_file

__all__ = ["check_outputs", "write_output"]


def write_output(path: Path, data: bytes) -> None:
    """Write a file that was asked for, and note it.

    Raises:
        UsageError: The file cannot be written.
    """
    write_file(path, data)
    note(f"written: {path}")
