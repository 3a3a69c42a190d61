"""Folders of files that say what is right, one for each picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from enginescope.core.errors import UsageError


class FolderTargets:
    """Files in a folder and below it, by their paths without endings.

    Args:
        suffixes: Endings that are read, preferred first where two files differ in theirs alone.
        load: Path -> what is right.

    Raises:
        UsageError: There is no such folder, or no such file in it.
    """

    in_order = False

    def __init__(
        self, folder: Path, suffixes: tuple[str, ...], load: Callable[[Path], Any]
    ) -> None:
        if not folder.is_dir():
            raise UsageError(f"targets {folder}", why="there is no such folder")
        self._load = load
        self._files: dict[str, Path] = {}
        ranks = {suffix: rank for rank, suffix in enumerate(suffixes)}
        found = [one for one in sorted(folder.rglob("*")) if one.suffix.lower() in ranks]
        for one in sorted(found, key=lambda path: ranks[path.suffix.lower()]):
            if one.is_file() and not one.name.startswith("."):
                key = one.relative_to(folder).with_suffix("").as_posix()
                self._files.setdefault(key, one)
        if not self._files:
            raise UsageError(
                f"targets {folder}", why=f"no file in it ends in {', '.join(suffixes)}"
            )

    def base_names(self) -> tuple[str, ...]:
        """Return the paths without endings, sorted."""
        return tuple(sorted(self._files))

    def read(self, key: str) -> Any:
        """Return what the file says."""
        return self._load(self._files[key])
