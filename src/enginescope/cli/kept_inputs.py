"""The inputs that were timed, in files that stay for the stored runs that name them."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path


class KeptInputs:
    """A folder with the input of each side.

    Parameters
    ----------
    folder : pathlib.Path
        Made when the first comes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[Path] = []

    def keep(self, number: int, source: Path) -> Path:
        """Return where a copy of `source` stays."""
        self._folder.mkdir(exist_ok=True)
        kept = self._folder / f"{number}.npz"
        if not kept.exists():  # one of an earlier call stays, whatever becomes of this one
            self._new.append(kept)
        shutil.copyfile(source, kept)
        return kept

    def drop_but(self, number: int) -> None:
        """Take away what came anew, but for the first `number`: those that stored runs name."""
        of_runs = {self._folder / f"{one}.npz" for one in range(1, number + 1)}
        for one in self._new:
            if one not in of_runs:
                one.unlink(missing_ok=True)
        with suppress(OSError):  # something lies in it, or it was never made
            self._folder.rmdir()
