"""Runs and rows of suites, which a folder or a name in a store stands for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from enginescope.core.errors import EnginescopeError

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite import CellRow, SuitePlan
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder

#: libpq's, which sends it to any server that asks; ~/.pgpass names the server of each password.
_SENT_TO_ALL = "PGPASSWORD"


def runs_of_suite(suite: SuiteFolder, store: Store, warn: Callable[[str], None]) -> tuple[Run, ...]:
    """Return the runs of a suite's cells: the last processes of each, none of former versions.

    A run that `store` does not have is read from the store that the suite was run with. `warn`
    receives how many runs neither has, and which files of the suite cannot be read.
    """
    result = suite.result()
    for notice in result.notices:
        warn(f"{notice.message} ({notice.code})")
    ids = [run_id for row in result.rows for run_id in row.run_ids]
    missing = [run_id for run_id in ids if not store.has(run_id)]
    other = _store_of(result.plan, missing, store, warn) if missing else None
    stores = [store] if other is None else [store, other]
    runs = [run for run_id in ids if (run := _loaded(run_id, stores)) is not None]
    if len(runs) < len(ids):
        warn(f"{len(ids) - len(runs):,} of {len(ids):,} runs of {suite.path} are not stored here")
    return tuple(runs)


def rows_of_suites(names: Iterable[object], store: Store) -> tuple[CellRow, ...]:
    """Return the rows of the suites among `names`; skip anything else."""
    from enginescope.store.suite_folder import suite_named

    texts = [name for name in names if isinstance(name, str)]
    suites = [suite_named(name, store.suite_home()) for name in texts]
    return tuple(row for suite in suites if suite is not None for row in suite.result().rows)


def _store_of(
    plan: SuitePlan, missing: Sequence[str], here: Store, warn: Callable[[str], None]
) -> Store | None:
    """Return the store that a suite was run with, if it is another store that can be read."""
    from enginescope.store.archive import Store
    from enginescope.store.location import DatabaseUrl, recorded_place

    if plan.store is None or plan.store == str(here.place):
        return None
    try:
        place = recorded_place(plan.store)
        file = place.file if isinstance(place, DatabaseUrl) else place
        if file is not None:
            return Store(place) if file.exists() else None
        if _SENT_TO_ALL in os.environ:
            warn(
                f"the runs of {plan.suite.name} are in {place}, which is not asked for them: "
                f"${_SENT_TO_ALL} would go to whatever machine a suite names; --store URL asks it"
            )
            return None
        store = Store(place)
        store.has(missing[0])  # a server that does not answer is asked once, not for every run
    except EnginescopeError as error:
        warn(f"the store that {plan.suite.name} was run with: {error}")
        return None
    return store


def _loaded(name: str, stores: Iterable[Store]) -> Run | None:
    return next((store.load_id(name) for store in stores if store.has(name)), None)
