"""Files that a backend's options name: that one is not there is said before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec


def check_named_files(
    spec: BackendSpec, *, one: Iterable[str] = (), several: Iterable[str] = ()
) -> None:
    """Raise unless every file that is named is there.

    Args:
        one: Options that name a file.
        several: Options that name files, separated by commas.

    Raises:
        UsageError: Names the option and the file.
    """
    named = [(key, spec.options[key]) for key in one if key in spec.options]
    lists = [(key, spec.options[key].split(",")) for key in several if key in spec.options]
    named += [(key, path) for key, paths in lists for path in paths if path]
    for key, path in named:
        if not Path(path).is_file():
            why = "it is a folder" if Path(path).is_dir() else "no such file"
            raise UsageError(f"{spec.name}: {key}={path}", why=why)
