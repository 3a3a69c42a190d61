"""Successive halving by evidence: which alternatives are measured further.

After some rounds, those of the slower half are dropped that are slower than the leader by their
interval. The leader is selected, so that its figure is too good by chance (the winner's curse). It
decides what is measured further, and nothing else: what may be claimed comes from `confirmed`,
whose processes took no part in the selection.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from enginescope.judge.comparison.hodges_lehmann import paired_shift, student_paired_shift
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE
from enginescope.judge.comparison.ratio import corrected_ratio, decide, middle_of, ratio_of_rounds
from enginescope.records.verdict.tune import Confirmation

#: Rounds after which alternatives are dropped; the search ends with the last.
RUNGS = (3, 6, 12)
#: Of the interval that must exclude the leader. An error costs the search, not the claim.
_DROP_CONFIDENCE = 0.95

#: Number of an alternative -> milliseconds per item, one a round, in the same order.
Costs = Mapping[int, Sequence[float]]


def ranked(costs: Costs) -> tuple[int, ...]:
    """Return the alternatives, the fastest first: by the distance from the median of each round.

    Args:
        costs: As many rounds of each, at least one.
    """
    logs = np.log([costs[number] for number in costs])
    apart = logs - np.median(logs, axis=0)
    levels = [paired_shift(row, confidence=_DROP_CONFIDENCE).value for row in apart]
    return tuple(number for _, number in sorted(zip(levels, costs, strict=True)))


def slower_by_evidence(costs: Costs) -> tuple[int, ...]:
    """Return those of the slower half that are slower than the fastest beyond chance.

    Args:
        costs: As many rounds of each, at least two.
    """
    order = ranked(costs)
    leader = np.log(costs[order[0]])
    slower = order[max(1, (len(order) + 1) // 2) :]
    behind = {number: np.log(costs[number]) - leader for number in slower}
    test = partial(student_paired_shift, confidence=_DROP_CONFIDENCE)
    # the interval excludes that it is as fast
    return tuple(number for number, by in behind.items() if (test(by).low or 0.0) > 0)


def confirmed(
    default: Sequence[float],
    candidate: Sequence[float],
    threshold_pct: float,
    *,
    higher_is_better: bool = False,
) -> Confirmation:
    """Return what fresh rounds say of the candidate against the default.

    Args:
        default, candidate: Values of the same rounds, at least one, that nothing was selected by.
        threshold_pct: Smaller differences do not matter.
    """
    ratio = ratio_of_rounds(default, candidate, confidence=LOOK_CONFIDENCE)
    kind, reason = decide(ratio, threshold_pct, higher_is_better=higher_is_better)
    return Confirmation(
        kind=kind,
        reason=reason,
        ratio=ratio,
        corrected_ratio=corrected_ratio(ratio, threshold_pct),
        default=middle_of(default),
        candidate=middle_of(candidate),
        rounds=len(default),
    )
