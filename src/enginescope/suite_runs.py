"""The runs and rows of suites, by what names a suite: its folder, or its name in a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from enginescope.core.errors import EnginescopeError

if TYPE_CHECKING:
    from enginescope.model.run import Run
    from enginescope.model.suite import CellRow, SuitePlan
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder

#: libpq's, which sends it to any server that asks; ~/.pgpass names the server of each password.
_SENT_TO_ALL = "PGPASSWORD"


def runs_of_suite(suite: SuiteFolder, store: Store, say: Callable[[str], None]) -> tuple[Run, ...]:
    """Return the runs of a suite's cells: the last processes of each, none of former versions.

    Parameters
    ----------
    store : Store
        Where they are looked for; then in the store that the suite was run with.
    say : callable (str)
        Is told how many are not there any more, and what of the suite cannot be read.
    """
    result = suite.result()
    for one in result.notices:
        say(f"{one.message} ({one.code})")
    ids = [name for one in result.rows for name in one.run_ids]
    missing = [one for one in ids if not store.has(one)]
    other = _store_of(result.plan, missing, store, say) if missing else None
    stores = [store] if other is None else [store, other]
    found = [run for name in ids if (run := _loaded(name, stores)) is not None]
    if len(found) < len(ids):
        say(f"{len(ids) - len(found):,} of {len(ids):,} runs of {suite.path} are not stored here")
    return tuple(found)


def rows_of_suites(names: Iterable[str], store: Store) -> tuple[CellRow, ...]:
    """Return the rows of the suites among `names`; other names have none."""
    from enginescope.store.suite_folder import suite_named

    found = [suite_named(name, store.suite_home()) for name in names]
    return tuple(row for one in found if one is not None for row in one.result().rows)


def _store_of(
    plan: SuitePlan, missing: Sequence[str], here: Store, say: Callable[[str], None]
) -> Store | None:
    """Return the store that a suite was run with, where it is another one and can be read."""
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
            say(
                f"the runs of {plan.suite.name} are in {place}, which is not asked for them: "
                f"${_SENT_TO_ALL} would go to whatever machine a suite names; --store URL asks it"
            )
            return None
        store = Store(place)
        store.has(missing[0])  # a server that does not answer is asked once, not for every run
    except EnginescopeError as error:
        say(f"the store that {plan.suite.name} was run with: {error}")
        return None
    return store


def _loaded(name: str, stores: Iterable[Store]) -> Run | None:
    for one in stores:
        if one.has(name):
            return one.load_id(name)
    return None
