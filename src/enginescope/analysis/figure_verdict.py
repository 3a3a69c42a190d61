"""What is said of B against A in a figure that each process has one of."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from enginescope.analysis.compared_figures import Figure
from enginescope.analysis.process_rounds import Side, Sides, rounds_of
from enginescope.analysis.terms import Terms
from enginescope.model.verdict import Reason, Verdict, VerdictKind
from enginescope.stats.deciding import decide, more_needed
from enginescope.stats.ratio import ratio_of_few_processes, ratio_of_rounds


def figure_verdict(sides: Sides, figure: Figure, terms: Terms) -> Verdict | None:
    """Compare a figure that each process has one of; ``None`` where one has none."""
    if figure.of_build:
        sides = _each_build(sides[0]), _each_build(sides[1])
    values = [[figure.of(view) for view in side] for side in sides]
    known = [[one for one in side if one is not None] for side in values]
    if any(len(side) < len(row) for side, row in zip(known, values, strict=True)):
        return None
    if any(one <= 0 for side in known for one in side):
        return None
    made = Verdict(
        metric=figure.name,
        kind=VerdictKind.UNDECIDED,
        reason=Reason.ONE_VALUE,
        a=float(np.median(known[0])),
        b=float(np.median(known[1])),
        threshold_pct=terms.threshold_pct,
        processes_a=len(known[0]),
        processes_b=len(known[1]),
        higher_is_better=figure.higher_is_better,
    )
    return _exact(made) if figure.is_exact else _repeated(made, sides, known, terms)


def _each_build(side: Side) -> Side:
    """Return one process for each build: a kept engine's figures are those of its one build."""
    builds = {
        (one.run.build.engine, one.run.build.build_ms) if one.run.build else None: one
        for one in reversed(side)
    }
    return tuple(reversed(builds.values()))


def _exact(verdict: Verdict) -> Verdict:
    assert verdict.a is not None
    assert verdict.b is not None
    distance = math.log(verdict.b / verdict.a)
    kind = VerdictKind.SAME
    if abs(distance) > math.log1p(verdict.threshold_pct / 100):
        better = (distance > 0) is verdict.higher_is_better
        kind = VerdictKind.FASTER if better else VerdictKind.SLOWER
    return replace(verdict, kind=kind, reason=Reason.EXACT)


def _repeated(
    verdict: Verdict, sides: Sides, known: Sequence[Sequence[float]], terms: Terms
) -> Verdict:
    rounds = rounds_of(sides, known)
    if rounds is not None:
        estimate = ratio_of_rounds(*rounds, confidence=terms.confidence)
    else:
        estimate = ratio_of_few_processes(known[0], known[1], confidence=terms.confidence)
    if estimate.interval is None:
        single = max(map(len, known)) == 1
        reason = Reason.ONE_VALUE if single else Reason.NO_INTERVAL
        return replace(verdict, estimate=estimate, reason=reason)
    threshold_pct, higher = terms.threshold_pct, verdict.higher_is_better
    kind, reason = decide(estimate, threshold_pct, higher_is_better=higher)
    more = more_needed(estimate, threshold_pct) if kind is VerdictKind.UNDECIDED else None
    return replace(verdict, kind=kind, reason=reason, estimate=estimate, more=more)
