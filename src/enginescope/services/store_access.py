"""The store that a verb reads or writes, and the command line that called the service."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.store.location import DatabaseUrl, StorePlace, parse_place, without_password

if TYPE_CHECKING:
    from enginescope.analysis.runs.run_view import RunView
    from enginescope.store.archive import Store
    from enginescope.store.row import Filter, RunRow


def place_of(store: str | PathLike[str] | DatabaseUrl | None) -> StorePlace | None:
    """Parse a ``store`` argument of the Python API; ``None`` is the store of the command line."""
    if store is None or isinstance(store, DatabaseUrl):
        return store
    return parse_place(fspath(store))


def store_at(store: str | PathLike[str] | None) -> Store:
    """Open the store that a ``store`` argument of the Python API names."""
    from enginescope.store.archive import Store

    return Store(place_of(store))


def writable_store(store: str | PathLike[str] | DatabaseUrl | None) -> Store:
    """Open the store of a request, and raise unless it can be written: not after measuring."""
    from enginescope.store.archive import Store

    opened = Store(place_of(store))
    opened.check_writable()
    return opened


def open_run(path: str | PathLike[str]) -> RunView:
    """Open a stored run by its folder or its ``run.json``.

    Raises:
        StoreError, FormatError: There is no run, or it is damaged; the message names the file.
    """
    from enginescope.analysis.runs.run_view import RunView
    from enginescope.store.archive import load_path

    return RunView(load_path(Path(path)))


def selected_rows(store: Store, wanted: Filter, warn: Callable[[str], None]) -> tuple[RunRow, ...]:
    """Return the rows of stored runs, the newest first; `warn` receives which runs are damaged."""
    if wanted.outcome is not None:
        from enginescope.records.run.run import OutcomeKind

        outcomes = [outcome.value for outcome in OutcomeKind]
        if wanted.outcome not in outcomes:
            hint = did_you_mean(wanted.outcome, outcomes)
            raise UsageError(f"there is no outcome {wanted.outcome!r}", hint=hint)
    rows = store.select(wanted)
    for notice in store.notices:
        warn(f"{notice.message} ({notice.code})")
    return rows


def own_command() -> str:
    """Return what repeats a call from Python: its command line, without passwords."""
    return without_password(shlex.join(sys.orig_argv))


def made_now(command: str | None) -> dict[str, Any]:
    """Return the fields of a report that say when it was made, and by which command line."""
    now = datetime.now(timezone.utc)
    return {"created": now.isoformat(timespec="seconds"), "command": command}
