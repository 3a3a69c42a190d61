"""Layers of two plans that do the same work."""

from __future__ import annotations

from enum import Enum

from enginescope.core.record import Record
from enginescope.records.plan.plan import Plan


class Evidence(Enum):
    """Why layers are taken for each other's counterpart, the strongest first."""

    NAME = "name"
    ONNX_NODES = "onnx_nodes"
    STRUCTURE = "structure"
    NEIGHBOURHOOD = "neighbourhood"


class LayerPair(Record, frozen=True, kw_only=True, gc=False):
    """Layers of plan A and the layers of plan B that do the same work.

    Attributes:
        a, b: `Layer.index` of each, rising; never empty. One and one as a rule; one and several
            where a layer was split or several were fused; several and several where fusion drew its
            borders elsewhere.
        score: 0…1: how far the two sides agree. Comparable within one kind of evidence.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    evidence: Evidence
    score: float

    @property
    def is_group(self) -> bool:
        """Whether a side has more than one layer."""
        return len(self.a) > 1 or len(self.b) > 1


class Alignment(Record, frozen=True, kw_only=True):
    """Two plans, layer by layer.

    Every active layer of a plan is in exactly one pair, or unmatched; inert layers are in neither.

    Attributes:
        pairs: In the order of plan A.
        only_a, only_b: `Layer.index` of the unmatched active layers, rising.
    """

    plan_a: Plan
    plan_b: Plan
    pairs: tuple[LayerPair, ...]
    only_a: tuple[int, ...] = ()
    only_b: tuple[int, ...] = ()
