"""Layers that only rewrite a tensor: where they come from and what they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor

_TYPES = frozenset({"Reformat", "MyelinReformat"})


class ReformatLayer(Record, frozen=True, kw_only=True):
    """A layer that rewrites a tensor.

    Attributes:
        index: Position in the plan.
        origin: As the plan says it: ``"QDQ"``, from quantisation in the model; ``"REFORMAT"``, put
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
    mean_ms: float | None

    @property
    def conversion(self) -> str:
        """``"FP32 NCHW → INT8 NC/4HW4"``."""
        return f"{self.source} → {self.target}"


class ReformatShare(Record, frozen=True, kw_only=True):
    """Reformats that share a property, and their time.

    Attributes:
        mean_ms: Sum of their mean times; ``None`` if none of them has one.
        share_pct: Of the sum over all layers of the plan.
    """

    key: str | None
    layers: int
    mean_ms: float | None
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
    return any(one in _TYPES for one in types)


def reformats_by(
    found: Iterable[ReformatLayer],
    key: Callable[[ReformatLayer], str | None],
    whole_ms: float | None,
) -> tuple[ReformatShare, ...]:
    """Group reformats by `key`, by time, then by layers; `whole_ms`: of all layers of the plan."""
    groups: dict[str | None, list[float | None]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one.mean_ms)
    shares = [_share(name, times, whole_ms) for name, times in groups.items()]
    return tuple(
        sorted(shares, key=lambda one: (-(one.mean_ms or 0.0), -one.layers, one.key or ""))
    )


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
        mean_ms=row.mean_ms,
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


def _share(key: str | None, times: list[float | None], whole_ms: float | None) -> ReformatShare:
    known = [time for time in times if time is not None]
    mean_ms = sum(known) if known else None
    return ReformatShare(
        key=key,
        layers=len(times),
        mean_ms=mean_ms,
        share_pct=100 * mean_ms / whole_ms if mean_ms is not None and whole_ms else None,
    )
