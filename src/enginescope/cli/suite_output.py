"""The files that a suite leaves, and what it prints at the end."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from enginescope.analysis.frames import to_parquet
from enginescope.analysis.suite_perf_tables import perf_tables
from enginescope.analysis.suite_table import COLUMNS, NUMBERS, tidy_columns
from enginescope.cli.options import note
from enginescope.core.errors import MissingDependencyError, StoreError
from enginescope.core.jsonio import encode, write_atomic
from enginescope.model.suite import SuiteResult
from enginescope.render.csv_text import csv_bytes
from enginescope.render.suite_page import suite_page

#: Folder of the tables that ONNX Runtime's scripts wrote.
PERF_FOLDER = "ort_perf"


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
    files["suite.html"] = suite_page(result, files["results.csv"])
    stamp = _stamp(result.plan.created)
    for one in perf_tables(result):
        files[f"{PERF_FOLDER}/benchmark_{one.name}_{stamp}.csv"] = csv_bytes(one.headers, one.rows)
    try:
        (folder / PERF_FOLDER).mkdir(exist_ok=True)
        for name, data in files.items():
            write_atomic(folder / name, data)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}", why=error.strerror or str(error)) from error


def present(result: SuiteResult, folder: Path, *, as_json: bool, store: str | None = None) -> None:
    """Print a suite's results.

    Parameters
    ----------
    store : str, optional
        The store, where it was named on the command line: the next command needs it too.
    """
    if as_json:
        sys.stdout.buffer.write(encode(result))
        sys.stdout.flush()
        return
    from enginescope.render.suite_phrases import (
        baseline_sentence,
        counts_sentence,
        options_sentence,
        processes_sentence,
        took_sentence,
        weakness_sentence,
    )
    from enginescope.render.suite_text import suite_tables
    from enginescope.render.text import notice_lines, sentence, show
    from enginescope.render.text_table import table

    print(f"{result.name} · {counts_sentence(result)}\n")
    for one in suite_tables(result, width=shutil.get_terminal_size().columns):
        show(sentence(one.title))
        show(table(one.headers, one.rows, right=one.right))
        if one.left_out:
            show(sentence(f"{one.left_out:,} more in results.csv"))
        print()
    for line in notice_lines(result.notices):
        show(line)
    for say in (
        options_sentence,
        took_sentence,
        processes_sentence,
        weakness_sentence,
        baseline_sentence,
    ):
        explained = say(result)
        if explained:
            show(sentence(explained))
    show(sentence(f"page: {folder / 'suite.html'}"))
    show(sentence(f"files: {folder}"))
    at = f" --store {shlex.quote(store)}" if store else ""
    show(sentence(f"runs: enginescope runs list --tag {result.name}{at}"))


def _stamp(created: str) -> str:
    """Return when the suite was begun as those scripts put it into file names."""
    return "".join(one for one in created[:19] if one.isdigit() or one == "T").replace("T", "-")
