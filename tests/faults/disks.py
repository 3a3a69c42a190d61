"""Disks that are full: a file system of two megabytes, and files that may not grow.

``python -m tests.faults.disks tmpfs|limit FOLDER SEED COUNT`` prints each event as JSON. A full
file system needs a mount, which a process may make in a name space of its own (``unshare``).
"""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from enginescope.core.errors import EnginescopeError
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl, StorePlace
from tests.faults.ledger import Event, Ledger, check
from tests.faults.writer import drawn_run

_SIZE_KIB = 2_048
#: Left free before a save, at most; a save needs up to 160 KB.
_MOST_FREE = 120_000
_OWN_SPACE = ("unshare", "--user", "--map-root-user", "--mount")


def has_mounts() -> bool:
    """Whether this process may start one that mounts a file system of its own."""
    command = [*_OWN_SPACE, "sh", "-c", f"mount -t tmpfs -o size=64k none {tempfile.gettempdir()}"]
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True).returncode == 0


def full_disks(how: str, folder: Path, count: int, seed: str) -> Iterator[Event]:
    """Yield the events of another process, which no limit outlives."""
    folder.mkdir(parents=True, exist_ok=True)
    own = _OWN_SPACE if how == "tmpfs" else ()
    arguments = [sys.executable, "-m", "tests.faults.disks", how, str(folder), seed, str(count)]
    done = subprocess.run([*own, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    for line in done.stdout.splitlines():
        event = json.loads(line)
        lost, unreadable = map(tuple, (event.pop("lost"), event.pop("unreadable")))
        yield Event(**event, lost=lost, unreadable=unreadable)


class Disk:
    """A folder that can be full."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self._chance = folder, chance

    def fill(self) -> None:
        """Leave little space, or none."""

    def clear(self) -> None:
        """Make space again."""


class TinyDisk(Disk):
    def __init__(self, folder: Path, chance: random.Random) -> None:
        super().__init__(folder, chance)
        size = f"size={_SIZE_KIB}k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", str(folder)], check=True)
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Take all but a random rest."""
        free = shutil.disk_usage(self.folder).free
        with self._ballast.open("wb") as file:
            taken = max(0, free - self._chance.randrange(_MOST_FREE))
            os.posix_fallocate(file.fileno(), 0, max(1, taken))

    def clear(self) -> None:
        self._ballast.unlink(missing_ok=True)


class LimitedFiles(Disk):
    """A process that may write files of a random size only (EFBIG)."""

    def fill(self) -> None:
        """Set the limit, which programs started meanwhile have too."""
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._chance.randrange(_MOST_FREE), most))

    def clear(self) -> None:
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _event(
    kind: str, disk: Disk, place: StorePlace, ledger: Ledger, chance: random.Random
) -> Event:
    """Save and change runs while the disk is full; then with space, when it has to work."""
    wrong: list[str] = []
    run = drawn_run(chance)
    known = [*ledger.saved]
    disk.fill()
    try:
        Store(place).save(run)
        ledger.keep(run)
        if known:
            changed, tag = chance.choice(known), f"t{chance.randrange(99)}"
            Store(place).tag(changed, tag)
            ledger.tags.setdefault(changed, set()).add(tag)
    except EnginescopeError:
        pass  # said, and not acknowledged
    except Exception as error:  # noqa: BLE001 - that it is of another kind is what is looked for
        wrong.append(f"{type(error).__name__}: {error}")
    try:
        Store(place).rows()
    except EnginescopeError:
        pass  # SQLite reads only where it can write
    except Exception as error:  # noqa: BLE001 - as above
        wrong.append(f"listing on a full disk: {type(error).__name__}: {error}")
    disk.clear()
    after = drawn_run(chance)
    Store(place).save(after)
    ledger.keep(after)
    found = check(kind, place, ledger)
    return Event(kind, found.checked, found.lost, (*found.unreadable, *wrong))


def main(arguments: list[str]) -> None:
    """Fill disks under a folder and a SQLite file, in turns."""
    how, folder, seed, count = arguments
    chance = random.Random(f"{seed}:{how}")
    kind, disk = {
        "tmpfs": ("full disk (tmpfs of 2 MiB)", TinyDisk),
        "limit": ("limit on the size of files (RLIMIT_FSIZE)", LimitedFiles),
    }[how]
    full = disk(Path(folder), chance)
    for name in ("XDG_DATA_HOME", "TMPDIR"):
        own = full.folder / name.lower()
        own.mkdir()
        os.environ[name] = str(own)
    tempfile.tempdir = None
    places: list[StorePlace] = []
    ledgers: list[Ledger] = []
    for number in range(int(count)):
        if number % 8 == 0:  # a store outgrows so small a disk
            shutil.rmtree(full.folder / "stores", ignore_errors=True)
            (full.folder / "stores").mkdir()
            url = f"sqlite:///{full.folder}/stores/team.db"
            places = [full.folder / "stores" / "folder", DatabaseUrl(url)]
            ledgers = [Ledger(), Ledger()]
        which = number % 2
        event = _event(kind, full, places[which], ledgers[which], chance)
        print(json.dumps(asdict(event)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
