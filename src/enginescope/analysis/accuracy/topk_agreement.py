"""Whether a classifier's best classes stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.analysis.errors.output_numbers import flat_numbers, kind_of
from enginescope.core.record import Record
from enginescope.records.run.tensor_values import TensorValues

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
    # how many beat the reference's best, in the candidate
    best = chosen[items, a.argmax(axis=1)]
    better = (chosen > best[:, None]).sum(axis=1)
    return RankAgreement(
        rows=len(a),
        top1=int(np.count_nonzero(same)),
        top5=int(np.count_nonzero((better < _FEW) & sound)),
    )


def _rows(values: TensorValues) -> Any:
    return flat_numbers(values).astype(np.float64).reshape(values.shape[0], values.shape[1])
