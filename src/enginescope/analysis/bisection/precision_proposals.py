"""Which nodes to keep in FP32, from where an error starts and what it grows by."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, steepest
from enginescope.analysis.bisection.tensor_errors import LARGEST
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_flow import FlowNode, OnnxFlow
from enginescope.formats.onnx.onnx_unfold import original_name
from enginescope.records.tensor import DataType

#: ``none``: the side as it is. ``all``: no reduced precision at all.
Kind: TypeAlias = Literal[
    "none", "first", "overflow", "starts", "block", "operator", "largest", "all"
]
#: Values above this part of what FP16 can hold may be above it for another sample.
_NEAR_OVERFLOW = 0.5
#: Of all nodes, those of the largest errors of their own that are kept.
_SHARES = (0.05, 0.2)
_LEAST = 2
_SEPARATORS = "/."


class Proposal(Record, frozen=True, kw_only=True):
    """Nodes that might stay in FP32.

    Attributes:
        title: In words.
        nodes: By their names in the model that is not reduced.
    """

    kind: Kind
    title: str
    nodes: tuple[str, ...]


def proposals_of(
    found: Bisected, flow: OnnxFlow, present: Container[str], *, of_reference: bool = False
) -> tuple[Proposal, ...]:
    """Return what to try, each set of nodes once; the smallest reason first.

    Args:
        flow: Of the model whose nodes are to be named, without If and Loop.
        present: The names of that model's nodes, as its file has them: no other node can be kept.
        of_reference: Whether that is the reference's; else the side's.
    """
    made: dict[frozenset[str], Proposal] = {}
    for idea in _ideas(found, _Nodes(flow, present, of_reference=of_reference)):
        if idea.nodes:
            made.setdefault(frozenset(idea.nodes), idea)
    return tuple(made.values())


def _ideas(found: Bisected, nodes: _Nodes) -> Iterator[Proposal]:
    first = found.first_step
    if first is not None:
        name = nodes.maker(first)
        yield _proposal("first", f"the start: {name}", nodes.floating([name]))
        yield _overflow(found, nodes)
        reaching = [nodes.maker(start) for start in found.starts if start.reaches_output]
        yield _proposal("starts", "every start", nodes.floating(reaching))
        yield _proposal("block", f"block of {name}", nodes.block(name))
        operator = nodes.operator(name)
        yield _proposal("operator", f"every {operator}", nodes.of_operator(operator))
    for share in _SHARES:
        count = max(_LEAST, round(share * len(nodes.names)))
        kept = nodes.floating(nodes.maker(one) for one in steepest(found.steps, count))
        yield _proposal("largest", f"{len(kept):,} of most error", kept)


def _overflow(found: Bisected, nodes: _Nodes) -> Proposal:
    """Return what makes or reads a tensor that FP16 cannot hold, or nearly so."""
    largest = found.largest or LARGEST[DataType.FP16]
    loud = [step for step in found.steps if _peak(step) > _NEAR_OVERFLOW * largest]
    makers = [nodes.maker(one) for one in loud]
    readers = nodes.readers(nodes.tensor(one) for one in loud)
    return _proposal("overflow", "all that overflows", nodes.floating([*makers, *readers]))


def _peak(one: GrowthStep) -> float:
    return one.error.reference_peak or 0.0


def _proposal(kind: Kind, title: str, nodes: tuple[str, ...]) -> Proposal:
    return Proposal(kind=kind, title=title, nodes=tuple(dict.fromkeys(nodes)))


class _Nodes:
    """The nodes that compute floating tensors from the inputs, in order.

    All rounds of a Loop's body are one node of the model.
    """

    def __init__(self, flow: OnnxFlow, present: Container[str], *, of_reference: bool) -> None:
        self._of_reference = of_reference
        self._nodes = [
            msgspec.structs.replace(node, name=name)
            for node in flow.nodes
            if node.varies
            and _computes(node, flow)
            and (name := original_name(node.name)) in present
        ]
        self._by_name = {node.name: node for node in self._nodes}
        self._makers = {name: node for node in self._nodes for name in node.outputs}
        self.names = tuple(self._by_name)

    def maker(self, one: GrowthStep) -> str:
        name = one.pair.reference_node if self._of_reference else one.pair.node
        return original_name(name)

    def tensor(self, one: GrowthStep) -> str:
        return one.pair.reference if self._of_reference else one.pair.candidate

    def floating(self, names: Iterable[str]) -> tuple[str, ...]:
        wanted = set(names)
        return tuple(name for name in self.names if name in wanted)

    def operator(self, name: str) -> str:
        found = self._by_name.get(name)
        return found.operator if found else ""

    def of_operator(self, operator: str) -> tuple[str, ...]:
        return tuple(node.name for node in self._nodes if node.operator == operator)

    def readers(self, tensors: Iterable[str]) -> tuple[str, ...]:
        wanted = set(tensors)
        return tuple(node.name for node in self._nodes if not wanted.isdisjoint(node.inputs))

    def block(self, name: str) -> tuple[str, ...]:
        """Return the nodes of the same module; without module names, the node's neighbours."""
        node = self._by_name.get(name)
        if node is None:
            return ()
        prefix = _module(name)
        if prefix:
            alike = tuple(one for one in self.names if one.startswith(prefix))
            if 1 < len(alike) < len(self.names):
                return alike
        before = [self._makers[one].name for one in node.inputs if one in self._makers]
        return self.floating([name, *before, *self.readers(node.outputs)])


def _computes(node: FlowNode, flow: OnnxFlow) -> bool:
    return any(flow.tensor(output).dtype in (DataType.FP32, None) for output in node.outputs)


def _module(name: str) -> str:
    """Return the name up to its last separator, that included; ``""`` without one."""
    at = max(name.rfind(one) for one in _SEPARATORS)
    return name[: at + 1] if at > 0 else ""
