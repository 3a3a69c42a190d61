"""Two or more plans compared."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from enginescope.analysis import frames
from enginescope.analysis.comparison_columns import layer_columns, plan_columns
from enginescope.analysis.comparison_notices import comparison_notices
from enginescope.analysis.layer_comparison import LayerComparison, compare_layers
from enginescope.analysis.plan_summary import compared_plan
from enginescope.analysis.plans_overview import PlansOverview, plans_overview
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.model.run import Run

#: Pairs whose times differ by less are shown as equal, in percent of A's.
THRESHOLD_PCT = 3.0


class Comparison(Record, frozen=True, kw_only=True):
    """Plans side by side; the first is the base.

    Attributes
    ----------
    overview : PlansOverview
        Every plan: counts, bytes, times, by type, by precision.
    layers : LayerComparison or None
        Layer by layer and what explains the difference; only of two plans.
    notices : tuple of Notice
        What must be known before the differences are believed, then those of each plan.
    """

    overview: PlansOverview
    layers: LayerComparison | None
    notices: tuple[Notice, ...] = ()

    @property
    def pairs(self) -> LayerComparison:
        """`layers` of two plans.

        Raises
        ------
        UsageError
            There are more than two.
        """
        if self.layers is None:
            raise UsageError(
                f"{len(self.overview.plans)} plans have no pairs of layers",
                hint="compare two of them at a time",
            )
        return self.layers

    def columns(self) -> dict[str, list[Any]]:
        """Return the layers of two plans as columns, one row a pair; see ``docs/compare.md``.

        Raises
        ------
        UsageError
            There are more than two plans.
        """
        return layer_columns(self.pairs.layers)

    def to_pandas(self) -> Any:
        """Return `columns` as a ``pandas.DataFrame``.

        Raises
        ------
        UsageError
            There are more than two plans.
        MissingDependencyError
            pandas is not installed; says how to get it. The same for the other frames.
        """
        return frames.to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return `columns` as a ``polars.DataFrame``."""
        return frames.to_polars(self.columns())

    def to_arrow(self) -> Any:
        """Return `columns` as a ``pyarrow.Table``."""
        return frames.to_arrow(self.columns())

    def plans_to_pandas(self) -> Any:
        """Return the plans as a ``pandas.DataFrame``, one row each."""
        return frames.to_pandas(plan_columns(self.overview))


def compare(
    runs: Sequence[Run], *, names: Sequence[str] | None = None, plan_profile: int = 0
) -> Comparison:
    """Compare the plans of runs.

    Parameters
    ----------
    runs : sequence of Run
        Two or more, measured or imported, each with a plan. The first is the base.
    names : sequence of str, optional
        By default those of the runs' subjects.
    plan_profile : int
        Optimisation profile to look at, of plans that have several.

    Raises
    ------
    UsageError
        Fewer than two runs, more than there are letters, one without a plan, or a plan without
        that optimisation profile.
    """
    if not 1 < len(runs) <= len(ascii_uppercase):
        raise UsageError(
            f"{len(runs)} {'plan' if len(runs) == 1 else 'plans'} to compare",
            hint=f"give 2 to {len(ascii_uppercase)}",
        )
    given = names or [one.job.subject.name for one in runs]
    plans = [
        compared_plan(run, label=label, name=name, plan_profile=plan_profile)
        for run, label, name in zip(runs, ascii_uppercase, given, strict=False)
    ]
    layers = None
    if len(plans) == 2:
        a, b = ((one.plan, one.view.run.profile) for one in plans)
        layers = compare_layers(a, b)
    return Comparison(
        overview=plans_overview([one.summary for one in plans]),
        layers=layers,
        notices=comparison_notices(plans, layers),
    )
