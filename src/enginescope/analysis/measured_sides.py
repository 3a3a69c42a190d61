"""Two or more sides of measured runs, each held against the first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from enginescope.analysis.comparability import CONDITIONS, Difference, differences
from enginescope.analysis.fitting_floor import fitting_floor
from enginescope.analysis.terms import Terms
from enginescope.analysis.verdicts import verdicts
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.model.noise_floor import NoiseFloor
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.verdict import Verdict, VerdictKind
from enginescope.stats.deciding import LOOK_CONFIDENCE


class MeasuredSide(Record, frozen=True, kw_only=True, eq=False):
    """What stands on one side of a comparison.

    Attributes
    ----------
    label : str
        ``"A"``, ``"B"``, …
    name : str
    runs : tuple of Run
        Its processes, failed ones included.
    """

    label: str
    name: str
    runs: tuple[Run, ...]

    @property
    def measured(self) -> tuple[Run, ...]:
        """The processes that went well."""
        return tuple(one for one in self.runs if one.outcome.kind is OutcomeKind.OK)


class MeasuredPair(Record, frozen=True, kw_only=True):
    """A side against the first.

    Attributes
    ----------
    a, b : str
        Labels.
    verdicts : tuple of Verdict
        The headline first.
    meant : tuple of Difference
        Conditions in which they differ because the comparison is of just that.
    differing : tuple of Difference
        Other conditions in which they differ: those that make them incomparable.
    """

    a: str
    b: str
    verdicts: tuple[Verdict, ...]
    meant: tuple[Difference, ...] = ()
    differing: tuple[Difference, ...] = ()

    @property
    def headline(self) -> Verdict:
        """The verdict that the comparison is about."""
        return self.verdicts[0]


class MeasuredComparison(Record, frozen=True, kw_only=True, eq=False):
    """Sides with their verdicts.

    Attributes
    ----------
    sides : tuple of MeasuredSide
    pairs : tuple of MeasuredPair
        Every side but the first, against the first.
    threshold_pct : float
    comparison : str or None
        Of the `Turn`s, where the sides were measured in turn.
    floor : NoiseFloor or None
        What this machine was seen to be able to decide.
    """

    sides: tuple[MeasuredSide, ...]
    pairs: tuple[MeasuredPair, ...]
    threshold_pct: float
    comparison: str | None = None
    floor: NoiseFloor | None = None

    @property
    def is_decided(self) -> bool:
        """Whether every pair's headline is."""
        return all(one.headline.is_decided for one in self.pairs)

    @property
    def is_vain(self) -> bool:
        """Whether no number of rounds would tell anything of some pair."""
        return any(one.headline.kind is VerdictKind.INCOMPARABLE for one in self.pairs)


def comparison_of(sides: Sequence[MeasuredSide]) -> str | None:
    """Return the comparison that all processes are of, if they were measured in turn."""
    names = {run.turn.comparison if run.turn else None for one in sides for run in one.runs}
    return names.pop() if len(names) == 1 else None


def meant_conditions(a: MeasuredSide, b: MeasuredSide) -> tuple[str, ...]:
    """Return keys of conditions that differ because two jobs were put side by side for it.

    Of sides measured in turn, whose jobs stood on one command line: their backends where these are
    not one, the precision where backends, their options or the models are not the same.
    """
    if comparison_of((a, b)) is None:
        return ()
    first, second = a.runs[0].job, b.runs[0].job
    keys = ["backend"] if first.backend.name != second.backend.name else []
    if first.backend != second.backend or first.subject != second.subject:
        keys.append("precision")
    return tuple(keys)


def compare_sides(
    sides: Sequence[MeasuredSide], terms: Terms | None = None, floors: Sequence[NoiseFloor] = ()
) -> MeasuredComparison:
    """Hold every side against the first.

    Parameters
    ----------
    sides : sequence of MeasuredSide
        Two or more.
    terms : Terms, optional
        The confidence of sides measured in turn is that of their looks, whatever it says.
    floors : sequence of NoiseFloor
        Recorded ones; the one that fits says how processes scatter, unless `terms` does.

    Raises
    ------
    UsageError
        A side without a run that went well, or a condition in ``terms.across`` that there is not.
    """
    terms = terms or Terms()
    comparison = comparison_of(sides)
    floor = fitting_floor([one.runs for one in sides], floors)
    if comparison is not None:
        terms = replace(terms, confidence=LOOK_CONFIDENCE)
    if terms.scatter_pct is None and floor is not None:
        terms = replace(terms, scatter_pct=floor.scatter_pct)
    base, *others = sides
    return MeasuredComparison(
        sides=tuple(sides),
        pairs=tuple(_pair(base, one, terms) for one in others),
        threshold_pct=terms.threshold_pct,
        comparison=comparison,
        floor=floor,
    )


def _pair(a: MeasuredSide, b: MeasuredSide, terms: Terms) -> MeasuredPair:
    keys = meant_conditions(a, b)
    across = tuple(dict.fromkeys((*terms.across, *keys)))
    found = verdicts(a.runs, b.runs, replace(terms, across=across))
    if not found:
        raise UsageError(
            f"{a.label} and {b.label} have no figure in common",
            why="their runs have no samples of the same kind",
            hint="enginescope bench measures them",
        )
    others = [one for one in CONDITIONS if one not in across]
    meant = differences(a.measured, b.measured, across=others) if across else ()
    differing = differences(a.measured, b.measured, across=across)
    return MeasuredPair(a=a.label, b=b.label, verdicts=found, meant=meant, differing=differing)
