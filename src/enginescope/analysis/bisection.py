"""Which tensors to look at next, until the first that departs from the reference is known.

Errors do not grow monotonically: a ReLU hides them, a sigmoid squashes an overflow. So a tensor
that is within its limits says nothing of what lies before it on another path, and the search is
over only when everything that the first departing tensor is computed from was looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from enginescope.analysis.tensor_pairs import TensorPair


class Level(IntEnum):
    """How far a tensor is from the reference's.

    ``CARRIES``: within its limits, but near enough to them to hand an error on that a layer before
    it made and one behind it makes larger.
    """

    FINE = 0
    CARRIES = 1
    OVER = 2


class Bisection:
    """A search over tensors in an order in which they can be computed.

    Parameters
    ----------
    pairs : sequence of TensorPair
    most : int
        Tensors looked at in one round.
    """

    def __init__(self, pairs: Sequence[TensorPair], most: int) -> None:
        self._order = [one.reference for one in pairs]
        self._place = {name: at for at, name in enumerate(self._order)}
        self._parents = {one.reference: one.parents for one in pairs}
        self._outputs = {one.reference for one in pairs if one.is_output}
        self._most = most

    def next(self, seen: Mapping[str, Level]) -> tuple[str, ...]:
        """Return what to look at next.

        Parameters
        ----------
        seen : mapping of str to Level
            Every tensor looked at so far.

        Returns
        -------
        tuple of str
            Nothing: the search is over.
        """
        if not seen:
            inner = [name for name in self._order if name not in self._outputs]
            chosen = {*self._spread(inner), *self._outputs}
            return tuple(sorted(chosen, key=self._place.__getitem__))
        found = self.first(seen)
        if found is None:
            return ()
        near = [one for one in self._parents[found] if one not in seen]
        if not near:
            return ()
        before = self._before([found])
        behind = self._before([one for one in before if seen.get(one) is Level.FINE])
        suspects = [one for one in before - behind if one not in seen]
        some = suspects if set(near) <= set(suspects) else list({*suspects, *near})
        return self._spread(sorted(some, key=self._place.__getitem__))

    def first(self, seen: Mapping[str, Level]) -> str | None:
        """Return the first tensor over its limits.

        Where an output of the model is over them: the first of those whose error reaches it.
        """
        reaching = self.reaching(seen)
        all_over = {name for name, level in seen.items() if level is Level.OVER}
        among = reaching & all_over or all_over
        return min(among, key=self._place.__getitem__, default=None)

    def reaching(self, seen: Mapping[str, Level]) -> set[str]:
        """Return tensors whose error reaches an output that is over its limits."""
        found: set[str] = set()
        open_ = [name for name in self._outputs if seen.get(name) is Level.OVER]
        while open_:
            name = open_.pop()
            if name not in found:
                found.add(name)
                open_ += [one for one in self.nearest(name, seen) if seen[one]]
        return found

    def nearest(self, tensor: str, seen: Mapping[str, Level]) -> tuple[str, ...]:
        """Return the nearest tensors before one that were looked at."""
        found: dict[str, None] = {}
        passed: set[str] = set()
        open_ = list(self._parents[tensor])
        while open_:
            name = open_.pop()
            if name in passed:
                continue
            passed.add(name)
            if name in seen:
                found[name] = None
            else:
                open_ += self._parents[name]
        return tuple(sorted(found, key=self._place.__getitem__))

    def _before(self, tensors: Iterable[str]) -> set[str]:
        """Return everything that some tensors are computed from."""
        found: set[str] = set()
        open_ = [one for name in tensors for one in self._parents[name]]
        while open_:
            name = open_.pop()
            if name not in found:
                found.add(name)
                open_ += self._parents[name]
        return found

    def _spread(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return as many as a round may look at, evenly spread, the last among them."""
        count = len(names)
        if count <= self._most:
            return tuple(names)
        step = count / self._most
        return tuple(names[int((at + 1) * step) - 1] for at in range(self._most))
