"""Which backend is fastest in each case of a suite, and by how much."""

from __future__ import annotations

import math

from enginescope.analysis.suites.suite_table import Case, case_of, lost_fp16
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.core.record import Record
from enginescope.judge.samples import Interval
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult


class Win(Record, frozen=True, kw_only=True):
    """The fastest backend of one case.

    Attributes:
        fastest: Its row, of those whose outputs were not found wrong.
        second: The next fastest; ``None``: no other backend has a latency.
        ratio: How many times as fast as `second`, of the medians.
        interval: Of `ratio`; ``None`` where either median has none, or is of one process on a
            busy machine, which differs from others by more than is assumed.
    """

    case: Case
    fastest: CellRow
    second: CellRow | None = None
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def is_unstable(self) -> bool:
        """Whether a side is a single process on a busy machine."""
        return any(map(_is_unstable, filter(None, (self.fastest, self.second))))

    @property
    def is_inconclusive(self) -> bool:
        """Whether it is open which of both is faster."""
        reaches_one = self.interval is not None and self.interval.low <= 1
        return self.second is not None and (self.is_unstable or reaches_one)


def wins(result: SuiteResult) -> tuple[Win, ...]:
    """Return the fastest backend of each case in which any has a latency, in the suite's order.

    A backend that computes FP32 in place of FP16 is not ranked beside others.
    """
    timed: dict[Case, list[tuple[float, CellRow]]] = {}
    for row in result.rows:
        latency = row.figure("latency")
        if row.status is CellStatus.OK and latency:
            timed.setdefault(case_of(row.cell), []).append((latency, row))
    return tuple(_win(case, found) for case, found in timed.items())


def _win(case: Case, timed: list[tuple[float, CellRow]]) -> Win:
    ranked = [one for one in timed if not lost_fp16(one[1])] or timed
    (least, fastest), *others = sorted(ranked, key=lambda one: one[0])
    if not others:
        return Win(case=case, fastest=fastest)
    more, second = others[0]
    interval = _ratio_interval(fastest, second)
    return Win(case=case, fastest=fastest, second=second, ratio=more / least, interval=interval)


def _is_unstable(row: CellRow) -> bool:
    return row.is_unstable and len(row.run_ids) == 1


def _ratio_interval(a: CellRow, b: CellRow) -> Interval | None:
    """Return the interval of B ÷ A of two medians, each with an interval of its own.

    Their reaches add in squares on the logarithmic scale (Zou and Donner 2008, *Construction of
    confidence limits about effect measures*). What processes differ by is not in the interval of
    one process: it is assumed, as for a comparison of one process a side.
    """
    names = ("latency_low", "latency", "latency_high")
    ends = [row.figure(name) for row in (a, b) for name in names]
    if any(not one for one in ends) or any(map(_is_unstable, (a, b))):
        return None
    a_low, a_middle, a_high, b_low, b_middle, b_high = (math.log(one) for one in ends if one)
    middle = b_middle - a_middle
    assumed = [CompareConfig().scatter for row in (a, b) if len(row.run_ids) == 1]
    low = middle - math.hypot(b_middle - b_low, a_high - a_middle, *assumed)
    high = middle + math.hypot(b_high - b_middle, a_middle - a_low, *assumed)
    return Interval(low=math.exp(low), high=math.exp(high))
