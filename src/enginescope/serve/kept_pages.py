"""What the server has computed: the listing while the store is unchanged, and pages.

A page is the same as long as the state that it depends on is the same.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from hashlib import sha256
from http import HTTPStatus
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from enginescope.serve.kept_runs import SizedCache
from enginescope.serve.list_views import NO_STORE, Packed, packed, shows_pushes
from enginescope.serve.result_pages import suite_folder
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.machine_records import FLOORS, SPREADS
from enginescope.store.row import Filter, RunRow, select
from enginescope.store.run_folder import DOCUMENT
from enginescope.store.run_names import changed_at, is_id
from enginescope.store.suite_folder import SuiteFolder, suite_folders

#: Pages together; each counts with what it takes besides its content.
MOST_PAGE_BYTES = 24 << 20
_PAGE_BYTES = 2048
#: Level of compression: higher ones take longer than they save.
_PAGE_LEVEL = 4
#: States of the store under which pages are known to be as before: a digest each.
_MOST_STATES = 4096


class KeptRows:
    """The listing of a store, read once for as long as nothing in it changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reading = threading.Lock()
        self._state: Hashable | None = None
        self._rows: tuple[RunRow, ...] = ()

    def select(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, as `Store.select` does."""
        if (state := self._store.state()) is None:
            return self._store.select(wanted)
        with self._reading:
            if state != self._state:
                rows = self._store.select(Filter())
                if self._store.notices:  # they are read again: what is wrong may be mended
                    return self._store.select(wanted)
                self._state, self._rows = state, rows
            rows = self._rows
        return rows if wanted == Filter() else select(list(rows), wanted)


Endpoint: TypeAlias = Callable[[Request], Response]


class KeptPages:
    """The pages that were asked for last, compressed, by their addresses and all that they show.

    Keys are digests: none takes more memory than another, whatever is asked for. Pages are found
    here by the event loop, so that one that is made keeps no other waiting. All of it but the
    making runs there: nothing needs a lock.
    """

    def __init__(self) -> None:
        self._pages: SizedCache[bytes, Packed] = SizedCache()
        self._contents: OrderedDict[bytes, bytes] = OrderedDict()
        self._making: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def endpoint(
        self,
        make: Endpoint,
        state: Callable[[Request], Hashable | None],
        content: Callable[[Request], Hashable | None] | None = None,
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that makes a page anew only where it may have become another one.

        Args:
            make: Its page is not kept if it may not be stored, as one that names a problem.
            state: Returns what differs, as text too, once the page does, soon; ``None``: that is
                not known.
            content: Asked where the state is a new one: returns what differs only if the page does,
                however long that takes; ``None``: that is not known.
        """

        async def respond(request: Request) -> Response:
            if (shown := state(request)) is None:
                return await run_in_threadpool(make, request)
            key = _key(request, shown)
            if (page := self._find(key)) is None:
                lock = self._making.setdefault(key, asyncio.Lock())
                async with lock:  # who asks for the same page waits for it
                    if (page := self._find(key)) is None:
                        holds = await run_in_threadpool(content, request) if content else None
                        of_content = key if holds is None else _key(request, holds)
                        if (page := self._find(of_content)) is None:
                            response = await run_in_threadpool(make, request)
                            is_kept = response.headers.get("cache-control") != NO_STORE
                            if response.status_code != HTTPStatus.OK or not is_kept:
                                return response
                            page = await run_in_threadpool(_packed, response)
                        if state(request) == shown:  # nothing has changed meanwhile
                            self._keep(key, page, of_content)
            return page.response(request)

        return respond

    def _find(self, key: bytes) -> Packed | None:
        return self._pages.get(self._contents.get(key, key))

    def _keep(self, key: bytes, page: Packed, holds: bytes) -> None:
        """Keep a page by what it holds, which is its state where that is not known."""
        if holds != key:
            self._contents[key] = holds
            while len(self._contents) > _MOST_STATES:
                self._contents.popitem(last=False)
        self._pages.put(holds, page, len(page.data) + _PAGE_BYTES, MOST_PAGE_BYTES)


def _key(request: Request, state: Hashable) -> bytes:
    address = (request.scope["path"], request.scope["query_string"])
    return sha256(repr((address, shows_pushes(request), state)).encode()).digest()


def _packed(response: Response) -> Packed:
    policy = "content-security-policy"
    headers = {policy: response.headers[policy]} if policy in response.headers else {}
    return packed(bytes(response.body), "text/html", headers, _PAGE_LEVEL)


def of_lists(request: Request) -> Hashable | None:
    """Return the state of a page that runs of the store are listed on."""
    return _store(request).state()


def rows_of(rows: Callable[[Request], tuple[RunRow, ...]]) -> Callable[[Request], Hashable | None]:
    """Return what tells the content of a page on some runs: other runs leave it as it is."""

    def content(request: Request) -> Hashable | None:
        shown = rows(request)
        if _store(request).notices:  # the page names them, or has named them
            return None
        return sha256(msgspec.json.encode(shown)).digest()

    return content


def of_home(request: Request) -> Hashable | None:
    """Return the state of the first page: what is known of jobs and suites changes it too."""
    store = _store(request)
    states = (store.state(), of_suites(request), changed_at(store.path / FLOORS.file))
    return None if None in states else (*states, request.app.state.overview.version)


def of_run(request: Request) -> Hashable | None:
    """Return the state of the page of a run."""
    return _of_runs(_store(request), [request.path_params["run_id"]])


def of_comparison(request: Request) -> Hashable | None:
    """Return the state of a comparison of two runs, or of the runs of a tag."""
    store = _store(request)
    records = changed_at(store.path / FLOORS.file, store.path / SPREADS.file)
    is_tag = "tag" in request.query_params
    runs = store.state() if is_tag else _of_runs(store, request.query_params.getlist("run"))
    return None if records is None or runs is None else (records, runs)


def of_suites(request: Request) -> Hashable | None:
    """Return the state of the list of suites."""
    store = _store(request)
    if isinstance(store.place, DatabaseUrl):
        return None
    states = tuple(_of_suite(store, folder) for folder in suite_folders(store.suite_home()))
    return None if None in states else states


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
    return (folder.path.name, state, lease.owner, is_running, None if is_running else lease.renewed)
