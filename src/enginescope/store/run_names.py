"""The names of the folders of runs, without reading one.

How runs may be called: ids, tags, ``latest``.

One process at a time, where a rename is not enough.
"""

import os
import re
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

from enginescope.core.errors import StoreError, os_errors_as

#: How a folder is called while a run is written into it.
PART = ".part-"
#: How a run's folder is called while it is deleted.
DELETED = ".deleted-"


def run_names(runs: Path, prefix: str | None = None) -> tuple[str, ...]:
    """Return the names of the folders in `runs`, sorted; hidden ones only by their `prefix`."""
    try:
        with os.scandir(runs) as entries:  # no question to the file system for each of thousands
            return tuple(
                sorted(
                    entry.name
                    for entry in entries
                    if (entry.name.startswith(prefix) if prefix else not entry.name.startswith("."))
                    and entry.is_dir()
                )
            )
    except FileNotFoundError:  # nothing has been saved yet
        return ()
    except OSError as error:
        raise StoreError(f"cannot read {runs}", why=error.strerror) from error


#: File systems date changes to some milliseconds: a later one may have the same date.
_SETTLED_NS = 50_000_000


def changed_at(*paths: Path) -> Hashable | None:
    """Return dates and sizes of files and folders; ``None``: one may change without a new date."""
    stamps: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            status = path.stat()
        except FileNotFoundError:
            stamps.append(None)
            continue
        except OSError:
            return None
        if status.st_size == 0:  # readers make an empty log beside a database, and remove it
            stamps.append(None)
            continue
        if time.time_ns() - status.st_mtime_ns < _SETTLED_NS:
            return None
        stamps.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return tuple(stamps)


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAG = re.compile(r"[^\s/\\-][^\s/\\]{0,127}")
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")


def is_id(name: str) -> bool:
    """Whether `name` can be the id of a run, and so the name of a folder; ``latest`` cannot."""
    return _ID.fullmatch(name) is not None and name != "latest"


def check_id(run_id: str) -> None:
    if not is_id(run_id):
        why = "an id is up to 64 letters, digits, '.', '_' and '-', and not latest"
        raise StoreError(f"run id {run_id!r}", why=why)


def is_tag(name: str) -> bool:
    """Whether `name` can be a tag: no blanks, no slashes, no option, not ``latest``."""
    return _TAG.fullmatch(name) is not None and not name.startswith("latest")


def check_tag(tag: str) -> None:
    if not is_tag(tag):
        why = "a tag has no spaces or slashes, and does not start with '-' or latest"
        raise StoreError(f"tag {tag!r}", why=why)


def steps_back(name: str) -> int | None:
    """Return 0 for ``latest``, 2 for ``latest~2``, ``None`` for other names."""
    match = _LATEST.fullmatch(name)
    return int(match[1] or 0) if match else None


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Hold the lock on `what` in a store's `folder`, waiting as long as another has it.

    The system lets go of it when a process dies. Not reentrant. Who holds ``"runs"`` may ask for
    ``"index"``, never the other way round.
    """
    import fcntl  # not on Windows, where stores can still be read

    with os_errors_as(StoreError, f"cannot lock the store {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f".{what}.lock").open("w")
    with file:
        with os_errors_as(StoreError, f"cannot lock the store {folder}"):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
