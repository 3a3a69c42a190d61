"""What a store has acknowledged, and whether it still has it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from enginescope.core.errors import EnginescopeError, StoreError
from enginescope.core.record import replace
from enginescope.records.run.run import Run
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from tests.store.stored_runs import plain


def digest_of(run: Run) -> str:
    """SHA-256 of everything in a run but its tags and where its files are."""
    same = replace(run, tags=(), artifacts=(), notices=())
    return hashlib.sha256(json.dumps(plain(same), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Event:
    """One fault, and what was wrong after it.

    Attributes:
        kind: Its row in the table.
        checked: How many acknowledged results were read back.
        unreadable: Results, listings or answers that could not be read, and errors of other kinds.
    """

    kind: str
    checked: int = 0
    lost: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass
class Ledger:
    """Results of which a writer was told that they are stored.

    Attributes:
        saved: Digest by id.
        files: SHA-256 of a run's artifact by the run's id.
        tags: By id.
        doomed: Ids whose deletion was begun: they may be there or not.
        deleted: Ids whose deletion was acknowledged.
    """

    saved: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    tags: dict[str, set[str]] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        """Note what a writer printed: ``saved ID DIGEST [FILE]``, ``tagged ID TAG``, …."""
        verb, run_id, *rest = line.split()
        if verb == "saved":
            self.saved[run_id] = rest[0]
            self.files |= dict([(run_id, rest[1])] if rest[1:] else [])
        elif verb == "tagged":
            self.tags.setdefault(run_id, set()).add(rest[0])
        elif verb == "deleting":
            self.doomed.add(run_id)
        elif verb == "deleted":
            self.deleted.add(run_id)
        else:
            raise AssertionError(line)

    def keep(self, run: Run) -> None:
        self.saved[run.id] = digest_of(run)

    def copy(self) -> Ledger:
        """What is known now, while writers go on."""
        return Ledger(
            dict(self.saved),
            dict(self.files),
            {key: set(tags) for key, tags in self.tags.items()},
            set(self.doomed),
            set(self.deleted),
        )


@dataclass(frozen=True)
class State:
    """What a store has: digests and tags by id, the ids of its listing, and what is unreadable."""

    digests: dict[str, str]
    tags: dict[str, tuple[str, ...]]
    listed: frozenset[str]
    unreadable: tuple[str, ...]


def state_of(place: StorePlace, known: Collection[str] = ()) -> State:
    """Read all of a store, as a process would that has just started.

    Args:
        known: Ids that are read even if no list has them.
    """
    store = Store(place)
    ids = {*store.ids()}
    digests, tags, unreadable = {}, {}, []
    for run_id in ids | {one for one in known if store.has(one)}:
        try:
            run = store.load_id(run_id)
        except StoreError as error:
            if store.has(run_id):  # not deleted meanwhile
                unreadable.append(str(error))
            continue
        except EnginescopeError as error:
            unreadable.append(str(error))
            continue
        digests[run_id], tags[run_id] = digest_of(run), run.tags
    listed = frozenset(row.id for row in store.rows())
    unreadable += [one.message for one in store.notices if one.code == "W-BROKEN-RUN"]
    return State(digests, tags, listed, tuple(unreadable))


def check(
    kind: str,
    place: StorePlace,
    ledger: Ledger,
    begun: Callable[[], Collection[str]] | None = None,
    *,
    files: bool = False,
) -> Event:
    """Read a store and compare it with what was acknowledged before.

    Args:
        begun: Asked afterwards for the ids whose deletion writers have begun meanwhile.
        files: Read the artifacts too.
    """
    state = state_of(place, ledger.saved)
    doomed = ledger.doomed if begun is None else begun()
    lost = list(_missing(ledger, doomed, state))
    if files:
        lost += _other_files(place, ledger)
    return Event(kind, len(ledger.saved), tuple(lost), state.unreadable)


def _missing(ledger: Ledger, doomed: Collection[str], state: State) -> Iterator[str]:
    for run_id, digest in ledger.saved.items():
        found = state.digests.get(run_id)
        if run_id in ledger.deleted:
            if found is not None:
                yield f"{run_id} is there after it was deleted"
        elif run_id in doomed:
            continue
        elif found is None:
            yield f"{run_id} is not there"
        elif found != digest:
            yield f"{run_id} has another content"
        elif run_id not in state.listed:
            yield f"{run_id} is not in the listing"
        elif not ledger.tags.get(run_id, set()) <= {*state.tags[run_id]}:
            yield f"{run_id} has lost a tag"


def _other_files(place: StorePlace, ledger: Ledger) -> Iterator[str]:
    store = Store(place)
    for run_id in ledger.files.keys() - ledger.doomed:
        paths: tuple[Path, ...] = store.artifact_paths(run_id)
        if [hashlib.sha256(one.read_bytes()).hexdigest() for one in paths] != [
            ledger.files[run_id]
        ]:
            yield f"{run_id} has another file"
