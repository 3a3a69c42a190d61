"""The files of a SQLite database, seen from outside.

Why an index cannot be used, where the cause decides what to do.
"""

import secrets
from pathlib import Path

from enginescope.core.errors import StoreError

#: The index of a store that is a folder.
FILE = "index.sqlite"


def is_there(file: Path) -> bool:
    """Whether there is a database, or something in its place; an empty file is none."""
    return file.is_file() and file.stat().st_size > 0


def companions(file: Path) -> tuple[Path, Path]:
    """Return where SQLite keeps the shared memory and the write-ahead log of a database."""
    return file.with_name(f"{file.name}-shm"), file.with_name(f"{file.name}-wal")


def move_away(file: Path) -> Path:
    """Rename a database and its companions to a name nobody uses, and return it."""
    target = file.with_name(f"{file.stem}.damaged-{secrets.token_hex(3)}{file.suffix}")
    try:
        for old, new in zip(companions(file), companions(target), strict=True):
            if old.exists():
                old.replace(new)
        file.replace(target)
    except OSError as error:
        raise StoreError("the damaged index cannot be set aside", why=str(error)) from error
    return target


class DamagedIndexError(StoreError):
    """The database is not one, or not as the migrations made it: it can be set aside."""


class NewerIndexError(StoreError):
    """A newer enginescope has changed the tables: they are left as they are."""
