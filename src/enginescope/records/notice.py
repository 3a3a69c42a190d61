"""Notices that qualify a figure, which of them is the most severe, and hints on the machine."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from enginescope.core.record import Record
from enginescope.judge.notice import Notice

#: Code of the notice that a model converted to FP16 is computed in FP32.
NOT_FP16 = "W-NOT-FP16"


class Hint(Record, frozen=True, kw_only=True):
    """One thing to do to a machine before measuring on it.

    Attributes:
        code: Stable and short: ``H-GOVERNOR``.
        message: What was seen and why it matters, begun small and without a full stop.
        command: What to type; ``None`` where no command does it.
    """

    code: str
    message: str
    command: str | None = None


Evidence = dict[str, Any]


def most_severe(notices: Sequence[Notice]) -> Notice:
    """Return the gravest of `notices`, which are of one code; of equal ones the first.

    What makes figures worthless comes before their notices; then the evidence counts.
    """
    return max(notices, key=lambda one: (is_unstable(one), _amount(one)))


#: Share of the processors from which on other work moves clocks, caches and memory for all.
UNSTABLE_SHARE = 0.25
#: What makes a figure unstable, in words; `!` marks such a figure in a suite.
UNSTABLE = "other programs used at least a quarter of the machine"


def is_unstable(notice: Notice) -> bool:
    """Whether a notice makes the figures worthless, and not only weaker: see `UNSTABLE`."""
    return notice.evidence.get("unstable") is True


def weightiest(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return notices in the order to read them in.

    Warnings come first: what was measured before how well, what is worthless before what is weak.
    """
    return tuple(
        sorted(
            notices,
            key=lambda one: (one.level != "warning", one.code != NOT_FP16, not is_unstable(one)),
        )
    )


def _amount(notice: Notice) -> float:
    of = _AMOUNTS.get(notice.code)
    return of(notice.evidence) if of is not None else 0.0


def _figure(name: str, sign: int = 1) -> Callable[[Evidence], float]:
    def of(evidence: Evidence) -> float:
        value = evidence.get(name)
        return sign * float(value) if isinstance(value, int | float) else float("-inf")

    return of


def _held_down(evidence: Evidence) -> float:
    """Return the largest share of the samples that any reason held the clock down in."""
    found = [evidence.get(part) or {} for part in ("timed", "pass")]
    return max((float(share) for one in found for share in one.values()), default=0.0)


#: How much of it there is, by code; of others all are alike.
_AMOUNTS: dict[str, Callable[[Evidence], float]] = {
    "W-LOAD": _figure("other_cores"),
    "W-STEAL": _figure("steal_pct"),
    "W-CPU-QUOTA": _figure("throttled_periods"),
    "W-WARMUP": _figure("duration_ms"),
    "W-STOPPED-SHORT": _figure("samples", -1),
    "W-CLOCK-DROP": _figure("drop_pct"),
    "W-THROTTLED": _held_down,
    "W-GPU-SILENT": _figure("last_ms", -1),
    "W-GPU-SHARED": lambda evidence: float(len(evidence.get("processes", ()))),
}
