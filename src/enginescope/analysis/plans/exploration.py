"""A plan looked into: what it consists of and where its time goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.analysis.claims.layer_time import WholeRequest, layer_times
from enginescope.analysis.layers.layer_sum import (
    LayerSum,
    layer_sum,
    of_plan_profile,
    plan_profiles,
    profile_notices,
    times_of_plan_profile,
)
from enginescope.analysis.layers.layer_table import (
    LayerRow,
    TacticShare,
    TimeShare,
    layer_rows,
    tactic_shares,
    time_by,
)
from enginescope.analysis.layers.reformats import (
    ReformatLayer,
    ReformatShare,
    TensorRoles,
    reformats,
    reformats_by,
)
from enginescope.analysis.plans.plan_columns import PlanTotals
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.layer_work import LayerBytes, LayerWork
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Layer, Plan, Profile
from enginescope.records.tensor import Tensor


class ExploredLayer(Record, frozen=True, kw_only=True, gc=False):
    """One layer with its time, its sizes and its work.

    Attributes:
        layer, sizes, work: ``None`` for times whose layer the plan does not have.
    """

    row: LayerRow
    layer: Layer | None = None
    sizes: LayerBytes | None = None
    work: LayerWork | None = None


class Exploration(Record, frozen=True, kw_only=True):
    """What a plan and its profile say together.

    Attributes:
        plan_schema: `Plan.source_schema`; ``None`` without a plan.
        plan_profile: The optimization profile shown, of a plan that has several.
        plan_profiles: Those it has; empty for one.
        inputs, outputs: Of the engine.
        layers: In the plan's order, then times whose layer the plan does not have.
        iterations: Of the profiling pass.
        time: Sum of the layers, beside the whole where that is known.
        by_type, by_precision: Layers that launch nothing and took no time are left out.
        notices: Layers without a time and times without a layer.
        roles: What the plan's tensors are.
    """

    name: str
    plan_schema: str | None
    plan_profile: int | None
    plan_profiles: tuple[int, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    layers: tuple[ExploredLayer, ...]
    totals: PlanTotals | None
    iterations: int | None
    time: LayerSum | None
    by_type: tuple[TimeShare, ...]
    by_precision: tuple[TimeShare, ...]
    tactics: tuple[TacticShare, ...]
    reformats: tuple[ReformatLayer, ...]
    reformats_by_origin: tuple[ReformatShare, ...]
    reformats_by_conversion: tuple[ReformatShare, ...]
    notices: tuple[Notice, ...]
    roles: TensorRoles | None = None


def explore(
    name: str,
    plan: Plan | None,
    profile: Profile | None,
    *,
    plan_profile: int = 0,
    whole: WholeRequest | None = None,
    view: PlanView | None = None,
) -> Exploration:
    """Return what `plan` and `profile` say together; either may be missing.

    Args:
        plan_profile: Optimization profile to look at, of a plan that has several.
        whole: Metric and mean in ms of whole requests, timed without a profiler.
        view: Of the same layers and times: its tables are used, and computed once for both.
    """
    several = plan_profiles(plan) if plan else ()
    profile = profile and layer_times(profile, whole)
    if plan is not None and view is None:
        plan = of_plan_profile(plan, plan_profile)
        profile = times_of_plan_profile(profile, plan_profile) if profile and several else profile
        view = PlanView(plan, profile, whole=whole)
    elif view is not None:
        plan, profile = view.plan, view.profile
    rows = view.rows if view else layer_rows(None, profile)
    timed = tuple(row for row in rows if row.time_ms or not row.is_inert)
    found = reformats(plan, rows) if plan else ()
    whole_ms = profile.sum_ms if profile else None
    return Exploration(
        name=name,
        plan_schema=plan.source_schema if plan else None,
        plan_profile=plan_profile if several else None,
        plan_profiles=several,
        inputs=tuple(one.tensor for one in plan.inputs) if plan else (),
        outputs=tuple(output.tensor for output in plan.outputs) if plan else (),
        layers=_layers(view, rows),
        totals=view.totals if view else None,
        iterations=profile.iterations if profile else None,
        time=layer_sum(profile, whole),
        by_type=time_by(timed, lambda row: row.type),
        by_precision=time_by(timed, lambda row: row.precision),
        tactics=tactic_shares(rows),
        reformats=found,
        reformats_by_origin=reformats_by(found, lambda one: one.origin, whole_ms),
        reformats_by_conversion=reformats_by(found, lambda one: one.conversion, whole_ms),
        notices=profile_notices(rows) if plan and profile else (),
        roles=view.roles if view else None,
    )


def ordered(layers: tuple[ExploredLayer, ...], by: str) -> tuple[ExploredLayer, ...]:
    """Return `layers` by one of `ORDERS`; what a layer does not know goes last.

    Times and sizes fall, names rise; layers that are equal stay in the plan's order.
    """
    key = ORDERS[by]
    if key is None:
        return layers
    values: dict[int, Any] = {at: key(one) for at, one in enumerate(layers)}
    known = [at for at, value in values.items() if value is not None]
    falling = bool(known) and not isinstance(values[known[0]], str)
    known.sort(key=values.__getitem__, reverse=falling)
    return tuple(layers[at] for at in (*known, *(at for at in values if values[at] is None)))


def _size(name: str) -> Callable[[ExploredLayer], int | None]:
    return lambda one: getattr(one.sizes, name) if one.sizes is not None else None


#: What layers can be ordered by -> the value; ``None``: the plan's own order.
ORDERS: dict[str, Callable[[ExploredLayer], float | str | None] | None] = {
    "time": lambda one: one.row.time_ms,
    "plan": None,
    "name": lambda one: one.row.name,
    "type": lambda one: one.row.type,
    "precision": lambda one: one.row.precision,
    "tactic": lambda one: one.row.tactic,
    "weights": _size("weights_bytes"),
    "activations": _size("activation_bytes"),
    "footprint": _size("footprint_bytes"),
}


def _layers(view: PlanView | None, rows: tuple[LayerRow, ...]) -> tuple[ExploredLayer, ...]:
    if view is None:
        return tuple(ExploredLayer(row=row) for row in rows)
    layers = view.plan.layers
    own = (
        ExploredLayer(row=row, layer=layer, sizes=size, work=work)
        for layer, row, size, work in zip(layers, rows, view.sizes, view.works, strict=False)
    )
    return (*own, *(ExploredLayer(row=row) for row in rows[len(layers) :]))
