"""A plan looked into: what it consists of and where its time goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.analysis.layer_bytes import LayerBytes, layer_bytes
from enginescope.analysis.layer_sum import LayerSum, layer_sum
from enginescope.analysis.layer_table import LayerRow, layer_rows
from enginescope.analysis.plan_profile import (
    of_plan_profile,
    plan_profiles,
    times_of_plan_profile,
)
from enginescope.analysis.plan_totals import PlanTotals, plan_totals
from enginescope.analysis.plan_view import PlanView
from enginescope.analysis.reformats import (
    ReformatLayer,
    ReformatShare,
    reformats,
    reformats_by,
)
from enginescope.analysis.tactics import TacticShare, tactic_shares
from enginescope.analysis.tensor_roles import TensorRoles, tensor_roles
from enginescope.analysis.time_shares import TimeShare, time_by
from enginescope.analysis.whole_request import WholeRequest
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import DataType, Tensor
from enginescope.model.timing import Profile

_SHOWN_NAMES = 20


class ExploredLayer(Record, frozen=True, kw_only=True, gc=False):
    """One layer with its time and its sizes.

    Attributes
    ----------
    row : LayerRow
    output_precision : str or None
        Type of the first output.
    sizes : LayerBytes or None
        ``None`` for times whose layer the plan does not have.
    """

    row: LayerRow
    output_precision: str | None = None
    sizes: LayerBytes | None = None


class Exploration(Record, frozen=True, kw_only=True):
    """What a plan and its profile say together.

    Attributes
    ----------
    name : str
    plan_schema : str or None
        `Plan.source_schema`; ``None`` without a plan.
    plan_profile : int or None
        The optimisation profile shown, of a plan that has several.
    plan_profiles : tuple of int
        Those it has; empty for one.
    inputs, outputs : tuple of Tensor
        Of the engine.
    layers : tuple of ExploredLayer
        In the plan's order, then times whose layer the plan does not have.
    totals : PlanTotals or None
    iterations : int or None
        Of the profiling pass.
    time : LayerSum or None
        Sum of the layers, beside the whole where that is known.
    by_type, by_precision : tuple of TimeShare
        Layers that launch nothing and took no time are left out.
    tactics : tuple of TacticShare
    reformats : tuple of ReformatLayer
    reformats_by_origin, reformats_by_conversion : tuple of ReformatShare
    notices : tuple of Notice
        Layers without a time and times without a layer.
    roles : TensorRoles or None
        What the plan's tensors are.
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
) -> Exploration:
    """Return what `plan` and `profile` say together; either may be missing.

    Parameters
    ----------
    name : str
    plan : Plan or None
    profile : Profile or None
    plan_profile : int
        Optimisation profile to look at, of a plan that has several.
    whole : WholeRequest, optional
        Metric and mean in ms of whole requests, timed without a profiler.

    Raises
    ------
    UsageError
        The plan has no such optimisation profile.
    """
    several = plan_profiles(plan) if plan else ()
    if plan is not None:
        plan = of_plan_profile(plan, plan_profile)
        profile = times_of_plan_profile(profile, plan_profile) if profile and several else profile
    rows = layer_rows(plan, profile)
    roles = tensor_roles(plan) if plan else None
    timed = tuple(row for row in rows if row.mean_ms or not row.is_inert)
    found = reformats(plan, rows) if plan else ()
    whole_ms = profile.sum_mean_ms if profile else None
    return Exploration(
        name=name,
        plan_schema=plan.source_schema if plan else None,
        plan_profile=plan_profile if several else None,
        plan_profiles=several,
        inputs=tuple(one.tensor for one in plan.inputs) if plan else (),
        outputs=tuple(one.tensor for one in plan.outputs) if plan else (),
        layers=_layers(plan, rows, roles),
        totals=plan_totals(plan, roles) if plan else None,
        iterations=profile.iterations if profile else None,
        time=layer_sum(profile, whole),
        by_type=time_by(timed, lambda row: row.type),
        by_precision=time_by(timed, lambda row: row.precision),
        tactics=tactic_shares(rows),
        reformats=found,
        reformats_by_origin=reformats_by(found, lambda one: one.origin, whole_ms),
        reformats_by_conversion=reformats_by(found, lambda one: one.conversion, whole_ms),
        notices=_join_notices(rows) if plan and profile else (),
        roles=roles,
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


def view_of(found: Exploration, plan: Plan, profile: Profile | None) -> PlanView:
    """Return a view of the plan that `found` is of, with what `found` holds of it already.

    Parameters
    ----------
    found : Exploration
    plan : Plan
        Of the optimisation profile that was looked at.
    profile : Profile or None
        The same.
    """
    view = PlanView(plan, profile)
    view.rows = tuple(one.row for one in found.layers)
    view.sizes = tuple(one.sizes for one in found.layers if one.sizes is not None)
    if found.totals is not None:
        view.totals = found.totals
    if found.roles is not None:
        view.roles = found.roles
    return view


def _size(name: str) -> Callable[[ExploredLayer], int | None]:
    return lambda one: getattr(one.sizes, name) if one.sizes is not None else None


#: What layers can be ordered by -> the value; ``None``: the plan's own order.
ORDERS: dict[str, Callable[[ExploredLayer], float | str | None] | None] = {
    "time": lambda one: one.row.mean_ms,
    "plan": None,
    "name": lambda one: one.row.name,
    "type": lambda one: one.row.type,
    "precision": lambda one: one.row.precision,
    "tactic": lambda one: one.row.tactic,
    "weights": _size("weights_bytes"),
    "activations": _size("activation_bytes"),
    "footprint": _size("footprint_bytes"),
}


def _layers(
    plan: Plan | None, rows: tuple[LayerRow, ...], roles: TensorRoles | None
) -> tuple[ExploredLayer, ...]:
    if plan is None:
        return tuple(ExploredLayer(row=row) for row in rows)
    sizes = layer_bytes(plan, roles)
    own = (
        ExploredLayer(row=row, output_precision=_output_precision(layer), sizes=size)
        for layer, row, size in zip(plan.layers, rows, sizes, strict=False)
    )
    return (*own, *(ExploredLayer(row=row) for row in rows[len(plan.layers) :]))


def _output_precision(layer: Layer) -> str | None:
    dtype: DataType | None = layer.outputs[0].dtype if layer.outputs else None
    return dtype.value if dtype else None


def _join_notices(rows: tuple[LayerRow, ...]) -> tuple[Notice, ...]:
    """Say which layers that work have no time, and which times have no layer."""
    untimed = [row.name for row in rows if row.in_plan and not row.is_inert and row.mean_ms is None]
    strays = [row.name for row in rows if not row.in_plan]
    found = []
    if untimed:
        found.append(
            Notice(
                code="W-LAYERS-UNTIMED",
                message=_counted(untimed, "layer", "has no time", "have no time"),
                evidence={"count": len(untimed), "layers": untimed[:_SHOWN_NAMES]},
            )
        )
    if strays:
        found.append(
            Notice(
                code="W-TIMES-UNMATCHED",
                message=_counted(strays, "time", "has no layer", "have no layer"),
                evidence={"count": len(strays), "layers": strays[:_SHOWN_NAMES]},
            )
        )
    return tuple(found)


def _counted(names: list[str], noun: str, one: str, many: str) -> str:
    text = f"1 {noun} {one}" if len(names) == 1 else f"{len(names):,} {noun}s {many}"
    return f"{text} in the plan and profile given: {names[0]!r}{', …' if len(names) > 1 else ''}"
