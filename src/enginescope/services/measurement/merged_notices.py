"""Warnings of many processes as one list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.notice import is_unstable

if TYPE_CHECKING:
    from enginescope.records.run.run import Run


def merged_notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return each warning of the runs once, with the number of processes that have it.

    The figures are unstable where half of all processes are, as those of a suite.
    """
    by_code: dict[str, list[Notice]] = {}
    for run in runs:
        for notice in run.notices:
            if notice.level == "warning":
                by_code.setdefault(notice.code, []).append(notice)
    return tuple(_merged(notices, len(runs)) for notices in by_code.values())


def _merged(notices: Sequence[Notice], processes: int) -> Notice:
    ordered = sorted(notices, key=is_unstable)
    unstable = sum(map(is_unstable, notices))
    merged = ordered[-1] if 2 * unstable >= processes else ordered[0]
    count = f"(in {len(notices)} of {processes} processes)"
    evidence = {**merged.evidence, "unstable": 2 * unstable >= processes}
    return replace(
        merged,
        message=f"{merged.message} {count}",
        evidence=evidence if unstable else merged.evidence,
    )
