"""What the server has computed: listings while the store is unchanged, and pages."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from hashlib import sha256
from http import HTTPStatus
from typing import TypeAlias
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from enginescope.core.record import Record
from enginescope.serve.assets import Packed, packed
from enginescope.serve.list_views import NO_STORE
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunRow, select

#: Pages together; each counts with what it takes besides its content.
MOST_PAGE_BYTES = 24 << 20
_PAGE_BYTES = 2048
#: Level of compression: higher ones take longer than they save.
_PAGE_LEVEL = 4
_MOST_LISTINGS = 128
#: Rows of all listings together, beside those of the whole store.
_MOST_LISTED = 1 << 20
#: States of the store under which pages are known to be as before: a digest each.
_MOST_STATES = 4096


class KeptRows:
    """Listings of a store, read once for as long as nothing in it changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reading = threading.Lock()
        self._state: Hashable | None = None
        self._listings: dict[Filter, tuple[RunRow, ...]] = {}

    def select(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, as `Store.select` does."""
        state = self._store.state()
        if state is None:
            return self._store.select(wanted)
        with self._reading:
            if state != self._state:
                self._listings = {}
                every = self._store.select(Filter())
                if self._store.notices:  # they are read again: what is wrong may be mended
                    return self._store.select(wanted)
                self._state, self._listings = state, {Filter(): every}
            if wanted not in self._listings:
                every = self._listings[Filter()]
                listed = sum(map(len, self._listings.values())) - len(every)
                if len(self._listings) >= _MOST_LISTINGS or listed >= _MOST_LISTED:
                    self._listings = {Filter(): every}
                self._listings[wanted] = select(list(every), wanted)
            return self._listings[wanted]


Endpoint: TypeAlias = Callable[[Request], Response]


class KeptPages:
    """The pages that were asked for last, compressed, by their addresses and all that they show.

    Keys are digests: none takes more memory than another, whatever is asked for. Pages are found
    here by the event loop, so that one that is made keeps no other waiting. All of it but the
    making runs there: nothing needs a lock.
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[bytes, _PackedPage] = OrderedDict()
        self._contents: OrderedDict[bytes, bytes] = OrderedDict()
        self._making: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._size = 0

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
            shown = state(request)
            if shown is None:
                return await run_in_threadpool(make, request)
            key = _key(request, shown)
            page = self._find(key)
            if page is None:
                lock = self._making.setdefault(key, asyncio.Lock())
                async with lock:  # who asks for the same page waits for it
                    page = self._find(key)
                    if page is None:
                        holds = await run_in_threadpool(content, request) if content else None
                        of_content = key if holds is None else _key(request, holds)
                        page = self._find(of_content) if holds is not None else None
                        if page is None:
                            response = await run_in_threadpool(make, request)
                            if not _may_be_kept(response):
                                return response
                            page = await run_in_threadpool(_packed, response)
                        if state(request) == shown:  # nothing has changed meanwhile
                            self._keep(key, page, of_content)
            return page.response(request)

        return respond

    def _find(self, key: bytes) -> _PackedPage | None:
        key = self._contents.get(key, key)
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key)

    def _keep(self, key: bytes, page: _PackedPage, holds: bytes) -> None:
        """Keep a page by what it holds, which is its state where that is not known."""
        if holds != key:
            self._contents[key] = holds
            while len(self._contents) > _MOST_STATES:
                self._contents.popitem(last=False)
        if holds not in self._pages:
            self._pages[holds] = page
            self._size += page.size
        while self._size > MOST_PAGE_BYTES:
            self._size -= self._pages.popitem(last=False)[1].size


def _key(request: Request, state: Hashable) -> bytes:
    address = (request.scope["path"], request.scope["query_string"])
    return sha256(repr((address, state)).encode()).digest()


class _PackedPage(Record, frozen=True, kw_only=True):
    """A page and the headers that it brings."""

    content: Packed
    headers: dict[str, str]

    @property
    def size(self) -> int:
        return len(self.content.data) + _PAGE_BYTES

    def response(self, request: Request) -> Response:
        return self.content.response(request, self.headers)


def _may_be_kept(response: Response) -> bool:
    cache = response.headers.get("cache-control")
    return response.status_code == HTTPStatus.OK and cache != NO_STORE


def _packed(response: Response) -> _PackedPage:
    policy = "content-security-policy"
    headers = {policy: response.headers[policy]} if policy in response.headers else {}
    content = packed(bytes(response.body), "text/html", _PAGE_LEVEL)
    return _PackedPage(content=content, headers=headers)
