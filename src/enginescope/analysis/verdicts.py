"""Two sides of one or several processes, held against each other metric by metric."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from enginescope.analysis.comparability import differences
from enginescope.analysis.compared_figures import COMPARED_SERIES, FIGURES, Figure
from enginescope.analysis.figure_verdict import figure_verdict
from enginescope.analysis.process_rounds import Sides
from enginescope.analysis.run_view import RunView
from enginescope.analysis.series_verdict import series_verdict
from enginescope.analysis.terms import Terms
from enginescope.core.errors import UsageError
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.verdict import Reason, Verdict, VerdictKind


def verdicts(
    a: Sequence[Run],
    b: Sequence[Run],
    terms: Terms | None = None,
    *,
    figures: Sequence[Figure] = FIGURES,
) -> tuple[Verdict, ...]:
    """Return what may be said of B against A: the headline first, then every other figure.

    Parameters
    ----------
    a, b : sequence of Run
        The processes of either side. Where each has a `Turn` of one comparison, they are taken
        round by round.
    terms : Terms, optional
    figures : sequence of Figure
        What is compared beside the sampled series.

    Raises
    ------
    UsageError
        A side without a run that went well, or a condition in ``terms.across`` that there is not.
    """
    terms = terms or Terms()
    sides = _measured(a, "A"), _measured(b, "B")
    found = differences(*[[one.run for one in side] for side in sides], across=terms.across)
    detail = "; ".join(map(str, found)) or None
    made = [series_verdict(sides, metric, terms) for metric in _metrics(sides)]
    made += [figure_verdict(sides, figure, terms) for figure in figures]
    every = [one for one in made if one is not None]
    return tuple(_incomparable(one, detail) if detail else one for one in every)


def _measured(runs: Sequence[Run], label: str) -> tuple[RunView, ...]:
    good = tuple(RunView(one) for one in runs if one.outcome.kind is OutcomeKind.OK)
    if not good:
        why = runs[0].outcome.message if runs else None
        raise UsageError(f"nothing of {label} to compare", why=why or "no run went well")
    return good


def _metrics(sides: Sides) -> list[str]:
    headlines = [one.run.headline for side in sides for one in side]
    first = [one.metric for one in headlines[:1] if one is not None]
    return list(dict.fromkeys((*first, *COMPARED_SERIES)))


def _incomparable(verdict: Verdict, detail: str) -> Verdict:
    return replace(
        verdict, kind=VerdictKind.INCOMPARABLE, reason=Reason.DIFFERENT, detail=detail, more=None
    )
