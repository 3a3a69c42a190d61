"""Name the evidence levels of verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from enginescope.judge.verdict import Verdict


def levels_text(verdicts: Iterable[Verdict | None]) -> str:
    """Return ``independent builds``; of several levels each with its number of verdicts."""
    counts = Counter(verdict.evidence.value for verdict in verdicts if verdict and verdict.evidence)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{level} ({count:,})" for level, count in counts.items())
