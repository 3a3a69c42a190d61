"""What the server has computed: listings while the store is unchanged, figures by run, pages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from enginescope.analysis.verdicts.history import RunFigure, needed_series, run_figure
from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.serve.kept_runs import KeptRuns
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunRow, select

#: Pages together, and figures of runs: some kilobytes each.
MOST_PAGE_BYTES = 64 << 20
MOST_FIGURES = 16_384
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
            if state != self._state or len(self._listings) > _MOST_LISTINGS:
                self._listings = {}
                every = self._store.select(Filter())
                if self._store.notices:  # they are read again: what is wrong may be mended
                    return self._store.select(wanted)
                self._state, self._listings = state, {Filter(): every}
            if wanted not in self._listings:
                self._listings[wanted] = select(list(self._listings[Filter()]), wanted)
            return self._listings[wanted]


class Page(Record, frozen=True, kw_only=True):
    """A page; one that names a problem is not kept, as the problem may be mended.

    Attributes:
        links: Addresses and texts of its bar, where they depend on what it shows.
    """

    data: bytes
    is_kept: bool = True
    links: tuple[tuple[str, str], ...] = ()


class KeptPages:
    """The pages that were asked for last, by everything that they depend on."""

    def __init__(self) -> None:
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._pages: OrderedDict[Hashable, Page] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable | None, make: Callable[[], Page]) -> Page:
        """Return a page, made unless it is kept.

        Args:
            key: ``None``: what the page depends on is not known, and it is not kept.
        """
        if key is None:
            return make()
        kept = self._find(key)
        if kept is not None:
            return kept
        with self._making:  # two at once would only share the processor
            kept = self._find(key)
            if kept is not None:
                return kept
            page = make()
        if page.is_kept:
            with self._lock:
                self._pages[key] = page
                self._size += len(page.data)
                while self._size > MOST_PAGE_BYTES:
                    self._size -= len(self._pages.popitem(last=False)[1].data)
        return page

    def _find(self, key: Hashable) -> Page | None:
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)


class ReadFigures(Record, frozen=True, kw_only=True, eq=False):
    """Figures of the runs that can be read; `notices` name the others."""

    figures: tuple[RunFigure, ...]
    notices: tuple[Notice, ...]


class KeptFigures:
    """What histories need of runs, by run and metric: a run is read once."""

    def __init__(self, kept: KeptRuns) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._figures: OrderedDict[tuple[RunRow, str], RunFigure] = OrderedDict()

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
            figure = self._figures.get(key)
            if figure is not None:
                self._figures.move_to_end(key)
                return figure
        figure = run_figure(self._kept.run(row.id, needed_series(metric)), metric)
        with self._lock:
            self._figures[key] = figure
            if len(self._figures) > MOST_FIGURES:
                self._figures.popitem(last=False)
        return figure
