"""Targets of images in one file: labels by folder, CSV or text, and boxes in COCO's JSON.

Also folders with one file for each picture: maps that say what is right for every pixel, as npy,
npz, PNG of 8 or 16 bits, or PFM.
"""

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np

from enginescope.core.errors import FormatError, UsageError, os_errors_as
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import require
from enginescope.core.record import Record

#: Headings, in lower case, of the column that names the picture and of the one that labels it.
_FILES = ("file", "filename", "file_name", "image", "path", "name", "id", "imageid")
_LABELS = ("label", "class", "target", "category", "class_id", "label_id", "y")


class LabelFile:
    """Labels by the base names of pictures; `Targets`.

    Args:
        labels: By base name; by number, as text, where `in_order`.
        in_order: Whether the labels are those of the samples in their order.
    """

    def __init__(self, labels: dict[str, str], *, in_order: bool = False) -> None:
        self._labels = labels
        self.in_order = in_order

    def base_names(self) -> tuple[str, ...]:
        return tuple(self._labels)

    def read(self, key: str) -> str:
        return self._labels[key]

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._labels.values()))


def read_labels(path: Path) -> LabelFile:
    """Return the labels in a folder or file.

    A folder: each file's label is the folder directly below `path` that it lies in. CSV or TSV:
    columns of names and labels, with or without headings. Other text: ``NAME LABEL`` a line, or a
    label alone a line, in the order of the samples.
    """
    if path.is_dir():
        below = {key: key.partition("/")[0] for key, _ in _files_below(path) if "/" in key}
        if not below:
            why = "it has no file in a class folder"
            raise UsageError(f"targets {path}", why=why, hint="a folder for each class")
        return LabelFile(below)
    try:
        with os_errors_as(UsageError, f"targets {path}"):
            text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(str(path), why="it is not UTF-8", expected="names and labels") from None
    if path.suffix.lower() in (".csv", ".tsv"):
        return LabelFile(_table(path, text))
    return _text(path, text)


def _files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield files by their paths in the folder without endings, sorted; hidden ones left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            yield path.relative_to(folder).with_suffix("").as_posix(), path


def _table(path: Path, text: str) -> dict[str, str]:
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    delimiter = "\t" if path.suffix.lower() == ".tsv" else delimiter
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(row)]
    heads = [one.strip().lower() for one in rows[0]] if rows else []
    name_at = next((heads.index(file) for file in _FILES if file in heads), None)
    label_at = next((heads.index(label) for label in _LABELS if label in heads), None)
    if name_at is not None and label_at is not None:
        rows = rows[1:]
    else:
        name_at, label_at = 0, 1
    found = {}
    for number, row in enumerate(rows, start=1):
        if len(row) <= max(name_at, label_at):
            raise FormatError(str(path), where=f"row {number}", why=f"{row} has no label")
        found[_key(row[name_at].strip())] = row[label_at].strip()
    if not found:
        raise UsageError(f"targets {path}", why="it has no rows")
    return found


def _text(path: Path, text: str) -> LabelFile:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise UsageError(f"targets {path}", why="it has no lines")
    parts = [line.rsplit(maxsplit=1) for line in lines]
    if all(len(part) == 1 for part in parts):
        return LabelFile({str(at): one for at, one in enumerate(lines)}, in_order=True)
    for number, one in enumerate(parts, start=1):
        if len(one) < 2:
            raise FormatError(str(path), where=f"line {number}", why=f"{one[0]!r} has no label")
    return LabelFile({_key(name): label for name, label in parts})


def _key(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix()


class CocoImage(Record, frozen=True, kw_only=True):
    """A picture of the set, in pixels."""

    id: int
    file_name: str
    width: int
    height: int


class CocoBox(Record, frozen=True, kw_only=True):
    """An object: left, top, width, height."""

    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    area: float | None = None
    iscrowd: int = 0


class CocoCategory(Record, frozen=True, kw_only=True):
    """A class of objects."""

    id: int
    name: str = ""


class _File(Record, frozen=True, kw_only=True):
    images: tuple[CocoImage, ...]
    annotations: tuple[CocoBox, ...]
    categories: tuple[CocoCategory, ...]


class KnownBoxes(Record, frozen=True, kw_only=True):
    """What is right for one picture."""

    image: CocoImage
    boxes: tuple[CocoBox, ...]
    categories: tuple[CocoCategory, ...]


class CocoBoxes:
    """The objects of pictures by base name; `Targets`."""

    in_order = False

    def __init__(self, path: Path) -> None:
        try:
            held = msgspec.json.decode(read_bytes(path), type=_File)
        except msgspec.MsgspecError as error:
            expected = "COCO's images, annotations and categories"
            raise FormatError(str(path), why=str(error), expected=expected) from None
        self._categories = tuple(sorted(held.categories, key=lambda one: one.id))
        self._images = {_key(image.file_name): image for image in held.images}
        self._boxes: dict[int, list[CocoBox]] = {}
        for annotation in held.annotations:
            self._boxes.setdefault(annotation.image_id, []).append(annotation)

    def base_names(self) -> tuple[str, ...]:
        return tuple(self._images)

    def read(self, key: str) -> KnownBoxes:
        image = self._images[key]
        boxes = tuple(self._boxes.get(image.id, ()))
        return KnownBoxes(image=image, boxes=boxes, categories=self._categories)


class FolderTargets:
    """Files in a folder and below it, by their paths without endings.

    Args:
        suffixes: Endings that are read, preferred first where two files differ in theirs alone.
        load: Path -> what is right.
    """

    in_order = False

    def __init__(
        self, folder: Path, suffixes: tuple[str, ...], load: Callable[[Path], Any]
    ) -> None:
        if not folder.is_dir():
            raise UsageError(f"targets {folder}", why="no such folder")
        self._load = load
        self._files: dict[str, Path] = {}
        files = tuple(_files_below(folder))
        for suffix in suffixes:
            for key, path in files:
                if path.suffix.lower() == suffix:
                    self._files.setdefault(key, path)
        if not self._files:
            why = f"no file in it ends in {', '.join(suffixes)}"
            raise UsageError(f"targets {folder}", why=why)

    def base_names(self) -> tuple[str, ...]:
        """Return the paths without endings, sorted."""
        return tuple(sorted(self._files))

    def read(self, key: str) -> Any:
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
    """
    suffix = path.suffix.lower()
    if suffix == ".png":
        values = _png(path, with_palette=with_palette)
    else:
        values = _pfm(path) if suffix == ".pfm" else _numpy(path)
    squeezed = np.squeeze(values)
    if squeezed.ndim != 2 or values.dtype.kind not in "fiub":
        why = f"{'×'.join(map(str, values.shape))} of {values.dtype}"
        raise FormatError(str(path), why=why, expected="one number for each pixel")
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
    data = read_bytes(path)
    head = _PFM.match(data)
    if head is None or head[1] != b"Pf":
        raise FormatError(str(path), why="no PFM of one channel", expected="Pf, width height")
    width, height, order = int(head[2]), int(head[3]), "<" if float(head[4]) < 0 else ">"
    body = data[head.end() :]
    if len(body) < 4 * width * height:
        raise FormatError(str(path), why="it ends before its last pixel")
    rows = np.frombuffer(body, f"{order}f4", count=width * height).reshape(height, width)
    return rows[::-1].astype(np.float32)  # the lowest row comes first
