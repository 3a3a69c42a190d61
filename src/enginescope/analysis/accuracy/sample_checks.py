"""Check outputs across samples: is another sample's reference nearer, do the best classes stay?

Outputs of one model resemble each other. A side that mixes samples up may then be within any
tolerance that is wide enough for INT8, and is still wrong. Items of a batch are samples too.

Whether values are the right ones in the wrong places: axes swapped, channels reversed.

A map that looks much alike from both corners, or a picture whose channels resemble each other, may
be within wide limits with its axes swapped or its channels reversed, and is still wrong.
Whether an output was rounded to 8 bits although its row of limits is of a finer type.

Whether the best class of an item changed although its reference was clear about it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from enginescope.analysis.accuracy.error_limits import populations
from enginescope.analysis.errors.channel_errors import ChannelErrors, flat_numbers, kind_of
from enginescope.core.record import Record
from enginescope.records.run.run import TensorValues

#: Samples that each one is compared with: those before it, and it again by those after.
KEPT = 3
#: Items of a batch, the first axis, that are told apart; of more only the first.
_MOST_ITEMS = 64
#: Of more elements every n-th is taken: the distances of so many tell samples apart.
_ENOUGH_ELEMENTS = 1 << 16
#: By how many standard deviations of the side's own error two references must differ for that
#: error not to carry an output past the middle between them: half of it.
_APART = 6.0
#: So many elements at most are taken to have errors of their own: those of neighbors are alike.
_INDEPENDENT = 256


class _Item(NamedTuple):
    at: tuple[int, int]
    reference: Any
    candidate: Any
    own: float


class NearestReference:
    """Follows one output over the samples.

    Attributes:
        samples: Samples, or items of batches, that had another to be told apart from.
    """

    def __init__(self) -> None:
        self._kept: deque[_Item] = deque(maxlen=KEPT)
        self._compared, self._astray, self._clear = (set[tuple[int, int]]() for _ in range(3))

    @property
    def samples(self) -> int:
        """Samples that had another to be told apart from."""
        return len(self._compared)

    @property
    def astray(self) -> int:
        """Samples whose output is nearer to another sample's reference than to its own."""
        return len(self._astray)

    @property
    def clearly_astray(self) -> int:
        """Samples whose output is three times nearer to another sample's reference."""
        return len(self._clear)

    def add(self, sample: int, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        if kind_of(reference.dtype) not in ("float", "int"):
            return
        for number, (a, b) in enumerate(zip(_items(reference), _items(candidate), strict=True)):
            item = _Item((sample, number), a, b, squared_distance(a, b))
            for other in self._kept:
                if other.reference.shape == a.shape:
                    gap = squared_distance(a, other.reference)
                    self._judge(item, other.reference, gap)
                    self._judge(other, a, gap)
            self._kept.append(item)

    def _judge(self, item: _Item, reference: Any, gap: float) -> None:
        """Compare an item with another's reference, where the two differ enough."""
        other = squared_distance(reference, item.candidate)
        if not are_apart(gap, min(item.own, other), item.reference.size):
            return
        self._compared.add(item.at)
        if other < item.own:
            self._astray.add(item.at)
        # even where rounding moves all elements alike: three times nearer
        if 9 * other < item.own:
            self._clear.add(item.at)


def _items(values: TensorValues) -> Iterator[Any]:
    """Yield the items along the first axis; the whole where it has none or one."""
    flat, shape = flat_numbers(values), values.shape
    count = shape[0] if len(shape) > 1 and shape[0] > 1 else 1
    for item in flat.reshape(count, -1)[:_MOST_ITEMS]:
        yield _wide(item[:: max(1, item.size // _ENOUGH_ELEMENTS)])


def are_apart(gap: float, error: float, size: int) -> bool:
    """Whether two references differ by so much that a side's own error cannot hide which is meant.

    Args:
        gap, error: Squared distances: between the references, and of the output from the nearer
            one.
        size: Elements; their errors cancel, the more of them there are.
    """
    return gap > 0 and gap * min(size, _INDEPENDENT) >= _APART**2 * error


def squared_distance(a: Any, b: Any) -> float:
    """Return the sum of squared differences."""
    with np.errstate(over="ignore"):
        return float(np.square(a - b).sum())


#: Rows and columns that are looked at, of more every n-th; and elements.
_MOST_SIDE = 256
_ENOUGH_FOR_AXES = 1 << 16

_Change: TypeAlias = Callable[[Any], Any]


class NearestArrangement:
    """Follows one output over the samples.

    Attributes:
        samples: By arrangement, samples in which it could be told from the right one.
        astray: By arrangement, samples whose output is nearer to the reference arranged so.
    """

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        self.astray: dict[str, int] = {}

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        shape = reference.shape
        if kind_of(reference.dtype) not in ("float", "int") or len(shape) < 2 or 0 in shape:
            return
        a, b = (flat_numbers(one).reshape(shape) for one in (reference, candidate))
        for name, thin, arrange in _arrangements(shape):
            ours, theirs = _wide(thin(a)), _wide(thin(b))
            arranged = arrange(ours)
            own, other = squared_distance(ours, theirs), squared_distance(arranged, theirs)
            gap = squared_distance(ours, arranged)
            if not are_apart(gap, min(own, other), ours.size):
                continue
            self.samples[name] = self.samples.get(name, 0) + 1
            if other < own:
                self.astray[name] = self.astray.get(name, 0) + 1


def _arrangements(shape: tuple[int, ...]) -> Iterator[tuple[str, _Change, _Change]]:
    """Yield other arrangements of a shape: name, what is looked at, and how that is arranged."""
    if shape[-1] == shape[-2] > 1:
        thinned = partial(_squares, side=shape[-1])
        yield "its last two axes swapped", thinned, lambda values: values.swapaxes(-1, -2)
    axis = next((one for one in (1, 3) if len(shape) == 4 and shape[one] in (3, 4)), None)
    if axis is not None:
        step = max(1, max(shape[2:] if axis == 1 else shape[1:3]) // _MOST_SIDE)
        thin: list[Any] = [slice(2), *[slice(None, None, step)] * 3]
        thin[axis] = slice(None)
        yield "its channels reversed", itemgetter(tuple(thin)), partial(np.flip, axis=axis)


def _squares(array: Any, side: int) -> Any:
    """Return some of the squares that the last two axes are, each thinned alike on both."""
    step = max(1, side // _MOST_SIDE)
    thinned = array.reshape(-1, side, side)[:, ::step, ::step]
    enough = max(1, _ENOUGH_FOR_AXES // thinned[0].size)
    return thinned[:: max(1, len(thinned) // enough)]


def _wide(array: Any) -> Any:
    wide = array.astype(np.float64)
    return np.where(np.isfinite(wide), wide, 0.0)


#: Different values that 8 bits have, and those of the rounded reference that they are too few for.
_EIGHT_BITS, _MANY = 256, 512
#: Types whose values are finer than 8 bits, by row.
_TYPES = {"fp64": np.float64, "fp32": np.float32, "tf32": np.float16, "fp16": np.float16}


class ValueSteps:
    """Counts the different values of both sides, until this side has more than 8 bits have.

    Attributes:
        reference, candidate: Different values: of the reference rounded to the row's type, and of
            this side.
    """

    def __init__(self, row: str) -> None:
        self._row = row
        self._values: tuple[Any, Any] = (np.zeros(0), np.zeros(0))
        self._is_open = row in (*_TYPES, "bf16")

    @property
    def reference(self) -> int:
        """Different values of the reference."""
        return len(self._values[0])

    @property
    def candidate(self) -> int:
        """Different values of this side."""
        return len(self._values[1])

    @property
    def are_few(self) -> bool:
        """Whether this side has no more values than 8 bits, where the row's type has many."""
        return self._is_open and self.reference >= _MANY

    def add(self, reference: TensorValues, candidate: TensorValues) -> None:
        """Add one sample's output, of the same shape on both sides."""
        if not self._is_open or kind_of(reference.dtype) != "float":
            return
        a, b = flat_numbers(reference), flat_numbers(candidate)
        step = max(1, a.size >> 14)
        theirs = np.union1d(self._values[1], b[::step])
        if len(theirs) > _EIGHT_BITS:
            self._is_open, self._values = False, (np.zeros(0), np.zeros(0))
            return
        ours = self._values[0]
        if len(ours) < _MANY:
            ours = np.union1d(ours, _rounded(a[::step], self._row))
        self._values = ours, theirs


def _rounded(values: Any, row: str) -> Any:
    if row == "bf16":  # the upper half of FP32
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
        return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
    with np.errstate(over="ignore"):
        return values.astype(_TYPES[row])


#: Fewer or more classes than these are not taken for scores of a classifier.
CLASSES = (5, 200_000)


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
    shape = reference.shape[:2]
    a, b = (flat_numbers(one).astype(np.float64).reshape(shape) for one in (reference, candidate))
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
        top5=int(np.count_nonzero((better < 5) & sound)),
    )


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
            self._changes = sorted(self._changes, reverse=True)[:1024]

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

        def are_classes(change: Change) -> bool:
            """Whether both are of one population, too large for coordinates of a box."""
            if max(change.best, change.chosen) >= group.size:
                return False
            ours, theirs = group[change.best], group[change.chosen]
            return bool(ours == theirs and peers[ours] >= 5)

        return [
            change
            for change in self._changes
            if change.margin > most and (change.is_probability or are_classes(change))
        ]


def _changes(scores: Any, best: Any, chosen: Any) -> Iterator[Change]:
    is_probability = (scores.min(axis=1) >= 0) & (scores.max(axis=1) <= 1)
    logarithms = np.log(np.clip(scores, 1e-30, None))
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
