"""Statistics, rounds and verdicts, with NumPy and the standard library alone.

>>> from enginescope import judge
>>> print(judge.compare(old, new))        # doctest: +SKIP

Names are imported when they are first used: the base of enginescope stands on this package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enginescope.judge.answer import Answer, Pair
    from enginescope.judge.comparing import Comparison, compare, verdict_of
    from enginescope.judge.errors import UsageError
    from enginescope.judge.experiment import (
        Ended,
        Experiment,
        Measured,
        Position,
        Rules,
        Standing,
    )
    from enginescope.judge.referee import Proposal, Ruling, Session
    from enginescope.judge.sources import Recorded, command, fresh, program
    from enginescope.judge.verdict import Reason, Verdict, VerdictKind

_HOMES = {
    **dict.fromkeys(("Answer", "Pair"), "answer"),
    **dict.fromkeys(("Comparison", "compare", "verdict_of"), "comparing"),
    "UsageError": "errors",
    **dict.fromkeys(
        ("Ended", "Experiment", "Measured", "Position", "Rules", "Standing"), "experiment"
    ),
    **dict.fromkeys(("Proposal", "Ruling", "Session"), "referee"),
    **dict.fromkeys(("Recorded", "command", "fresh", "program"), "sources"),
    **dict.fromkeys(("Reason", "Verdict", "VerdictKind"), "verdict"),
}

__all__ = [
    "Answer",
    "Comparison",
    "Ended",
    "Experiment",
    "Measured",
    "Pair",
    "Position",
    "Proposal",
    "Reason",
    "Recorded",
    "Rules",
    "Ruling",
    "Session",
    "Standing",
    "UsageError",
    "Verdict",
    "VerdictKind",
    "command",
    "compare",
    "fresh",
    "program",
    "verdict_of",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'enginescope.judge' has no attribute {name!r}")
    return getattr(import_module(f"enginescope.judge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
