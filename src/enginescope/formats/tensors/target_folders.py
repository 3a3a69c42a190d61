"""Folders of files that say what is right, one for each picture.

Maps that say what is right for every pixel: npy, npz, PNG of 8 or 16 bits, PFM.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.optional import require


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
            raise UsageError(f"targets {folder}", why="no such folder")
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


MAP_SUFFIXES = (".npy", ".npz", ".pfm", ".png")
#: ``Pf``, width and height, scale whose sign tells the order of the bytes.
_PFM = re.compile(rb"^(P[fF])\s+(?:#[^\n]*\n\s*)*(\d+)\s+(\d+)\s+([-+0-9.eE]+)[\r\n]{1,2}")
#: Pictures of one value a pixel, by Pillow's names; P is an index into a palette.
_GREY = frozenset({"L", "I", "I;16", "I;16L", "I;16B", "I;16N", "F", "1"})


def load_map(path: Path, *, with_palette: bool = False) -> Any:
    """Return a map, height × width, in the file's own type.

    Args:
        with_palette: Whether a PNG with a palette is one, of its indices.

    Raises:
        FormatError: It cannot be read, or is not a map of one value a pixel.
        MissingDependencyError: A PNG without Pillow.
    """
    suffix = path.suffix.lower()
    if suffix == ".png":
        found = _png(path, with_palette=with_palette)
    elif suffix == ".pfm":
        found = _pfm(path)
    else:
        found = _numpy(path)
    squeezed = np.squeeze(found)
    if squeezed.ndim != 2 or found.dtype.kind not in "fiub":
        shape = "×".join(map(str, found.shape))
        raise FormatError(
            str(path), why=f"{shape} of {found.dtype}", expected="one number for each pixel"
        )
    return squeezed


def _numpy(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            if not isinstance(held, np.lib.npyio.NpzFile):
                return held
            names = held.files
            if len(names) == 1:
                return held[names[0]]
    except Exception as error:  # noqa: BLE001 - zip, zlib, header and pickle errors share no base
        raise FormatError(str(path), why=f"NumPy cannot read it ({error})") from None
    raise FormatError(str(path), why=f"it holds {', '.join(names)}", expected="one array")


def _png(path: Path, *, with_palette: bool) -> Any:
    image = require("PIL.Image", purpose="reading images", install="enginescope[images]")
    try:
        with image.open(path) as picture:
            mode = picture.mode
            values = np.asarray(picture)
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise FormatError(str(path), why=f"not a readable image ({error})") from None
    if mode in _GREY or (with_palette and mode == "P"):
        return values
    raise FormatError(str(path), why=f"a color image ({mode})", expected="one value for each pixel")


def _pfm(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None
    head = _PFM.match(data)
    if head is None or head[1] != b"Pf":
        raise FormatError(str(path), why="no PFM of one channel", expected="Pf, width height")
    width, height, order = int(head[2]), int(head[3]), "<" if float(head[4]) < 0 else ">"
    body = data[head.end() :]
    if len(body) < 4 * width * height:
        raise FormatError(str(path), why="it ends before its last pixel")
    rows = np.frombuffer(body, f"{order}f4", count=width * height).reshape(height, width)
    return rows[::-1].astype(np.float32)  # the lowest row comes first
