"""Layers with their times, as rows for tables and charts."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.layers.attribution import attribute
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.plan.timing import LayerTiming, Profile
from enginescope.records.tensor import Tensor


class LayerRow(Record, frozen=True, kw_only=True, gc=False):
    """One layer: what the plan knows of it and what the profile measured.

    Attributes:
        index: Position in the plan, or in the profile where the plan does not have the layer.
        type: Layer type of the plan, else the operator that the profile names.
        subtype: The implementation, from the plan.
        precision: Type of the first input: ``"FP16"``, …
        provider: Execution provider that ran it (ONNX Runtime).
        mean_ms, median_ms: Per iteration of the profiling pass.
        total_ms: Over all iterations of that pass.
        share_pct: `mean_ms` as a part of the sum over layers, 0…100; ``None`` for containers.
        is_inert: Launches nothing; has no time.
        is_container: Its time holds that of other rows, and is left out of sums.
    """

    index: int
    name: str
    type: str | None = None
    subtype: str | None = None
    precision: str | None = None
    provider: str | None = None
    mean_ms: float | None = None
    median_ms: float | None = None
    total_ms: float | None = None
    share_pct: float | None = None
    tactic: str | None = None
    onnx_nodes: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    is_inert: bool = False
    is_container: bool = False
    in_plan: bool = False

    @property
    def took_time(self) -> bool:
        """Whether it has a time, other than the 0 that profiles give to layers without work."""
        return self.mean_ms is not None and not (self.is_inert and self.mean_ms == 0)


def layer_rows(plan: Plan | None, profile: Profile | None) -> tuple[LayerRow, ...]:
    """Return the layers of a plan with their times, then those only the profile has.

    With a plan alone all times are ``None``; with a profile alone a row knows its name, its
    times, and its operator and provider where the profile says them.
    """
    whole_ms = profile.sum_mean_ms if profile else None
    if plan is None:
        return tuple(_row(None, one, whole_ms) for one in profile.layers) if profile else ()
    if profile is None:
        return tuple(_row(layer, None, None) for layer in plan.layers)
    joined = attribute(plan, profile)
    return (
        *(_row(one.layer, one.timing, whole_ms) for one in joined.layers),
        *(_row(None, one, whole_ms) for one in joined.unmatched),
    )


def slowest_first(rows: tuple[LayerRow, ...]) -> tuple[LayerRow, ...]:
    """Return `rows` by falling mean time; rows without one last, in their own order."""
    return tuple(sorted(rows, key=lambda row: -row.mean_ms if row.mean_ms is not None else 1.0))


def _row(layer: Layer | None, timing: LayerTiming | None, whole_ms: float | None) -> LayerRow:
    times = _times(timing, whole_ms) if timing else {}
    if layer is None:
        assert timing is not None
        return LayerRow(index=timing.index, name=timing.name, type=timing.kind, **times)
    precision = layer.precision
    return LayerRow(
        index=layer.index,
        name=layer.name,
        type=layer.type if layer.type != "unknown" else timing.kind if timing else None,
        subtype=layer.subtype,
        precision=precision.value if precision else None,
        tactic=layer.tactic_name,
        onnx_nodes=layer.onnx_nodes,
        inputs=layer.inputs,
        outputs=layer.outputs,
        is_inert=layer.is_inert,
        in_plan=True,
        **times,
    )


def _times(timing: LayerTiming, whole_ms: float | None) -> dict[str, Any]:
    has_share = timing.mean_ms is not None and whole_ms and not timing.is_container
    return {
        "provider": timing.provider,
        "mean_ms": timing.mean_ms,
        "median_ms": timing.median_ms,
        "total_ms": timing.total_ms,
        "share_pct": 100 * (timing.mean_ms or 0.0) / (whole_ms or 1.0) if has_share else None,
        "is_container": timing.is_container,
    }
