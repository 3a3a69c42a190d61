"""Normalization that was not fused.

What it looks for: a kernel that ends in a mean. Within two layers follows a kernel that begins with
the square root of a LayerNorm or RMSNorm. The rule reads operations from kernel names, pointwise
layers and ONNX node names.

Why it costs time: the kernels write the tensor and read it again. One kernel would keep it on the
chip.

What to do: export LayerNormalization (opset 17) or RMSNormalization (opset 23) as one operator. No
other node may read the tensors inside it. An output in the middle of the norm, a slice, or a Cast
between its parts prevents the fusion.

When it is wrong: the mean and the square root belong to different operations. All kernels but the
longest are at stake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from enginescope.analysis.report_card.layer_groups import operations_of
from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_MEANS = frozenset({"Mean", "ReduceMean"})
_ROOTS = frozenset({"Sqrt", "Rsqrt"})
_TYPES = ("kgen", "PointWise", "PointWiseV2", "ElementWise", "Reduce", "Unary")
_HOPS = 2
_NUMBER = re.compile(r"_\d+$")
_NODE = re.compile(r"[^\s(),\[\]]*/([A-Za-z_0-9]+)")


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_types(_TYPES):
        if not _may_hold_mean(layer) or not _ends_in_mean(_operations(layer)):
            continue
        way = _way_to_root(view, layer.index)
        if way is None:
            continue
        kernels = (layer.index, *way)
        times = view.part_ms(kernels)
        longest = max(times, key=lambda kernel: times[kernel], default=None)
        yield Found(
            layers=kernels,
            message=f"begins a normalization that is split over {len(kernels)} kernels",
            evidence={"layers": [view.layers[kernel].name for kernel in kernels]},
            stakes_ms={kernel: time for kernel, time in times.items() if kernel != longest},
        )


def _may_hold_mean(layer: Layer) -> bool:
    """Whether a text of the layer contains a mean; a large plan has few such layers."""
    texts = (layer.name, layer.tactic_name or "", *layer.onnx_nodes)
    return any("Mean" in text for text in texts) or "Operations" in layer.attributes


def _operations(layer: Layer) -> tuple[str, ...]:
    told = operations_of(layer)
    if told:
        return told
    nodes = _NODE.findall(" ".join(layer.onnx_nodes) or layer.name)
    return tuple(_NUMBER.sub("", node) for node in nodes)


def _ends_in_mean(operations: tuple[str, ...]) -> bool:
    last = max((at for at, one in enumerate(operations) if one in _MEANS), default=None)
    return last is not None and _ROOTS.isdisjoint(operations[last:])


def _begins_with_root(operations: tuple[str, ...]) -> bool:
    first = next((at for at, one in enumerate(operations) if one in _ROOTS), None)
    return first is not None and _MEANS.isdisjoint(operations[:first])


def _way_to_root(view: LintView, start: int) -> tuple[int, ...] | None:
    """Return the layers from `start` to a near square root; ``None``: there is none."""
    ways: list[tuple[int, ...]] = [(reader,) for reader in view.flow.after.get(start, ())]
    for _ in range(_HOPS):
        ways = [way for way in ways if view.layers[way[-1]].type in _TYPES]
        for way in ways:
            if _begins_with_root(_operations(view.layers[way[-1]])):
                return way
        ways = [
            (*way, reader)
            for way in ways
            if not _ends_in_mean(_operations(view.layers[way[-1]]))
            for reader in view.flow.after.get(way[-1], ())
        ]
    return None


RULE = Rule(
    code="PLAN119",
    name="unfused-normalization",
    summary="A LayerNorm or RMSNorm runs as several kernels",
    severity=Severity.WARNING,
    advice="export it as one LayerNormalization, and read nothing from its middle",
    doc=__doc__,
    check=_check,
    explains=("PLAN110", "TIME204"),
)
