"""Boxes of objects in COCO's JSON."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.core.record import Record


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
    """The objects of pictures by base name; `Targets`.

    Raises:
        FormatError: The file is missing, or not COCO's JSON of objects.
    """

    in_order = False

    def __init__(self, path: Path) -> None:
        try:
            held = msgspec.json.decode(read_bytes(path), type=_File)
        except msgspec.MsgspecError as error:
            raise FormatError(
                str(path), why=str(error), expected="COCO's images, annotations and categories"
            ) from None
        self._categories = tuple(sorted(held.categories, key=lambda one: one.id))
        self._images = {
            PurePosixPath(image.file_name).with_suffix("").as_posix(): image
            for image in held.images
        }
        self._boxes: dict[int, list[CocoBox]] = {}
        for annotation in held.annotations:
            self._boxes.setdefault(annotation.image_id, []).append(annotation)

    def base_names(self) -> tuple[str, ...]:
        """Return the pictures' base names."""
        return tuple(self._images)

    def read(self, key: str) -> KnownBoxes:
        """Return the objects of a picture."""
        image = self._images[key]
        boxes = tuple(self._boxes.get(image.id, ()))
        return KnownBoxes(image=image, boxes=boxes, categories=self._categories)
