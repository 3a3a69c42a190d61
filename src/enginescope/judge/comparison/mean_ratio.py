"""The geometric mean of ratios that were measured on their own, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from enginescope.judge.samples import Interval

_NORMAL = NormalDist()


class MeasuredRatio(NamedTuple):
    """One ratio.

    Attributes:
        interval: ``None``: not known.
        is_exact: The figures do not scatter, such as a file's size: there is nothing to add.
    """

    ratio: float
    interval: Interval | None
    is_exact: bool = False


def mean_ratio(
    ratios: Sequence[MeasuredRatio], *, is_shared: bool = False
) -> tuple[float, Interval | None]:
    """Return the geometric mean of `ratios` with its interval.

    The interval is about these models and no others. What each ratio's interval reaches to either
    side adds in squares on the logarithmic scale (Zou and Donner 2008, *Construction of confidence
    limits about effect measures*). Intervals of other confidence than the lowest of all are
    narrowed as those of a normal distribution.

    Args:
        ratios: At least one; above 0.
        is_shared: The errors have a common cause, such as the session, and do not average out:
            their reaches add as they are.

    Returns:
        No interval where one of the ratios has none.
    """
    count = len(ratios)
    middle = sum(math.log(one.ratio) for one in ratios) / count
    intervals = [(one.ratio, one.interval) for one in ratios if not one.is_exact]
    known = [(ratio, interval) for ratio, interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return math.exp(middle), None
    confidence = min((interval.confidence for _, interval in known), default=0.95)
    down, up = [], []
    for ratio, interval in known:
        factor = _quantile(confidence) / _quantile(interval.confidence)
        down.append(factor * math.log(ratio / interval.low))
        up.append(factor * math.log(interval.high / ratio))
    add = math.fsum if is_shared else _root_of_squares
    return math.exp(middle), Interval(
        low=math.exp(middle - add(down) / count),
        high=math.exp(middle + add(up) / count),
        confidence=confidence,
    )


def _quantile(confidence: float) -> float:
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def _root_of_squares(values: Sequence[float]) -> float:
    return math.hypot(*values)
