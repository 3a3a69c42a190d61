"""Warnings about a comparison of energy: thermal states, and sides measured apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.judge.notice import Notice


def thermal_states(found: MeasuredComparison) -> Iterator[Notice]:
    """Yield the thermal state of each side whose energy is compared, where they differ.

    An unknown state equals no other, so it counts as different.
    """
    if not compares_energy(found):
        return
    views = {side.label: [RunView(run) for run in side.measured] for side in found.sides}
    states = {
        label: Counter(view.thermal_state.state for view in side) for label, side in views.items()
    }
    kinds = {frozenset(counted) for counted in states.values()}
    if len(kinds) == 1 and not any("unknown" in kind for kind in kinds):
        return
    named = "; ".join(_of_side(side, views[side.label]) for side in found.sides)
    yield Notice(
        code="W-THERMAL-STATE",
        message=f"energy is compared across different or unknown thermal states: {named}",
        evidence={"states": {label: dict(counted) for label, counted in states.items()}},
    )


def compares_energy(found: MeasuredComparison) -> bool:
    """Whether a pair of the comparison has a verdict on energy."""
    return any(verdict.metric == "energy" for pair in found.pairs for verdict in pair.verdicts)


def _of_side(side: MeasuredSide, views: list[RunView]) -> str:
    states = [view.thermal_state for view in views]
    if len(states) == 1:
        return f"{side.label} {states[0].text}"
    counted = Counter(state.state for state in states)
    return f"{side.label} " + ", ".join(
        f"{state} in {count} of {len(states)} processes" for state, count in counted.items()
    )
