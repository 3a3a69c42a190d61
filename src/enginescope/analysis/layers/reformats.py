"""Layers that only rewrite a tensor: where they come from and what they change.

No-ops launch nothing: whoever reads what one writes reads what went into it.
Layers that stand for a part of the network; the plan does not describe its contents.
Which tensors of a plan are constants, and what no-ops pass on.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor

#: Their types, in whatever runtime.
REFORMATS = frozenset(
    {"Reformat", "MyelinReformat", "ReorderInput", "ReorderOutput", "Reorder", "Convert"}
)


class ReformatLayer(Record, frozen=True, kw_only=True):
    """A layer that rewrites a tensor.

    Attributes:
        index: Position in the plan.
        origin: As the plan says it: ``"QDQ"``, from quantization in the model; ``"REFORMAT"``, put
            in by TensorRT between layers that want different formats. Myelin's say nothing.
        source, target: Type and layout before and after: ``"FP32 NCHW"``.
        changes_type, changes_layout: ``None``: not known.
    """

    index: int
    name: str
    origin: str | None
    source: str
    target: str
    changes_type: bool | None
    changes_layout: bool | None
    time_ms: float | None

    @property
    def conversion(self) -> str:
        """``"FP32 NCHW → INT8 NC/4HW4"``."""
        return f"{self.source} → {self.target}"


class ReformatShare(Record, frozen=True, kw_only=True):
    """Reformats that share a property, and their time.

    Attributes:
        time_ms: Sum of their times; ``None`` if none of them has one.
        share_pct: Of the sum over all layers of the plan.
    """

    key: str | None
    layers: int
    time_ms: float | None
    share_pct: float | None


def reformats(plan: Plan, rows: Sequence[LayerRow]) -> tuple[ReformatLayer, ...]:
    """Return the layers of `plan` that only rewrite a tensor, in the plan's order.

    Args:
        rows: Of that plan, as `layer_rows` gives them: one for each layer, in the same order.
    """
    return tuple(
        _reformat(layer, row)
        for layer, row in zip(plan.layers, rows, strict=False)
        if is_reformat(layer.type, layer.subtype)
    )


def is_reformat(*types: str | None) -> bool:
    """Whether a layer of this type and subtype only rewrites a tensor."""
    return not REFORMATS.isdisjoint(types)


def reformats_by(
    found: Iterable[ReformatLayer],
    key: Callable[[ReformatLayer], str | None],
    whole_ms: float | None,
) -> tuple[ReformatShare, ...]:
    """Group reformats by `key`, by time, then by layers; `whole_ms`: of all layers of the plan."""
    groups: dict[str | None, list[float | None]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one.time_ms)
    shares = []
    for name, times in groups.items():
        time_ms = sum_known(times)
        share_pct = 100 * time_ms / whole_ms if time_ms is not None and whole_ms else None
        share = ReformatShare(key=name, layers=len(times), time_ms=time_ms, share_pct=share_pct)
        shares.append(share)
    shares.sort(key=lambda one: (-(one.time_ms or 0.0), -one.layers, one.key or ""))
    return tuple(shares)


def _reformat(layer: Layer, row: LayerRow) -> ReformatLayer:
    source = layer.inputs[0] if layer.inputs else None
    target = layer.outputs[0] if layer.outputs else None
    origin = layer.attributes.get("Origin")
    return ReformatLayer(
        index=layer.index,
        name=layer.name,
        origin=origin if isinstance(origin, str) and origin else None,
        source=_format(source),
        target=_format(target),
        changes_type=_differ(source and source.dtype, target and target.dtype),
        changes_layout=_differ(_layout(source), _layout(target)),
        time_ms=row.time_ms,
    )


def _format(tensor: Tensor | None) -> str:
    if tensor is None:
        return "not known"
    parts = (tensor.dtype.value if tensor.dtype else None, _layout(tensor))
    return " ".join(part for part in parts if part) or "not known"


def _layout(tensor: Tensor | None) -> str | None:
    return tensor.layout.name if tensor is not None and tensor.layout is not None else None


def _differ(before: object | None, after: object | None) -> bool | None:
    return None if before is None or after is None else before != after


def no_op_sources(plan: Plan) -> dict[str, Tensor]:
    """Return, for each output of a no-op, the tensor that goes into the first of its chain.

    A name that is written again stands for something else from there on: it is left out.
    """
    direct: dict[str, Tensor] = {}
    for layer in plan.layers:
        if "NoOp" in (layer.type, layer.subtype) and layer.inputs:
            direct.update((tensor.name, layer.inputs[0]) for tensor in layer.outputs)
    if not direct:
        return {}
    writers = Counter(
        tensor.name for layer in plan.layers for tensor in layer.outputs if tensor.name in direct
    )
    direct = {name: source for name, source in direct.items() if writers[name] == 1}
    return {name: _first_in_chain(name, direct) for name in direct}


def _first_in_chain(name: str, direct: dict[str, Tensor]) -> Tensor:
    seen = {name}
    source = direct[name]
    while source.name in direct and source.name not in seen:
        seen.add(source.name)
        source = direct[source.name]
    return source


#: Types of such layers: Myelin's up to TensorRT 9, and what an accelerator took over.
WHOLE_PARTS = frozenset({"Myelin", "ForeignNode"})


def is_whole_part(layer: Layer) -> bool:
    """Whether a layer's weights and intermediate tensors are inside it, and not in the plan."""
    return layer.type in WHOLE_PARTS or layer.name.startswith("{ForeignNode[")


class TensorRoles(Record, frozen=True, kw_only=True):
    """Roles of a plan's tensors, computed once for all byte counts.

    Attributes:
        active: Layers that do work.
        constants: Bytes by tensor name: outputs of ``Constant`` layers. Where the plan lists the
            engine's inputs, also tensors that an active layer reads and that neither a layer nor
            the caller provides. The size is that in the engine. A plan of TensorRT 8.6 also lists
            the weights of a ``Constant`` layer in the type of the build; that size is used where
            the other is unknown.
        sources: For each output of a no-op, what goes into the first of its chain.
    """

    active: tuple[Layer, ...]
    constants: dict[str, int | None]
    sources: dict[str, Tensor]

    def source(self, tensor: Tensor) -> Tensor:
        """Return the tensor that a reader of `tensor` reads: no-ops pass their input on."""
        return self.sources.get(tensor.name, tensor)


def tensor_roles(plan: Plan) -> TensorRoles:
    """Return what the tensors of `plan` are."""
    active = plan.active_layers
    sources, constants = no_op_sources(plan), _constants(plan, active)
    return TensorRoles(active=active, constants=constants, sources=sources)


def _constants(plan: Plan, active: tuple[Layer, ...]) -> dict[str, int | None]:
    constants: dict[str, int | None] = {}
    for layer in plan.layers:
        if layer.type == "Constant":
            for tensor in layer.outputs:
                stored = layer.weights[0].nbytes if layer.weights else None
                constants[tensor.name] = stored if tensor.nbytes is None else tensor.nbytes
    if not plan.io:
        return constants
    computed = {tensor.name for layer in plan.layers for tensor in layer.outputs}
    computed.update(one.tensor.name for one in plan.inputs)
    for layer in active:
        for tensor in layer.inputs:
            if tensor.name not in computed:
                constants.setdefault(tensor.name, tensor.nbytes)
    return constants
