"""Layers whose tactic differs between builds, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide, Relation
from enginescope.analysis.plan_comparison.layer_comparison import compare_layers
from enginescope.core.record import Record
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.verdict.lottery import DrawnTactic, LayerDraw

_UNNAMED = "none named"


class TacticDraws(Record, frozen=True, kw_only=True):
    """Where the plans of several builds differ.

    Attributes:
        changed: For each build, how many of its layers are not those of the first.
        layers: Layers with more than one tactic, the costliest first.
        regrouped: Layers of the first build that some build fuses otherwise.
    """

    changed: tuple[int, ...]
    layers: tuple[LayerDraw, ...]
    regrouped: int


class _Choice(Record, frozen=True, kw_only=True):
    build: int
    tactic: str
    mean_ms: float | None


def tactic_draws(plans: Sequence[tuple[int, Plan, Profile | None]]) -> TacticDraws:
    """Compare the plan of each build with the first build's, layer by layer.

    Args:
        plans: Number of the build, its plan and the times of its layers; two or more.
    """
    (first, plan, profile), *others = plans
    choices: dict[tuple[int, ...], list[_Choice]] = {}
    sides: dict[tuple[int, ...], LayersSide] = {}  # names may repeat, places do not
    regrouped: set[str] = set()
    changed = [0]
    for number, other, times in others:
        rows = compare_layers((plan, profile), (other, times)).layers
        changed.append(sum(row.is_changed for row in rows))
        for row in rows:
            if row.relation is not Relation.PAIR:
                regrouped.update(row.a.names if row.a else ())
                continue
            assert row.a is not None
            assert row.b is not None
            sides[row.a.layers] = row.a
            known = choices.setdefault(row.a.layers, [_choice(first, row.a, row.a)])
            known.append(_choice(number, row.b, row.b if _is_other(row) else row.a))
    draws = (_draw(sides[place], layer) for place, layer in choices.items())
    several = [draw for draw in draws if len(draw.tactics) > 1]
    return TacticDraws(
        changed=tuple(changed),
        layers=tuple(sorted(several, key=lambda draw: -(draw.cost_ms or 0.0))),
        regrouped=len(regrouped),
    )


def _is_other(row: ComparedLayers) -> bool:
    return row.change("tactic") is not None


def _choice(build: int, timed: LayersSide, named: LayersSide) -> _Choice:
    return _Choice(build=build, tactic=named.tactic or _UNNAMED, mean_ms=timed.time_ms)


def _draw(side: LayersSide, choices: Sequence[_Choice]) -> LayerDraw:
    tactics = [
        _drawn(tactic, [choice for choice in choices if choice.tactic == tactic])
        for tactic in dict.fromkeys(choice.tactic for choice in choices)
    ]
    times = [tactic.mean_ms for tactic in tactics if tactic.mean_ms is not None]
    return LayerDraw(
        layer=side.name,
        type=side.type,
        tactics=tuple(sorted(tactics, key=lambda tactic: (tactic.mean_ms is None, tactic.mean_ms))),
        cost_ms=max(times) - min(times) if len(times) == len(tactics) else None,
    )


def _drawn(tactic: str, choices: Sequence[_Choice]) -> DrawnTactic:
    times = [choice.mean_ms for choice in choices if choice.mean_ms is not None]
    return DrawnTactic(
        tactic=tactic,
        builds=tuple(choice.build for choice in choices),
        mean_ms=float(np.mean(times)) if times else None,
    )
