"""Files that are cut off, flipped, replaced: of runs, of the index, of a database."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from enginescope.core.errors import EnginescopeError
from enginescope.records.run.run import Artifact
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl, StorePlace
from tests.faults.ledger import Event, Ledger, digest_of, state_of
from tests.faults.writer import drawn_run

RUNS = 5


def cut(file: Path, chance: random.Random) -> None:
    os.truncate(file, chance.randrange(max(1, file.stat().st_size)))


def flip(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes() or b"\0")
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def blank(file: Path, chance: random.Random) -> None:
    """Set up to 512 bytes to zero, as a disk does that lost a sector."""
    data = bytearray(file.read_bytes())
    start = chance.randrange(max(1, len(data)))
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    file.write_bytes(data)


def remove(file: Path, _: random.Random) -> None:
    file.unlink()


def pipe(file: Path, _: random.Random) -> None:
    """Put a pipe in its place, whose reader would wait for ever."""
    file.unlink()
    os.mkfifo(file)


def folder(file: Path, _: random.Random) -> None:
    file.unlink()
    file.mkdir()


def loop(file: Path, _: random.Random) -> None:
    file.unlink()
    file.symlink_to(file.name)


ALL: tuple[Callable[[Path, random.Random], None], ...] = (
    *(cut, flip, blank) * 2,
    *(remove, pipe, folder, loop),
)


def _filled(place: StorePlace, top: Path, chance: random.Random) -> Ledger:
    store, ledger = Store(place), Ledger()
    log = top / "build.log"
    log.write_bytes(chance.randbytes(2_000))
    for _ in range(RUNS):
        run = drawn_run(chance, artifacts=(Artifact(path=str(log), kind="log"),))
        store.save(run)
        ledger.keep(run)
    return ledger


def damaged_runs(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Damage a file of a run or the index: other runs are as before, the damaged one is named."""
    kind = "damaged file of a run, or of the index"
    chance = random.Random(f"{seed}:damage")
    place, safe = top / "store", top / "safe"
    ledger = _filled(place, top, chance)
    Store(place).rows()
    shutil.copytree(place, safe)
    for _ in range(count):
        files = sorted(one for one in place.rglob("*") if one.is_file() and one.stat().st_size)
        file = chance.choice(files)
        doing = chance.choice(ALL)
        doing(file, chance)
        hit = file.relative_to(place).parts[1] if file.is_relative_to(place / "runs") else None
        yield _looked_at(kind, place, ledger, hit, f"{doing.__name__} {file.relative_to(place)}")
        shutil.rmtree(place)
        shutil.copytree(safe, place)


def flipped_records(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Flip bits of a run's record: it is named as damaged, and never read."""
    chance = random.Random(f"{seed}:records")
    place = top / "store"
    ledger = _filled(place, top, chance)
    for _ in range(count):
        run_id = chance.choice(sorted(ledger.saved))
        file = place / "runs" / run_id / "run.json"
        whole = file.read_bytes()
        flip(file, chance)
        event = _looked_at("flipped bits of a run's record", place, ledger, run_id, "flip")
        if file.read_bytes() != whole and run_id in state_of(place, ledger.saved).digests:
            event = replace(event, lost=(*event.lost, f"flip: {run_id} is read"))
        yield event
        file.write_bytes(whole)


def _looked_at(kind: str, place: Path, ledger: Ledger, hit: str | None, what: str) -> Event:
    """Compare runs that were not hit; one that was hit is as it was, or named."""
    wrong, lost = [], []
    try:
        state = state_of(place, ledger.saved)
        named = {one.name for one in Store(place).reindex().broken}
    except Exception as error:  # noqa: BLE001 - a listing has to work, whatever is damaged
        return Event(kind, len(ledger.saved), unreadable=(f"{what}: {error!r}",))
    for run_id, digest in ledger.saved.items():
        found = state.digests.get(run_id)
        if run_id == hit and found is None and run_id not in named:
            wrong.append(f"{what}: the damaged run is not named")
        elif run_id == hit and found not in (None, digest):
            lost.append(f"{what}: {run_id} is read with another content")
        elif run_id != hit and (found != digest or run_id not in state.listed):
            lost.append(f"{what}: {run_id}")
    return Event(kind, len(ledger.saved), tuple(lost), tuple(wrong))


def damaged_databases(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Damage a database's file: it says so, and all is there once the file is put back."""
    kind = "damaged file of a database"
    chance = random.Random(f"{seed}:database")
    file = top / "team.db"
    place = DatabaseUrl(f"sqlite:///{file}")
    ledger = _filled(place, top, chance)
    safe = file.read_bytes()
    for _ in range(count):
        doing = chance.choice((cut, flip, blank))
        doing(file, chance)
        wrong = [f"{doing.__name__}: {one}" for one in _other_errors(place, ledger)]
        for one in top.glob("team.db-*"):
            one.unlink()
        file.write_bytes(safe)
        state = state_of(place, ledger.saved)
        lost = [key for key, digest in ledger.saved.items() if state.digests.get(key) != digest]
        yield Event(kind, len(ledger.saved), tuple(lost), (*wrong, *state.unreadable))


def _other_errors(place: StorePlace, ledger: Ledger) -> Iterator[str]:
    """Use a store, and yield what is neither a result nor an error of ours."""
    works: list[Callable[[], object]] = [
        lambda: Store(place).rows(),
        lambda: Store(place).ids(),
        lambda: Store(place).reindex(),
        *(lambda one=one: digest_of(Store(place).load_id(one)) for one in ledger.saved),
    ]
    for work in works:
        try:
            work()
        except EnginescopeError:
            continue
        except Exception as error:  # noqa: BLE001 - that it is of another kind is looked for
            yield repr(error)
