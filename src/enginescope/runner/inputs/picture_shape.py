"""The shape of an input of pictures that leaves some of it open."""

from __future__ import annotations

from collections.abc import Sequence

_COLOURS = (1, 3, 4)


def picture_shape(
    shape: Sequence[int | None], size: tuple[int, int], layout: str = "auto"
) -> tuple[int, ...]:
    """Return four dimensions: one picture, three colours, height × width where they are open."""
    is_last = _has_colours_last(shape, layout)
    sides = (1, 2) if is_last else (2, 3)
    fills = {0: 1, 3 if is_last else 1: 3, **dict(zip(sides, size, strict=True))}
    return tuple(fills[axis] if dim is None else dim for axis, dim in enumerate(shape))


def height_width(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the sides of a shape of a picture."""
    return (shape[1], shape[2]) if _has_colours_last(shape, "auto") else (shape[2], shape[3])


def _has_colours_last(shape: Sequence[int | None], layout: str) -> bool:
    if layout != "auto":
        return layout == "nhwc"
    return shape[1] not in _COLOURS and shape[3] in _COLOURS
