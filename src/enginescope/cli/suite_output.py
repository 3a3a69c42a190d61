"""The files that a suite leaves, and what it prints at the end."""

from __future__ import annotations

import sys
from pathlib import Path

from enginescope.analysis.frames import to_parquet
from enginescope.analysis.suite_table import COLUMNS, NUMBERS, tidy_columns
from enginescope.cli.options import note
from enginescope.cli.suite_progress import counts_text
from enginescope.core.errors import MissingDependencyError, StoreError
from enginescope.core.jsonio import encode, write_atomic
from enginescope.model.suite import CellStatus, SuiteResult
from enginescope.render.csv_text import csv_bytes


def write_outputs(result: SuiteResult, folder: Path, *, quiet: bool) -> None:
    """Write a suite's tables into its folder.

    Raises
    ------
    StoreError
        The folder cannot be written.
    """
    columns = tidy_columns(result)
    files = {"results.csv": csv_bytes(COLUMNS, zip(*columns.values(), strict=True))}
    try:
        files["results.parquet"] = to_parquet(columns, numbers=NUMBERS)
    except MissingDependencyError as error:
        if not quiet:
            note(f"no results.parquet: {error.what}; {error.hint}")
    try:
        for name, data in files.items():
            write_atomic(folder / name, data)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}", why=error.strerror or str(error)) from error


def present(result: SuiteResult, folder: Path, *, as_json: bool) -> None:
    """Print a suite's results."""
    if as_json:
        sys.stdout.buffer.write(encode(result))
        sys.stdout.flush()
        return
    counts = {one: result.count(one) for one in CellStatus}
    print(f"{len(result.plan.cells):,} cells: {counts_text(counts)}")
    print(f"files: {folder}")
