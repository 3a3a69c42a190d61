"""Open a suite that ran, finished or not.

The tables and the page that a suite's folder gets.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from enginescope.analysis.frames import to_parquet
from enginescope.analysis.suites.suite_perf_tables import perf_tables
from enginescope.analysis.suites.suite_table import COLUMNS, NUMBERS, tidy_columns
from enginescope.analysis.suites.suite_view import SuiteView
from enginescope.core.errors import MissingDependencyError, StoreError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.core.suggest import closest
from enginescope.records.suite.suite import SuiteResult
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.suites.suite_page import suite_page
from enginescope.services.store_access import store_at
from enginescope.services.suites.observer import SuiteObserver
from enginescope.store.suite_folder import suite_folders, suite_named


def open_suite(name: str | PathLike[str], *, store: str | PathLike[str] | None = None) -> SuiteView:
    """Open a suite that ran, finished or not.

    Args:
        name: Name of the suite in the store, or its folder.
        store: Folder or database of runs; by default ``$ENGINESCOPE_HOME``, else the platform's.

    Raises:
        UsageError: The store has no such suite.
        FormatError: The suite's plan cannot be read.
    """
    text = fspath(name)
    home = store_at(store).suite_home()
    folder = suite_named(text, home)
    if folder is None:
        names = [known.path.name for known in suite_folders(home)]
        near = closest(text, names)
        raise UsageError(
            f"no suite {text!r}",
            why=f"{home} has {', '.join(names) if names else 'none'}",
            hint=f"did you mean {near}?" if near else "enginescope suite SUITE runs one",
        )
    return SuiteView(folder.result())


#: Folder of the tables that ONNX Runtime's scripts wrote.
PERF_FOLDER = "ort_perf"


def write_tables(result: SuiteResult, folder: Path, observer: SuiteObserver) -> None:
    """Write a suite's tables and page into its folder.

    Raises:
        StoreError: The folder cannot be written.
    """
    columns = tidy_columns(result)
    files = {"results.csv": csv_bytes(COLUMNS, zip(*columns.values(), strict=True))}
    try:
        files["results.parquet"] = to_parquet(columns, numbers=NUMBERS)
    except MissingDependencyError as error:
        observer.table_skipped("results.parquet", f"{error.what}; {error.hint}")
    files["suite.html"] = suite_page(result, files["results.csv"])
    # the scripts' form of a time in file names: 20260131-235959
    digits = "".join(sign for sign in result.plan.created[:19] if sign.isdigit() or sign == "T")
    stamp = digits.replace("T", "-")
    for table in perf_tables(result):
        name = f"{PERF_FOLDER}/benchmark_{table.name}_{stamp}.csv"
        files[name] = csv_bytes(table.headers, table.rows)
    try:
        (folder / PERF_FOLDER).mkdir(exist_ok=True)
        for name, data in files.items():
            write_atomic(folder / name, data)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}", why=error.strerror or str(error)) from error
