"""Which tensors to look at next, until the one that departs most from the reference is known.

Errors do not grow monotonically: a ReLU hides them, a sigmoid squashes an overflow. The start is
therefore the tensor whose error is largest in proportion to the errors of its inputs, and not the
first tensor beyond a limit. The search ends when everything between that tensor and its inputs has
been looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from enginescope.analysis.bisection.tensor_pairs import TensorPair

#: Share of the limit from which on an error counts as passed on by an operator.
CARRIED = 0.1

#: Each tensor looked at, with its error as a share of its limit; ``None``: could not be compared.
Seen = Mapping[str, float | None]


def departure(share: float, inputs: float) -> float:
    """Return an error in proportion to that of its inputs; both are shares of their limits."""
    return 0.0 if math.isinf(inputs) else share / max(inputs, CARRIED)


class Bisection:
    """A search over tensors in an order in which they can be computed.

    Args:
        most: Tensors looked at in one round.
    """

    def __init__(self, pairs: Sequence[TensorPair], most: int) -> None:
        self._order = [pair.tensor for pair in pairs]
        self._place = {name: at for at, name in enumerate(self._order)}
        self._parents = {pair.tensor: pair.parents for pair in pairs}
        self._ends = {pair.tensor for pair in pairs if pair.is_end}
        self._most = most

    def next(self, seen: Seen) -> tuple[str, ...]:
        """Return what to look at next; nothing: the search is over."""
        if not seen:
            inner = [name for name in self._order if name not in self._ends]
            chosen = {*self._spread(inner), *self._ends}
            return tuple(sorted(chosen, key=self._place.__getitem__))
        start = self.start(seen)
        if start is None:
            return ()
        return self._spread([one for one in self.passed(start, seen) if one not in seen])

    def start(self, seen: Seen) -> str | None:
        """Return the tensor that departs most, of those whose error reaches a failing output.

        Where no output is over its limits: of all tensors over theirs.
        """
        over = {name for name, share in seen.items() if share is not None and share > 1}
        among = self.reaching(seen) or over
        order = sorted(among, key=self._place.__getitem__)
        return max(order, key=lambda name: self.departure(name, seen), default=None)

    def departure(self, tensor: str, seen: Seen) -> float:
        """Return a tensor's error in proportion to the largest error of its inputs."""
        inputs = (seen[name] or 0.0 for name in self.nearest(tensor, seen))
        return departure(seen[tensor] or 0.0, max(inputs, default=0.0))

    def reaching(self, seen: Seen) -> set[str]:
        """Return tensors whose error reaches an output that is over its limits."""
        found: set[str] = set()
        queue = [name for name in self._ends if (seen.get(name) or 0.0) > 1]
        while queue:
            name = queue.pop()
            if name not in found:
                found.add(name)
                queue += [one for one in self.nearest(name, seen) if (seen[one] or 0.0) > CARRIED]
        return found

    def nearest(self, tensor: str, seen: Seen) -> tuple[str, ...]:
        """Return the nearest tensors before a tensor that were compared."""
        return self._before(tensor, seen)[0]

    def passed(self, tensor: str, seen: Seen) -> tuple[str, ...]:
        """Return the tensors between a tensor and those: they were not compared."""
        return self._before(tensor, seen)[1]

    def _before(self, tensor: str, seen: Seen) -> tuple[tuple[str, ...], tuple[str, ...]]:
        compared: set[str] = set()
        passed: set[str] = set()
        queue = list(self._parents[tensor])
        while queue:
            name = queue.pop()
            if seen.get(name) is not None:
                compared.add(name)
            elif name not in passed:
                passed.add(name)
                queue += self._parents[name]
        both = (tuple(sorted(one, key=self._place.__getitem__)) for one in (compared, passed))
        return next(both), next(both)

    def _spread(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return as many as a round may look at, evenly spread, the last among them."""
        count = len(names)
        if count <= self._most:
            return tuple(names)
        step = count / self._most
        return tuple(names[int((at + 1) * step) - 1] for at in range(self._most))
