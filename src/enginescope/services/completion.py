"""Words that a shell completes: runs, tags, backends, rules, codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace
    from enginescope.store.row import RunRow

#: The newest runs that are offered.
_MOST_RUNS = 50


def tags(place: StorePlace | None) -> Iterable[str]:
    return [tag for row in _rows(place) for tag in row.tags]


def runs(place: StorePlace | None) -> Iterable[str]:
    """Return `latest`, and the ids and tags of the newest runs."""
    return ["latest", *(row.id for row in _rows(place)), *tags(place)]


def backends(_place: StorePlace | None) -> Iterable[str]:
    from enginescope.backends.registry import backend_names

    return backend_names()


def formats(_place: StorePlace | None) -> Iterable[str]:
    from enginescope.services.store.export_runs import export_formats

    return export_formats()


def rules(_place: StorePlace | None) -> Iterable[str]:
    from enginescope.rules.catalogue import every_rule

    return [word for rule in every_rule() for word in (rule.code, rule.name)]


def codes(_place: StorePlace | None) -> Iterable[str]:
    from enginescope.services.explain import explanations

    return [one.code for one in explanations()]


def _rows(place: StorePlace | None) -> tuple[RunRow, ...]:
    """Return the newest rows of a local store; a database could keep the shell waiting."""
    from enginescope.store.archive import Store
    from enginescope.store.location import DatabaseUrl
    from enginescope.store.row import Filter

    store = Store(place)
    if isinstance(store.place, DatabaseUrl) or not store.runs_folder.is_dir():
        return ()
    return store.select(Filter(limit=_MOST_RUNS))
