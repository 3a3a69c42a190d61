"""One error rate for a whole gate: how sure each regression has to be.

A gate with many rows asks many questions, and each has its own chance of a false alarm. Holm's
step-down procedure (Holm 1979, *A simple sequentially rejective multiple test procedure*) bounds
the chance that any unchanged row fails, however the rows depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from enginescope.records.verdict.gate import GateOutcome, GateRow
from enginescope.records.verdict.verdict import VerdictKind

#: From the one-sided share of false regressions that a row may have to the row at that share.
RowAt = Callable[[float], GateRow]


def rows_of_whole_gate(tests: Sequence[RowAt], confidence: float) -> tuple[GateRow, ...]:
    """Return the rows of a gate that raises a false regression with 1 − `confidence` at most.

    Args:
        tests: One for each job and metric.
        confidence: Of the whole gate. A row's own interval has this confidence or more.

    Returns:
        In the order of `tests`. Each shows the interval that decided it. A row that would be a
        regression by itself and is none among so many is undecided, and says so.
    """
    share = 1 - confidence
    rows = [test(share / 2) for test in tests]
    tested = sum(map(is_tested, rows))
    left = {at for at, row in enumerate(rows) if _is_regression(row)}
    count = tested
    while left and share / count < share / 2:
        stricter = {at: tests[at](share / count) for at in sorted(left)}
        sure = {at for at, row in stricter.items() if _is_regression(row)}
        if not sure:
            for at, row in stricter.items():
                rows[at] = _among_many(row, rows[at], tested)
            break
        for at in sure:
            rows[at] = stricter[at]
        left -= sure
        count -= len(sure)
    return tuple(rows)


def is_tested(row: GateRow) -> bool:
    """Whether chance has a part in the row's outcome: it has an interval."""
    verdict = row.verdict
    if verdict is None or verdict.kind is VerdictKind.INCOMPARABLE:
        return False
    return verdict.estimate is not None and verdict.estimate.interval is not None


def _is_regression(row: GateRow) -> bool:
    return row.outcome is GateOutcome.REGRESSION and is_tested(row)


def _among_many(row: GateRow, alone: GateRow, tested: int) -> GateRow:
    """Return a row that is a regression only at the confidence of a single row."""
    own, needed = (
        f"{100 * one.verdict.estimate.interval.confidence:.4g} %"
        if one.verdict and one.verdict.estimate and one.verdict.estimate.interval
        else "more"
        for one in (alone, row)
    )
    why = (
        f"a regression at {own} confidence, but not at the {needed} that one of "
        f"{tested} rows needs; measure more processes"
    )
    return replace(row, why=why)
