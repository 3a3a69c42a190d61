"""Where the members of each group lie, for a view that opens and closes groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.folding.levels import ENTRY, Level
from enginescope.analysis.layout.laid_out import Boxes, LaidOut
from enginescope.analysis.layout.layered import Spacing, lay_out
from enginescope.render.graph.packing import packed

#: Pixels; the view draws every layer and every closed group in one size.
LAYER_SIZE = (184.0, 54.0)
GROUP_SIZE = (204.0, 64.0)
#: What is outside of a group lies above and below its members, and takes no room.
_OUTSIDE_SIZE = (60.0, 0.0)
_SPACING = Spacing(beside=26.0, below=38.0, parts=44.0)


class LevelLayouts:
    """Layouts of levels; levels that are alike share one, as the copies of a block do."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}
        self._packed: list[dict[str, Any]] = []

    def number(self, level: Level) -> int:
        """Return the number of the level's layout, which is made if there is none like it."""
        tensors: dict[tuple[int, str], int] = {}
        edges = tuple(
            (one.source, one.target, tensors.setdefault((one.source, one.key), len(tensors)))
            for one in level.edges
        )
        is_layer = tuple(isinstance(one, int) for one in level.group.members)
        key = is_layer, edges
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self._packed)
            self._packed.append(_pack(is_layer, edges))
        return found

    @property
    def packed(self) -> list[dict[str, Any]]:
        """Every layout as the page carries it."""
        return self._packed


def _pack(is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    laid_out = _laid_out(is_layer, edges)
    members, count = len(is_layer), len(edges)
    last = int(laid_out.starts[count])
    return {
        "width": round(laid_out.width, 1),
        "height": round(laid_out.height, 1),
        "x": packed("f4", laid_out.x[:members]),
        "y": packed("f4", laid_out.y[:members]),
        "source": packed("i4", [source for source, _, _ in edges]),
        "target": packed("i4", [target for _, target, _ in edges]),
        "starts": packed("u4", laid_out.starts[: count + 1]),
        "points": packed("f4", laid_out.points[:last].ravel()),
        "back": packed("u1", laid_out.is_back[:count]),
    }


def _laid_out(is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]]) -> LaidOut:
    members = len(is_layer)
    sizes = [LAYER_SIZE if one else GROUP_SIZE for one in is_layer]
    ends = {end for source, target, _ in edges for end in (source, target) if end < 0}
    place = {end: members + at for at, end in enumerate(sorted(ends, reverse=True))}
    sizes += [_OUTSIDE_SIZE] * len(place)
    pairs = [(place.get(a, a), place.get(b, b)) for a, b, _ in edges]
    groups = [tensor for _, _, tensor in edges]
    if place:
        pairs += _held_apart(members, pairs, place)
        groups += range(len(groups), len(pairs))
    table = np.array(sizes, dtype=np.float64).reshape(len(sizes), 2)
    boxes = Boxes(
        widths=table[:, 0].copy(),
        heights=table[:, 1].copy(),
        edges=np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
        groups=np.array(groups, dtype=np.int64),
    )
    return lay_out(boxes, _SPACING)


def _held_apart(
    members: int, pairs: Sequence[tuple[int, int]], place: dict[int, int]
) -> list[tuple[int, int]]:
    """Return edges that are not drawn: they keep what is outside above and below all members."""
    read = {source for source, _ in pairs}
    written = {target for _, target in pairs}
    made = []
    for end, at in place.items():
        if end == ENTRY:
            made += [(at, one) for one in range(members) if one not in written]
        else:
            made += [(one, at) for one in range(members) if one not in read]
    return made
