"""The names of the folders of runs, without reading one."""

from __future__ import annotations

import os
from pathlib import Path

from enginescope.core.errors import StoreError

#: How a folder is called while a run is written into it.
PART = ".part-"
#: How a run's folder is called while it is deleted.
DELETED = ".deleted-"


def run_names(runs: Path, prefix: str | None = None) -> tuple[str, ...]:
    """Return the names of the folders in `runs`, sorted; hidden ones only by their `prefix`.

    Raises:
        StoreError: The folder cannot be read.
    """
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
