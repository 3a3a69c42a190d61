"""The runs and rows of suites, by what names a suite: its folder, or its name in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import StoreError

if TYPE_CHECKING:
    from enginescope.model.run import Run
    from enginescope.model.suite import CellRow
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder


def runs_of_suite(suite: SuiteFolder, store: Store, say: Callable[[str], None]) -> tuple[Run, ...]:
    """Return the runs of a suite's cells: the last processes of each, none of former versions.

    Parameters
    ----------
    store : Store
        Where they are looked for; then in the store that the suite was run with.
    say : callable (str)
        Is told how many are not there any more.
    """
    from enginescope.store.archive import Store

    result = suite.result()
    ids = [name for one in result.rows for name in one.run_ids]
    home = result.plan.store
    stores = [store, *([Store(Path(home))] if home and Path(home).is_dir() else [])]
    found = [run for name in ids if (run := _loaded(name, stores)) is not None]
    if len(found) < len(ids):
        say(f"{len(ids) - len(found):,} of {len(ids):,} runs of {suite.path} are not stored here")
    return tuple(found)


def rows_of_suites(names: Iterable[str], store: Store) -> tuple[CellRow, ...]:
    """Return the rows of the suites among `names`; other names have none."""
    from enginescope.store.suite_folder import suite_named

    found = [suite_named(name, store.suite_home()) for name in names]
    return tuple(row for one in found if one is not None for row in one.result().rows)


def _loaded(name: str, stores: Iterable[Store]) -> Run | None:
    for one in stores:
        try:
            return one.load(name)
        except StoreError:
            continue
    return None
