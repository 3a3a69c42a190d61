"""Whether a classifier's best classes stay the same.

Whether the best class of an item changed although its reference was clear about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.accuracy.error_limits import populations
from enginescope.analysis.errors.channel_errors import ChannelErrors, flat_numbers, kind_of
from enginescope.core.record import Record
from enginescope.records.run.run import TensorValues

#: Fewer or more classes than these are not taken for scores of a classifier.
CLASSES = (5, 200_000)
_FEW = 5


class RankAgreement(Record, frozen=True, kw_only=True):
    """How often the best class is the same.

    Attributes:
        rows: Items with a best class.
        top1: Items whose best class is the reference's, or one that ties with it there.
        top5: Items whose five best classes hold the reference's best.
    """

    rows: int = 0
    top1: int = 0
    top5: int = 0

    def __add__(self, other: RankAgreement) -> RankAgreement:
        """Return both counts together."""
        return RankAgreement(
            rows=self.rows + other.rows, top1=self.top1 + other.top1, top5=self.top5 + other.top5
        )

    @property
    def top1_pct(self) -> float | None:
        """Share of items whose best class is the same."""
        return 100 * self.top1 / self.rows if self.rows else None

    @property
    def top5_pct(self) -> float | None:
        """Share of items whose five best classes hold the reference's best."""
        return 100 * self.top5 / self.rows if self.rows else None


def looks_like_scores(values: TensorValues) -> bool:
    """Whether a tensor has the form of a classifier's scores: floats, items × classes."""
    shape = values.shape
    is_flat = len(shape) >= 2 and all(one == 1 for one in shape[2:])
    return is_flat and kind_of(values.dtype) == "float" and CLASSES[0] <= shape[1] <= CLASSES[1]


def rank_agreement(reference: TensorValues, candidate: TensorValues) -> RankAgreement:
    """Return the agreement of two tensors of scores of one shape; items with a NaN never agree."""
    a, b = _rows(reference), _rows(candidate)
    known = ~np.isnan(a).any(axis=1)
    a, b = a[known], b[known]
    if not a.size:
        return RankAgreement()
    items = np.arange(len(a))
    sound = ~np.isnan(b).any(axis=1)
    chosen = np.where(np.isnan(b), -np.inf, b)
    same = (a[items, chosen.argmax(axis=1)] == a.max(axis=1)) & sound
    # how many beat the reference's best, in the candidate; of equal best ones its favorite
    best = np.where(a == a.max(axis=1, keepdims=True), chosen, -np.inf).max(axis=1)
    better = (chosen > best[:, None]).sum(axis=1)
    return RankAgreement(
        rows=len(a),
        top1=int(np.count_nonzero(same)),
        top5=int(np.count_nonzero((better < _FEW) & sound)),
    )


def _rows(values: TensorValues) -> Any:
    return flat_numbers(values).astype(np.float64).reshape(values.shape[0], values.shape[1])


#: Changes that are kept, those with the largest margins.
_MOST_KEPT = 1024
#: Fewer classes than these are not scores: coordinates of boxes beside each other.
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
