"""A tall drawing in columns side by side, as text is set."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from enginescope.analysis.graph.layout.routes import Point

#: Lower drawings stay one column, pixels.
LEAST_HEIGHT = 640.0
# Beside the lines between columns; between these lines, and all of them together at most.
_BESIDE, _LANE, _MOST_LANES = 22.0, 6.0, 72.0
# A cut lies this far below the nodes above it, and at most this part of a column beside its place.
_BELOW, _WINDOW = 4.0, 0.2


@dataclass(frozen=True)
class Sheet:
    """A drawing from 0, 0.

    Attributes:
        x, y, widths: Of the nodes.
        lines: Points of the edges.
        borders: Left and right of each column; empty for one column.
    """

    x: list[float]
    y: list[float]
    widths: list[float]
    lines: list[list[Point]]
    width: float
    height: float
    borders: tuple[float, ...] = ()


def wrapped(sheet: Sheet, bottoms: Sequence[float], aspect: float) -> Sheet:
    """Return the drawing in columns, edges led from the foot of one to the head of the next.

    Args:
        bottoms: Lower border of each layer of nodes, in rising order.
        aspect: Width over height that the columns together aim at.
    """
    cuts = _cuts(sheet, bottoms, aspect) if sheet.height > LEAST_HEIGHT else []
    return _Columns(sheet, cuts).sheet() if cuts else sheet


def _cuts(sheet: Sheet, bottoms: Sequence[float], aspect: float) -> list[float]:
    """Return where the columns end: near equal heights, where the fewest lines cross."""
    ends = [one + _BELOW for one in bottoms[:-1]]
    change = [0] * (len(ends) + 1)
    for line in sheet.lines:
        for (_, y), (_, other) in pairwise(line):
            change[bisect_left(ends, min(y, other))] += 1
            change[bisect_left(ends, max(y, other))] -= 1
    crossing = [0]
    for step in change:
        crossing.append(crossing[-1] + step)
    column = math.sqrt(_area(sheet, bottoms) / aspect)
    count = round(sheet.height / column) if column else 1
    borders = set()
    for number in range(1, count):
        place = sheet.height * number / count
        near = [at for at, end in enumerate(ends) if abs(end - place) < _WINDOW * column]
        if near:
            borders.add(min(near, key=lambda at: (crossing[at + 1], abs(ends[at] - place))))
    return [ends[at] for at in sorted(borders)]


def _area(sheet: Sheet, bottoms: Sequence[float]) -> float:
    """Return what the layers take, each as wide as its nodes."""
    spans: dict[int, tuple[float, float]] = {}
    for x, y, width in zip(sheet.x, sheet.y, sheet.widths, strict=True):
        rank = bisect_left(bottoms, y)
        left, right = spans.get(rank, (x, x))
        spans[rank] = min(left, x - width / 2), max(right, x + width / 2)
    height = sheet.height / max(1, len(bottoms))
    return sum(right - left + 2 * _BESIDE for left, right in spans.values()) * height


class _Columns:
    """Columns and the lanes between them, and what lies in each moved to its place."""

    def __init__(self, sheet: Sheet, cuts: list[float]) -> None:
        self._given, self._cuts = sheet, cuts
        crossing = [set[float]() for _ in cuts]
        spans = [(math.inf, -math.inf)] * (len(cuts) + 1)
        for x, y, width in zip(sheet.x, sheet.y, sheet.widths, strict=True):
            spans[self._column(y)] = _wider(spans[self._column(y)], x - width / 2, x + width / 2)
        for line in sheet.lines:
            for column, x in self._passed(line, crossing):
                spans[column] = _wider(spans[column], x, x)
        #: Places of the lines that cross each cut: the rightmost turns first.
        self._lanes = [
            {x: at for at, x in enumerate(sorted(some, reverse=True))} for some in crossing
        ]
        self._pitch = [min(_LANE, _MOST_LANES / max(1, len(some))) for some in crossing]
        self._shift, self._borders, left = [], [], 0.0
        for column, (low, high) in enumerate(spans):
            self._shift.append(left - low)
            self._borders += [left, left + high - low]
            left += high - low + 2 * _BESIDE + (self._room(column) if column < len(cuts) else 0.0)

    def _column(self, y: float) -> int:
        return bisect_left(self._cuts, y)

    def _room(self, cut: int) -> float:
        return len(self._lanes[cut]) * self._pitch[cut]

    def _passed(self, line: list[Point], crossing: list[set[float]]) -> Iterator[tuple[int, float]]:
        """Yield column and x of points and crossings, and collect the latter by their cuts."""
        for x, y in line:
            yield self._column(y), x
        for upper, lower in (sorted(pair, key=lambda one: one[1]) for pair in pairwise(line)):
            for cut in range(self._column(upper[1]), self._column(lower[1])):
                crossing[cut].add(upper[0])
                yield cut, upper[0]
                yield cut + 1, upper[0]

    def _top(self, column: int) -> tuple[float, float]:
        """Return where a column begins in the given drawing, and how far down in the made one."""
        if not column:
            return 0.0, 0.0
        return self._cuts[column - 1], self._room(column - 1) + _BESIDE

    def _moved(self, column: int, x: float, y: float) -> Point:
        begin, head = self._top(column)
        return x + self._shift[column], y - begin + head

    def _across(self, cut: int, x: float) -> list[Point]:
        """Return the way from the foot of a column to the head of the next."""
        lane, pitch = self._lanes[cut][x], self._pitch[cut]
        start, end = self._moved(cut, x, self._cuts[cut]), self._moved(cut + 1, x, self._cuts[cut])
        foot, head = start[1] + (lane + 1) * pitch, lane * pitch
        beside = self._borders[2 * cut + 1] + _BESIDE + lane * pitch
        return [(start[0], foot), (beside, foot), (beside, head), (end[0], head), end]

    def _line(self, line: list[Point]) -> list[Point]:
        if not line:
            return line
        points = [self._moved(self._column(line[0][1]), *line[0])]
        for first, last in pairwise(line):
            begin, end = self._column(first[1]), self._column(last[1])
            for cut in range(begin, end):
                points += self._across(cut, first[0])
            for cut in range(begin - 1, end - 1, -1):
                points += self._across(cut, last[0])[::-1]
            points.append(self._moved(end, *last))
        return points

    def sheet(self) -> Sheet:
        """Return the drawing."""
        given = self._given
        nodes = [self._moved(self._column(y), x, y) for x, y in zip(given.x, given.y, strict=True)]
        ends = [*self._cuts, given.height]
        feet = [
            self._moved(column, 0.0, end)[1]
            + (self._room(column) + _BESIDE if column < len(self._cuts) else 0.0)
            for column, end in enumerate(ends)
        ]
        return Sheet(
            x=[x for x, _ in nodes],
            y=[y for _, y in nodes],
            widths=given.widths,
            lines=[self._line(line) for line in given.lines],
            width=self._borders[-1],
            height=max(feet),
            borders=tuple(self._borders),
        )


def _wider(span: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    return min(span[0], low), max(span[1], high)
