"""Maps at another size."""

from __future__ import annotations

from typing import Any

import numpy as np


def bilinear(values: Any, size: tuple[int, int]) -> Any:
    """Return maps, … × height × width, at another size, in float64.

    Pixels are areas (half-pixel centres) and edges repeat, as OpenCV's INTER_LINEAR and PyTorch's
    ``align_corners=False`` have it; nothing is averaged where a map gets smaller.
    """
    maps = np.asarray(values, dtype=np.float64)
    if maps.shape[-2:] == size:
        return maps
    # columns first: whole rows are then copied, which is most of the work where a map grows
    left, right, across = _between(maps.shape[-1], size[1])
    with np.errstate(invalid="ignore"):  # an infinity times nothing
        wide = np.take(maps, left, axis=-1) * (1 - across) + np.take(maps, right, axis=-1) * across
        top, bottom, down = _between(maps.shape[-2], size[0])
        return wide[..., top, :] * (1 - down)[:, None] + wide[..., bottom, :] * down[:, None]


def nearest(values: Any, size: tuple[int, int]) -> Any:
    """Return a map at another size, every value that of the pixel its centre lies in."""
    height, width = values.shape[-2:]
    rows = ((np.arange(size[0]) + 0.5) * height / size[0]).astype(int)
    columns = ((np.arange(size[1]) + 0.5) * width / size[1]).astype(int)
    return values[..., rows[:, None], columns]


def _between(length: int, wanted: int) -> tuple[Any, Any, Any]:
    """Return the neighbours of each wanted place, and how far it is from the first."""
    place = np.clip((np.arange(wanted) + 0.5) * length / wanted - 0.5, 0, length - 1)
    below = np.floor(place).astype(int)
    return below, np.minimum(below + 1, length - 1), place - below
