"""Whether the best class of an item changed although its reference was clear about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.accuracy.error_limits import populations
from enginescope.analysis.accuracy.topk_agreement import CLASSES
from enginescope.analysis.errors.channel_errors import ChannelErrors
from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.records.run.tensor_values import TensorValues

#: Changes that are kept, those with the largest margins.
_MOST_KEPT = 1024
#: Fewer classes than these are no scores: coordinates of boxes beside each other.
_FEWEST_PEERS = 5
#: Smallest probability whose logarithm is taken.
_SMALLEST = 1e-30


class Change(NamedTuple):
    """An item whose best class changed.

    Attributes:
        margin: How far the new class is below the best one in the reference, ÷ the spread of the
            item's scores. Of probabilities, their logarithms are compared: those are scores too.
        best, chosen: The best class of the reference, and the new one.
    """

    margin: float
    best: int
    chosen: int
    is_probability: bool


class BestClasses:
    """Follows the best class of every item of an output: its largest element on the last axis.

    Attributes:
        items: Items with a best class.
    """

    def __init__(self) -> None:
        self.items = 0
        self._changes: list[Change] = []

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        shape = reference.shape
        while len(shape) > 2 and shape[-1] == 1:
            shape = shape[:-1]
        is_scores = len(shape) in (2, 3) and CLASSES[0] <= shape[-1] <= CLASSES[1]
        if not is_scores or kind_of(reference.dtype) != "float" or 0 in shape:
            return
        a, b = (flat_numbers(values).reshape(-1, shape[-1]) for values in (reference, candidate))
        a, b = a.astype(np.float64), b.astype(np.float64)
        known = ~(np.isnan(a) | np.isnan(b)).any(axis=1)
        a, b = a[known], b[known]
        self.items += len(a)
        if not len(a):
            return
        best, chosen = a.argmax(axis=1), b.argmax(axis=1)
        rows = np.arange(len(a))
        changed = np.flatnonzero(a[rows, chosen] < a[rows, best])
        if changed.size:
            self._changes += _changes(a[changed], best[changed], chosen[changed])
            self._changes = sorted(self._changes, reverse=True)[:_MOST_KEPT]

    def clear(self, most: float, channels: Sequence[ChannelErrors]) -> list[Change]:
        """Return the changes whose margin is more than `most`, the largest first.

        Args:
            channels: Of the output: values of other populations, as boxes beside scores, are no
                classes, and rows of other populations no items.
        """
        if len(channels) > 1 and populations(channels[0])[1].any():
            return []
        if any(populations(each)[1].max(initial=0) for each in channels[:-1]):
            return []  # the items are boxes and scores: the last axis is one of anchors
        group = populations(channels[-1])[1] if channels else np.zeros(0, dtype=np.int64)
        peers = np.bincount(group)
        return [
            change
            for change in self._changes
            if change.margin > most and (change.is_probability or _are_peers(change, group, peers))
        ]


def _are_peers(change: Change, group: Any, peers: Any) -> bool:
    if max(change.best, change.chosen) >= group.size:
        return False
    ours, theirs = group[change.best], group[change.chosen]
    return bool(ours == theirs and peers[ours] >= _FEWEST_PEERS)


def _changes(scores: Any, best: Any, chosen: Any) -> Iterator[Change]:
    is_probability = (scores.min(axis=1) >= 0) & (scores.max(axis=1) <= 1)
    logarithms = np.log(np.clip(scores, _SMALLEST, None))
    scores = np.where(is_probability[:, None], logarithms, scores)
    # of the upper half: masked classes are far below all others
    above = np.maximum(scores - np.median(scores, axis=1, keepdims=True), 0.0)
    spread = np.sqrt(2 * np.square(above).mean(axis=1))
    rows = np.arange(len(scores))
    margin = scores[rows, best] - scores[rows, chosen]
    for row in np.flatnonzero(spread > 0):
        yield Change(
            margin=float(margin[row] / spread[row]),
            best=int(best[row]),
            chosen=int(chosen[row]),
            is_probability=bool(is_probability[row]),
        )
