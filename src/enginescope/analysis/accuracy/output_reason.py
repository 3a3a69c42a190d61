"""One limit of an output that does not hold: a code, a message and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from enginescope.core.record import Record

#: ``missing`` and ``extra``: an output of one side alone. ``not-finite``: NaN or an infinity where
#: the reference has none, or the other way round. ``channel-error``, ``channel-peak``: channels
#: beyond their own limits. ``nothing-compared``: no element shows anything. ``best-class``: it is
#: another though the reference's margin is large. ``few-values``: the output was rounded to 8 bits.
#: ``systematic-scale``: nearly all of the error is one factor and one offset. ``other-samples``:
#: outputs are nearer to other samples' references. ``arrangement``: they are nearer to the
#: reference with its axes swapped or its channels reversed. ``underflow``: FP16 loses the values,
#: which are all below its smallest.
Code: TypeAlias = Literal[
    "missing",
    "extra",
    "shape",
    "type",
    "not-finite",
    "nothing-compared",
    "underflow",
    "unequal",
    "mismatch",
    "error",
    "peak",
    "channel-error",
    "channel-peak",
    "best-class",
    "few-values",
    "systematic-scale",
    "other-samples",
    "arrangement",
]


class OutputReason(Record, frozen=True, kw_only=True):
    """One limit that does not hold, with what was found and what was allowed."""

    code: Code
    message: str
    evidence: Mapping[str, Any] = {}
