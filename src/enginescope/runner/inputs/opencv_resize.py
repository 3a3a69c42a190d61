"""Pictures at another size, as OpenCV makes them of floating-point pictures.

Its filters look at the neighbours of a pixel's centre whatever the scale, where Pillow's average
over all that becomes one pixel; models trained behind OpenCV were trained with the former.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
        distances = np.stack([1 + rest, rest, 1 - rest, 2 - rest], axis=1)
        weights, first = _cubic(distances), -1
    else:
        weights, first = np.stack([1 - rest, rest], axis=1), 0
    taps = below[:, None].astype(int) + np.arange(first, first + weights.shape[1])
    return np.clip(taps, 0, length - 1), weights


def _cubic(distance: Any) -> Any:
    near = ((_A + 2) * distance - (_A + 3)) * distance * distance + 1
    far = ((_A * distance - 5 * _A) * distance + 8 * _A) * distance - 4 * _A
    return np.where(distance <= 1, near, far)
