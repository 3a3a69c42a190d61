"""What pages depend on: as long as it is the same, so is the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from hashlib import sha256

import msgspec
from starlette.requests import Request

from enginescope.serve.list_views import shows_pushes
from enginescope.serve.suites import suite_folder
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.machine_records import FLOORS, SPREADS
from enginescope.store.row import RunRow
from enginescope.store.run_folder import DOCUMENT
from enginescope.store.run_names import changed_at, is_id
from enginescope.store.suite_folder import SuiteFolder, suite_folders


def of_lists(request: Request) -> Hashable | None:
    """Return the state of a page that runs of the store are listed on."""
    state = _store(request).state()
    return None if state is None else (state, shows_pushes(request))


def rows_of(rows: Callable[[Request], tuple[RunRow, ...]]) -> Callable[[Request], Hashable | None]:
    """Return what tells the content of a page on some runs: other runs leave it as it is."""

    def content(request: Request) -> Hashable | None:
        shown = rows(request)
        if _store(request).notices:  # the page names them, or has named them
            return None
        return (sha256(msgspec.json.encode(shown)).digest(), shows_pushes(request))

    return content


def of_home(request: Request) -> Hashable | None:
    """Return the state of the first page, which names the suites too."""
    state, store = of_lists(request), _store(request)
    if state is None:
        return None
    return (state, tuple(folder.path.name for folder in suite_folders(store.suite_home())))


def of_run(request: Request) -> Hashable | None:
    """Return the state of the page of a run."""
    return _of_runs(_store(request), [request.path_params["run_id"]])


def of_comparison(request: Request) -> Hashable | None:
    """Return the state of a comparison of runs."""
    store = _store(request)
    records = changed_at(store.path / FLOORS.file, store.path / SPREADS.file)
    runs = _of_runs(store, request.query_params.getlist("run"))
    return None if records is None or runs is None else (records, runs)


def of_suites(request: Request) -> Hashable | None:
    """Return the state of the list of suites."""
    store = _store(request)
    if isinstance(store.place, DatabaseUrl):
        return None
    states = [_of_suite(store, folder) for folder in suite_folders(store.suite_home())]
    return None if None in states else (tuple(states), shows_pushes(request))


def of_suite(request: Request) -> Hashable | None:
    """Return the state of the page of a suite; its cells lead to runs."""
    state, own = _store(request).state(), _of_asked_suite(request)
    return None if state is None or own is None else (state, own)


def suite_content(request: Request) -> Hashable | None:
    """Return what tells the content of the page of a suite: its state, and which runs it has."""
    store, own = _store(request), _of_asked_suite(request)
    if own is None:
        return None
    rows = suite_folder(store, request.path_params["name"]).result().rows
    known = set(store.ids())
    return (own, tuple(row.run for row in rows if row.run in known))


def _of_asked_suite(request: Request) -> Hashable | None:
    store, name = _store(request), request.path_params["name"]
    folders = {folder.path.name: folder for folder in suite_folders(store.suite_home())}
    return _of_suite(store, folders[name]) if name in folders else None


def _store(request: Request) -> Store:
    store: Store = request.app.state.kept.store
    return store


def _of_runs(store: Store, run_ids: Iterable[str]) -> Hashable | None:
    ids = list(run_ids)
    if isinstance(store.place, DatabaseUrl) or not all(map(is_id, ids)):
        return None
    return changed_at(*(store.runs_folder / one / DOCUMENT for one in ids))


def _of_suite(store: Store, folder: SuiteFolder) -> Hashable | None:
    state, lease = folder.state(), store.suite_lease(folder.path.name)
    if state is None or lease is None:
        return None if state is None else (folder.path.name, state)
    is_running = lease.expires > time.time()
    since = None if is_running else lease.renewed
    return (folder.path.name, state, lease.owner, is_running, since)
