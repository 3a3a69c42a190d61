"""What the server has computed: listings while the store is unchanged, figures by run, pages."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from enginescope.analysis.verdicts.history import RunFigure, needed_series, run_figure
from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.serve.assets import Packed, packed
from enginescope.serve.kept_runs import KeptRuns
from enginescope.serve.list_views import NO_STORE
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunRow, select

#: Pages together; each counts with what it takes besides its content.
MOST_PAGE_BYTES = 24 << 20
_PAGE_BYTES = 2048
#: Level of compression: higher ones take longer than they save.
_PAGE_LEVEL = 4
#: Figures of runs together; what each takes by itself, and what the objects of a text take of it.
MOST_FIGURE_BYTES = 32 << 20
_FIGURE_BYTES = 1024
_OF_TEXT = 4
_MOST_PARTS = 1024
_MOST_LISTINGS = 128


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
                if len(self._listings) >= _MOST_LISTINGS:
                    self._listings = {Filter(): self._listings[Filter()]}
                self._listings[wanted] = select(list(self._listings[Filter()]), wanted)
            return self._listings[wanted]


Endpoint: TypeAlias = Callable[[Request], Response]


class KeptPages:
    """The pages that were asked for last, compressed, by their addresses and all that they show.

    Pages are found here by the event loop, so that one that is made keeps no other waiting. All of
    it but the making runs there: nothing needs a lock.
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, _PackedPage] = OrderedDict()
        self._making: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._size = 0

    def endpoint(
        self, make: Endpoint, state: Callable[[Request], Hashable | None]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that makes a page anew only where it may have become another one.

        Args:
            make: Its page is not kept if it may not be stored, as one that names a problem.
            state: Returns what differs once the page does, soon; ``None``: that is not known.
        """

        async def respond(request: Request) -> Response:
            shown = state(request)
            if shown is None:
                return await run_in_threadpool(make, request)
            key = (request.scope["path"], request.scope["query_string"], shown)
            page = self._find(key)
            if page is None:
                lock = self._making.setdefault(key, asyncio.Lock())
                async with lock:  # who asks for the same page waits for it
                    page = self._find(key)
                    if page is None:
                        response = await run_in_threadpool(make, request)
                        if not _may_be_kept(response):
                            return response
                        page = await run_in_threadpool(_packed, response)
                        if state(request) == shown:  # nothing has changed meanwhile
                            self._keep(key, page)
            return page.response(request)

        return respond

    def _find(self, key: Hashable) -> _PackedPage | None:
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key)

    def _keep(self, key: Hashable, page: _PackedPage) -> None:
        self._pages[key] = page
        self._size += page.size
        while self._size > MOST_PAGE_BYTES:
            self._size -= self._pages.popitem(last=False)[1].size


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


class ReadFigures(Record, frozen=True, kw_only=True, eq=False):
    """Figures of the runs that can be read; `notices` name the others."""

    figures: tuple[RunFigure, ...]
    notices: tuple[Notice, ...]


class KeptFigures:
    """What histories need of runs, by run and metric: a run is read once."""

    def __init__(self, kept: KeptRuns) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._figures: OrderedDict[tuple[RunRow, str], tuple[RunFigure, int]] = OrderedDict()
        self._parts: OrderedDict[bytes, Any] = OrderedDict()
        self._size = 0

    def read(self, rows: Sequence[RunRow], metric: str) -> ReadFigures:
        """Return the figures of runs; one that cannot be read is named, and hides no other."""
        figures, notices = [], []
        for row in rows:
            try:
                figures.append(self._figure(row, metric))
            except (FormatError, StoreError) as error:
                message = f"run {row.id} is skipped: {error}"
                if error.hint:
                    message += f"; {error.hint}"
                notices.append(Notice(code="W-BROKEN-RUN", message=message))
        return ReadFigures(figures=tuple(figures), notices=tuple(notices))

    def _figure(self, row: RunRow, metric: str) -> RunFigure:
        key = (row, metric)
        with self._lock:
            if key in self._figures:
                self._figures.move_to_end(key)
                return self._figures[key][0]
        figure = run_figure(self._kept.run(row.id, needed_series(metric)), metric)
        with self._lock:
            figure, size = self._shared(figure)
            self._size += size - self._figures.get(key, (figure, 0))[1]
            self._figures[key] = (figure, size)
            while self._size > MOST_FIGURE_BYTES:
                self._size -= self._figures.popitem(last=False)[1][1]
        return figure

    def _shared(self, figure: RunFigure) -> tuple[RunFigure, int]:
        """Return a figure that shares parts of its run with others, and the bytes it adds."""
        size, same = _FIGURE_BYTES, {}
        for name in ("job", "environment", "inputs", "tool", "build"):
            text = name.encode() + msgspec.json.encode(getattr(figure.run, name))
            if text not in self._parts:
                self._parts[text] = getattr(figure.run, name)
                size += _OF_TEXT * len(text)
            self._parts.move_to_end(text)
            same[name] = self._parts[text]
        while len(self._parts) > _MOST_PARTS:
            self._parts.popitem(last=False)
        return replace(figure, run=replace(figure.run, **same)), size
