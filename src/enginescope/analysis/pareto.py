"""Which of several ways nothing else is better than in both of two things."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float | None, float | None]]) -> tuple[int, ...]:
    """Return the numbers of the points that nothing is smaller than in one and no larger in both.

    Parameters
    ----------
    points : sequence of (first, second)
        Smaller is better; a point of which one is not known belongs to nobody's choice.
    """
    known = [(a, b, at) for at, (a, b) in enumerate(points) if a is not None and b is not None]
    best: float | None = None
    found: list[int] = []
    tied: tuple[float, float] | None = None
    for a, b, at in sorted(known):
        if best is None or b < best:
            found.append(at)
            best, tied = b, (a, b)
        elif tied == (a, b):  # the same point twice: both are on it
            found.append(at)
    return tuple(sorted(found))
