"""Layers that stand for a whole part of the network, of whose inside the plan tells nothing."""

from __future__ import annotations

from enginescope.records.plan.plan import Layer

#: Types of such layers: Myelin's up to TensorRT 9, and what an accelerator took over.
WHOLE_PARTS = frozenset({"Myelin", "ForeignNode"})


def is_whole_part(layer: Layer) -> bool:
    """Whether a layer's weights and intermediate tensors are inside it, and not in the plan."""
    return layer.type in WHOLE_PARTS or layer.name.startswith("{ForeignNode[")
