"""A plan with its times, work and limits: what it consists of and where its time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from enginescope.analysis import frames
from enginescope.analysis.claims.layer_claims import WholeRequest, engine_ms, layer_times
from enginescope.analysis.layers import layer_table
from enginescope.analysis.layers.layer_sum import (
    LayerSum,
    layer_sum,
    of_plan_profile,
    plan_profiles,
    profile_notices,
    times_of_plan_profile,
)
from enginescope.analysis.layers.reformats import (
    ReformatLayer,
    ReformatShare,
    TensorRoles,
    reformats,
    reformats_by,
)
from enginescope.analysis.onnx.onnx_map import OnnxMap, map_onnx, with_onnx_work
from enginescope.analysis.plans.layer_attributes import Attributes, attributes_of
from enginescope.analysis.plans.plan_columns import (
    LayerFacts,
    PlanFacts,
    PlanTotals,
    layer_facts,
    plan_columns,
    plan_totals,
)
from enginescope.analysis.roofline.layer_work import (
    LayerBytes,
    LayerKinds,
    LayerWork,
    layer_bytes,
    layer_kinds,
    layer_work,
)
from enginescope.analysis.roofline.roofline import GpuLimits, Roofline, limits_of, roofline
from enginescope.core.record import Record, Result
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Attribution, Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import Tensor


class PlanTensor(Record, frozen=True, kw_only=True):
    """A tensor of a plan, by its name.

    Attributes:
        tensor: As the first layer that touches it has it; others may give it another shape or
            layout.
        written_by, read_by: Positions in the plan's layers, each once. Several writers:
            concatenated, or the memory is used again.
    """

    tensor: Tensor
    written_by: tuple[int, ...]
    read_by: tuple[int, ...]


def plan_tensors(plan: Plan) -> tuple[PlanTensor, ...]:
    """Return the tensors of a plan in the order they first appear, those of no layer last."""
    first: dict[str, Tensor] = {}
    written: dict[str, dict[int, None]] = {}
    read: dict[str, dict[int, None]] = {}
    for position, layer in enumerate(plan.layers):
        for side, tensors in ((read, layer.inputs), (written, layer.outputs)):
            for one in tensors:
                first.setdefault(one.name, one)
                side.setdefault(one.name, {})[position] = None
    for io in plan.io:
        first.setdefault(io.tensor.name, io.tensor)
    return tuple(
        PlanTensor(
            tensor=tensor,
            written_by=tuple(written.get(name, ())),
            read_by=tuple(read.get(name, ())),
        )
        for name, tensor in first.items()
    )


V = TypeVar("V", bound="PlanView")


class PlanView(Result):
    """A plan and its figures, computed at first use.

    Args:
        plan: Stays as it is.
        profile: Layer times of the same engine.
        gpu: The GPU that it ran on, for the roofline; see `known_gpus`.
        onnx: The model it was built from, for the work of generated kernels and for costs of nodes.
        whole: Whole requests without the profiler, to hold the layers' times against.

    Raises:
        UsageError: The GPU's limits are not known.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile | None = None,
        *,
        gpu: str | GpuLimits | None = None,
        onnx: OnnxGraph | None = None,
        whole: WholeRequest | None = None,
    ) -> None:
        self.plan = plan
        self.profile = profile and layer_times(profile, whole)
        self.gpu = limits_of(gpu) if isinstance(gpu, str) else gpu
        self.onnx, self.whole = onnx, whole

    def _summary(self) -> str:
        total = f", {self.total_ms:.6g} ms" if self.total_ms is not None else ""
        return f"{self.plan.name}: {len(self.layers)} layers{total}"

    @property
    def all_layers(self) -> tuple[Layer, ...]:
        """Every layer in the file's order, with those that launch nothing."""
        return self.plan.layers

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers that do work, in the file's order."""
        return self.plan.active_layers

    @cached_property
    def constants(self) -> tuple[Layer, ...]:
        """Layers that only hold values."""
        return self.by_type("Constant")

    @cached_property
    def tensors(self) -> tuple[PlanTensor, ...]:
        """Every tensor, with the positions of the layers that write and read it."""
        return plan_tensors(self.plan)

    def find(self, name: str) -> Layer | None:
        """Return the first layer of that name, or ``None``."""
        found = self._by_name.get(name)
        return self.plan.layers[found[0]] if found else None

    def find_all(self, name: str) -> tuple[Layer, ...]:
        """Return every layer of that name: names may repeat."""
        return tuple(self.plan.layers[at] for at in self._by_name.get(name, ()))

    def by_type(self, kind: str) -> tuple[Layer, ...]:
        """Return the layers of a type, such as ``"Convolution"``, in the file's order."""
        return tuple(self.plan.layers[at] for at in self._by_type.get(kind, ()))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Types of the plan's layers, in the order they first appear."""
        return tuple(self._by_type)

    @cached_property
    def totals(self) -> PlanTotals:
        """Counts and bytes of the plan as a whole."""
        return plan_totals(self.plan, self.kinds)

    @cached_property
    def kinds(self) -> LayerKinds:
        """Which of `all_layers` differ in names alone."""
        return layer_kinds(self.plan)

    @cached_property
    def attributes(self) -> tuple[Attributes, ...]:
        """Attributes of each of `all_layers`; layers of a kind share them."""
        return self.kinds.spread(map(attributes_of, self.kinds.examples))

    @cached_property
    def rows(self) -> tuple[layer_table.LayerRow, ...]:
        """Every layer with its times, in the file's order, then times that have no layer."""
        return layer_table.layer_rows(self.plan, self.profile, self.attribution)

    @cached_property
    def attribution(self) -> Attribution | None:
        """Layers joined with their times, and what is left over; ``None`` without a profile."""
        return layer_table.attribute(self.plan, self.profile) if self.profile else None

    @property
    def total_ms(self) -> float | None:
        """Sum of the layers' times; ``None`` without a profile."""
        return self.profile.sum_ms if self.profile else None

    @property
    def engine_ms(self) -> float | None:
        """Time of a whole inference without the profiler; at least `total_ms`."""
        return engine_ms(self.profile, self.whole)

    @property
    def profiler_ms(self) -> float | None:
        """Estimate of what the profiler added to each layer, which no time here contains."""
        return self.profile.profiler_ms if self.profile else None

    def time_of(self, layer: Layer) -> LayerTiming | None:
        """Return a layer's times, or ``None``."""
        joined = self.attribution
        return joined.layers[self._positions[layer.index]].timing if joined else None

    @cached_property
    def sizes(self) -> tuple[LayerBytes, ...]:
        """Bytes of each of `all_layers`."""
        return layer_bytes(self.plan, self.kinds)

    @cached_property
    def works(self) -> tuple[LayerWork, ...]:
        """Work of each of `all_layers`; with a model also of those that do not tell theirs."""
        links = self.onnx_map
        if self.onnx is None or links is None:
            return self.own_works
        return with_onnx_work(self.plan, self.own_works, self.onnx, links)

    @cached_property
    def own_works(self) -> tuple[LayerWork, ...]:
        """Work of each of `all_layers`, as far as the plan alone tells."""
        return layer_work(self.plan, self.kinds)

    def work_of(self, layer: Layer) -> LayerWork:
        """Return a layer's work."""
        return self.works[self._positions[layer.index]]

    @cached_property
    def roofline(self) -> Roofline | None:
        """The layers' own times against the GPU's limits; ``None`` without a GPU."""
        if self.gpu is None:
            return None
        return roofline(self.plan, self.works, self.gpu, self.attribution, self.profiler_ms)

    @cached_property
    def onnx_map(self) -> OnnxMap | None:
        """The layers' ONNX nodes and what each costs; ``None`` without a model."""
        return map_onnx(self.plan, self.onnx, self.attribution) if self.onnx else None

    def against(self: V, gpu: GpuLimits | None, onnx: OnnxGraph | None) -> V:
        """Return the same plan compared with a GPU, a model, or both.

        What depends on neither is computed once for both views.
        """
        made = type(self)(self.plan, self.profile, gpu=gpu, onnx=onnx, whole=self.whole)
        made.rows, made.sizes, made.attribution = self.rows, self.sizes, self.attribution
        made.totals, made.kinds = self.totals, self.kinds
        made.own_works, made.attributes = self.own_works, self.attributes
        return made

    def columns(self, kind: str | None = None, *, inert: bool = False) -> dict[str, list[Any]]:
        """Return the layers that do work as columns, one row each.

        ``docs/reference/plan-columns.md`` lists them.

        Args:
            kind: Only layers of this type, inert ones too, and only columns that have a value for
                them.
            inert: Without `kind`: every layer. A profile may time those that launch nothing too,
                shape calls above all, and the shares are of the sum with them.
        """
        if kind is None:
            return dict(self._every_column if inert else self._columns)
        found = plan_columns(self._facts, self._by_type.get(kind, ()))
        return {
            name: values
            for name, values in found.items()
            if name == "Name" or any(value is not None for value in values)
        }

    def to_pandas(self, kind: str | None = None, *, inert: bool = False) -> Any:
        """Return `columns` as a ``pandas.DataFrame``.

        Raises:
            MissingDependencyError: pandas is not installed; says how to get it. The same for the
                other two frames.
        """
        return frames.to_pandas(self.columns(kind, inert=inert))

    def to_polars(self, kind: str | None = None, *, inert: bool = False) -> Any:
        """Return `columns` as a ``polars.DataFrame``."""
        return frames.to_polars(self.columns(kind, inert=inert))

    def to_arrow(self, kind: str | None = None, *, inert: bool = False) -> Any:
        """Return `columns` as a ``pyarrow.Table``."""
        return frames.to_arrow(self.columns(kind, inert=inert))

    @cached_property
    def facts(self) -> tuple[LayerFacts, ...]:
        """Everything known of each of `layers`, for tables and charts."""
        return tuple(layer_facts(self._facts, self._active))

    @cached_property
    def _active(self) -> list[int]:
        return [at for at, layer in enumerate(self.plan.layers) if not layer.is_inert]

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return plan_columns(self._facts, self._active)

    @cached_property
    def _every_column(self) -> dict[str, list[Any]]:
        return plan_columns(self._facts, range(len(self.plan.layers)))

    @cached_property
    def _facts(self) -> PlanFacts:
        return PlanFacts(
            plan=self.plan,
            sizes=self.sizes,
            works=self.works,
            attribution=self.attribution,
            roofline=self.roofline,
        )

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        return _grouped(layer.name for layer in self.plan.layers)

    @cached_property
    def _by_type(self) -> dict[str, list[int]]:
        return _grouped(layer.type for layer in self.plan.layers)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {layer.index: at for at, layer in enumerate(self.plan.layers)}


def _grouped(keys: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found


class ExploredLayer(Record, frozen=True, kw_only=True, gc=False):
    """One layer with its time, its sizes and its work.

    Attributes:
        layer, sizes, work: ``None`` for times whose layer the plan does not have.
        attributes: Empty for such times.
    """

    row: layer_table.LayerRow
    layer: Layer | None = None
    sizes: LayerBytes | None = None
    work: LayerWork | None = None
    attributes: Attributes = {}  # noqa: RUF012 - msgspec copies empty defaults


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
    by_type: tuple[layer_table.TimeShare, ...]
    by_precision: tuple[layer_table.TimeShare, ...]
    tactics: tuple[layer_table.TacticShare, ...]
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
    rows = view.rows if view else layer_table.layer_rows(None, profile)
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
        by_type=layer_table.time_by(timed, lambda row: row.type),
        by_precision=layer_table.time_by(timed, lambda row: row.precision),
        tactics=layer_table.tactic_shares(rows),
        reformats=found,
        reformats_by_origin=reformats_by(found, lambda one: one.origin, whole_ms),
        reformats_by_conversion=reformats_by(found, lambda one: one.conversion, whole_ms),
        notices=profile_notices(rows) if plan and profile else (),
        roles=view.kinds.roles if view else None,
    )


def ordered(layers: tuple[ExploredLayer, ...], by: str) -> tuple[ExploredLayer, ...]:
    """Return `layers` by one of `ORDERS`; what a layer does not know goes last.

    Times and sizes fall, names rise; layers that are equal stay in the plan's order.
    """
    key = ORDERS[by]
    if key is None:
        return layers
    values: list[Any] = [key(one) for one in layers]
    known = [at for at, value in enumerate(values) if value is not None]
    unknown = [at for at, value in enumerate(values) if value is None]
    falling = bool(known) and not isinstance(values[known[0]], str)
    known.sort(key=values.__getitem__, reverse=falling)
    return tuple([layers[at] for at in known + unknown])


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


def _layers(
    view: PlanView | None, rows: tuple[layer_table.LayerRow, ...]
) -> tuple[ExploredLayer, ...]:
    columns = (view.plan.layers, view.sizes, view.works, view.attributes) if view else ((),) * 4
    own = (
        ExploredLayer(row=row, layer=layer, sizes=size, work=work, attributes=attributes)
        for row, layer, size, work, attributes in zip(rows, *columns, strict=False)
    )
    return (*own, *(ExploredLayer(row=row) for row in rows[len(columns[0]) :]))
