"""Pictures as inputs: found, decoded, fitted and scaled, as a model was trained to see them.

OpenCV's filters look at the neighbors of a pixel's center whatever the scale, where Pillow's
average over all that becomes one pixel; models trained behind OpenCV need the former.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.base import InputSpec
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.optional import require
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleFile
from enginescope.runner.inputs.inputs import NUMPY_TYPES

#: Of the cubic convolution; Pillow's is −0.5.
_A = -0.75


def opencv_resized(values: Any, size: tuple[int, int], *, is_cubic: bool) -> Any:
    """Return a picture, height × width × channels, at another height and width, in float32.

    ``INTER_LINEAR`` or ``INTER_CUBIC``: pixels are areas, edges repeat. Values may leave 0…255.
    """
    rows, row_weights = _taps(values.shape[0], size[0], is_cubic=is_cubic)
    columns, column_weights = _taps(values.shape[1], size[1], is_cubic=is_cubic)
    tall = np.zeros((size[0], *values.shape[1:]))
    for taps, weights in zip(rows.T, row_weights.T, strict=True):
        tall += values[taps] * weights[:, None, None]
    found = np.zeros((*size, values.shape[2]))
    for taps, weights in zip(columns.T, column_weights.T, strict=True):
        found += tall[:, taps] * weights[None, :, None]
    return found.astype(np.float32)


def _taps(length: int, wanted: int, *, is_cubic: bool) -> tuple[Any, Any]:
    """Return for each wanted place the pixels it is made of, and their weights."""
    place = (np.arange(wanted) + 0.5) * length / wanted - 0.5
    below = np.floor(place)
    rest = place - below
    if is_cubic:
        distance = np.stack([1 + rest, rest, 1 - rest, 2 - rest], axis=1)
        near = ((_A + 2) * distance - (_A + 3)) * distance * distance + 1
        far = ((_A * distance - 5 * _A) * distance + 8 * _A) * distance - 4 * _A
        weights, first = np.where(distance <= 1, near, far), -1
    else:
        weights, first = np.stack([1 - rest, rest], axis=1), 0
    taps = below[:, None].astype(int) + np.arange(first, first + weights.shape[1])
    return np.clip(taps, 0, length - 1), weights


IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".webp", ".tif", ".tiff"}
)
_COLOURS = (1, 3, 4)
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
#: Formats whose integers of mode I, as Pillow reads them, are of 16 bits.
_WIDE_GRAY_FORMATS = frozenset({"PNG", "PPM"})
#: 16-bit values in one 8-bit value: 65,535 becomes 255.
_WIDE_STEP = 257


def image_input(path: Path, spec: InputSpec, how: Preprocessing) -> Any:
    """Return a picture as the values of an input: a batch of one.

    Args:
        spec: Four dimensions; height and width may be dynamic if `how` says them.
    """
    is_nchw, channels, size = _form(spec, how)
    values = _fitted(_opened(path, _MODES[channels]), size or None, how)
    values = _with_channels(values, channels)
    if how.colours == "bgr" and channels == 3:
        values = values[:, :, ::-1]
    kind = np.dtype(NUMPY_TYPES[spec.dtype]) if spec.dtype in NUMPY_TYPES else None
    if kind is None or kind.kind not in "fu":
        raise UsageError(f"images for input {spec.name}", why=f"it holds {spec.type_text}")
    if kind.kind == "f":  # an integer input takes the bytes as they are
        mean = _by_channel("mean", how.mean, channels)
        std = _by_channel("std", how.std, channels)
        values = (values.astype(np.float32) / np.float32(how.divisor) - mean) / std
    elif values.dtype.kind == "f":
        values = np.clip(np.rint(values), 0, 255)
    laid = values.transpose(2, 0, 1) if is_nchw else values
    return np.ascontiguousarray(laid[None], dtype=kind)


def rgb_pixels(path: Path) -> Any:
    """Return a picture as bytes, height × width × 3, upright; 16-bit gray is rounded to 8 bits."""
    values = np.asarray(_opened(path, "RGB"))
    return np.rint(_with_channels(values, 3)).astype(np.uint8)


def _form(spec: InputSpec, how: Preprocessing) -> tuple[bool, int, tuple[int, int] | None]:
    """Return whether channels come first, how many there are, and height × width."""
    shape = spec.default_shape or spec.shape
    if len(shape) != 4:
        why = f"it has {len(shape)} dimensions, images need 4"
        hint = "--image-input NAME, if another input is the image"
        raise UsageError(f"images for input {spec.name}", why=why, hint=hint)
    places = {"nchw": (1,), "nhwc": (3,), "auto": (1, 3)}[how.layout]
    axis = next((place for place in places if shape[place] in _COLOURS), None)
    if axis is None:
        why = "no dimension of it is 1, 3 or 4 channels"
        raise UsageError(f"images for input {spec.name}", why=why, hint="set --layout nchw or nhwc")
    open_size = [shape[one] for one in ((2, 3) if axis == 1 else (1, 2))]
    if how.size is not None:
        return axis == 1, int(shape[axis] or 0), how.size
    if not all(isinstance(one, int) and one > 0 for one in open_size):
        why = "its height and width are dynamic"
        raise UsageError(f"images for input {spec.name}", why=why, hint="--image-size 224x224")
    return axis == 1, int(shape[axis] or 0), (int(open_size[0] or 0), int(open_size[1] or 0))


def _opened(path: Path, mode: str) -> Any:
    """Return a picture of `mode`, upright; 16-bit gray as floats 0…255, of mode F.

    Pillow clips 16-bit values at 255 when it converts them, so they are scaled here.
    """
    image = require("PIL.Image", purpose="reading images", install="enginescope[images]")
    orient = require("PIL.ImageOps", purpose="reading images", install="enginescope[images]")
    try:
        with image.open(path) as file:
            upright = orient.exif_transpose(file)
            if file.mode != "F" and not file.mode.startswith("I"):  # 8 bits a number
                return upright.convert(mode)
            if not (file.mode.startswith("I;16") or file.format in _WIDE_GRAY_FORMATS):
                why = f"its pixels are 32-bit numbers (mode {file.mode}) without a known white"
                raise FormatError(str(path), why=why, expected="8 or 16 bits a channel")
            return image.fromarray(np.asarray(upright).astype(np.float32) / _WIDE_STEP)
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise FormatError(str(path), why=f"not a readable image ({error})") from None


def _with_channels(values: Any, channels: int) -> Any:
    """Return height × width × channels; gray is repeated, and an alpha channel is opaque."""
    if values.ndim == 3 and values.shape[2] == channels:
        return values
    repeated = np.repeat(values.reshape(*values.shape[:2], 1), channels, axis=2)
    if channels == 4:
        repeated[:, :, -1] = 255
    return repeated


def _fitted(picture: Any, size: tuple[int, int] | None, how: Preprocessing) -> Any:
    """Return a picture's values at the input's size, height × width, channels behind."""
    if size is None:
        return np.asarray(picture)
    if how.filter.startswith("opencv-"):
        if how.fit != "stretch":
            raise UsageError(f"filter {how.filter} with fit {how.fit}", why="it needs stretch")
        values = np.asarray(picture)
        planes = values[:, :, None] if values.ndim == 2 else values
        return opencv_resized(planes, size, is_cubic=how.filter == "opencv-bicubic")
    image = require("PIL.Image", purpose="reading images", install="enginescope[images]")
    ops = require("PIL.ImageOps", purpose="reading images", install="enginescope[images]")
    target = (size[1], size[0])
    method = image.Resampling[how.filter.upper()]
    if how.fit == "crop":
        return np.asarray(ops.fit(picture, target, method=method))
    if how.fit == "pad":
        return np.asarray(ops.pad(picture, target, method=method))
    return np.asarray(picture.resize(target, method))


def _by_channel(name: str, values: tuple[float, ...], channels: int) -> Any:
    if len(values) not in (1, channels):
        why = f"the input has {channels} channels"
        raise UsageError(f"{len(values)} values of {name}", why=why)
    return np.asarray(values, dtype=np.float32)


def picture_shape(
    shape: Sequence[int | None], size: tuple[int, int], layout: str = "auto"
) -> tuple[int, ...]:
    """Return four dimensions: one picture, three colors, height × width where they are open."""
    is_last = _has_colours_last(shape, layout)
    sides = (1, 2) if is_last else (2, 3)
    fills = {0: 1, 3 if is_last else 1: 3, **dict(zip(sides, size, strict=True))}
    return tuple(fills[axis] if dim is None else dim for axis, dim in enumerate(shape))


def height_width(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[1], shape[2]) if _has_colours_last(shape, "auto") else (shape[2], shape[3])


def _has_colours_last(shape: Sequence[int | None], layout: str) -> bool:
    if layout != "auto":
        return layout == "nhwc"
    return shape[1] not in _COLOURS and shape[3] in _COLOURS


def picture_samples(
    paths: Sequence[Path], *, image_input: str | None = None
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return a sample for each picture, and the names of what is none.

    Args:
        paths: Pictures, and folders with pictures in them and below; a picture in a folder is
            called by its path below that, so that folders named by class tell them apart.
    """
    samples: list[Sample] = []
    skipped: list[str] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"images {path}", why="no such file or folder")
        root = path if path.is_dir() else path.parent
        before = len(samples)
        for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = one.relative_to(root).as_posix()
            if one.name.startswith(".") or not one.is_file():
                continue
            if one.suffix.lower() in IMAGE_SUFFIXES:
                picture = SampleFile(input=image_input, path=str(one.resolve()))
                samples.append(Sample(name=name, images=(picture,)))
            else:
                skipped.append(name)
        if len(samples) == before:
            hint = ", ".join(sorted(IMAGE_SUFFIXES))
            raise UsageError(f"images {path}", why="it has no image", hint=hint)
    return tuple(samples), tuple(skipped)
