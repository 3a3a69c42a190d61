"""Stores runs as they end; a run that cannot be stored is kept in memory, and its figures stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enginescope.core.errors import StoreError, reason_of

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.store.archive import Store


class RunKeeper:
    """Stores runs, and remembers those that the store could not take."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lost: list[Run] = []
        self._why = ""

    def keep(self, run: Run, tags: Sequence[str] = ()) -> None:
        """Store a run; never raises for a store that cannot be written."""
        try:
            self._store.save(run, tags=tags)
        except StoreError as error:
            self._lose(run, error.why or str(error))
        except OSError as error:
            self._lose(run, reason_of(error))

    def _lose(self, run: Run, why: str) -> None:
        self._lost.append(run)
        self._why = why

    def stored(self, run: Run) -> Run:
        """Return the run as it is in the store; one that is not there as it was measured."""
        return run if run in self._lost else self._store.load(run.id)

    @property
    def lost(self) -> tuple[Run, ...]:
        """The runs that are not stored."""
        return tuple(self._lost)

    @property
    def message(self) -> str | None:
        """What was not stored, where and why, and the next step; ``None``: all runs are stored."""
        if not self._lost:
            return None
        count = "1 run was" if len(self._lost) == 1 else f"{len(self._lost)} runs were"
        ids = ", ".join(one.id for one in self._lost[:3]) + (" …" if len(self._lost) > 3 else "")
        return (
            f"{count} measured but not stored in {self._store.path} ({ids}): {self._why}; "
            "the figures above are complete; make space or name another store, and run it again"
        )
