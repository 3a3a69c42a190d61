"""Which nodes to keep in FP32, from where an error starts and what it grows by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from enginescope.analysis.error_growth import Bisected, GrowthStep, steepest
from enginescope.analysis.tensor_errors import LARGEST
from enginescope.core.record import Record
from enginescope.formats.onnx_flow import FlowNode, OnnxFlow
from enginescope.model.tensor import DataType

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

    Attributes
    ----------
    kind : str
    title : str
        In words.
    nodes : tuple of str
        By their names in the model that is not reduced.
    """

    kind: Kind
    title: str
    nodes: tuple[str, ...]


def proposals_of(
    found: Bisected, flow: OnnxFlow, *, of_reference: bool = False
) -> tuple[Proposal, ...]:
    """Return what to try, each set of nodes once; the smallest reason first.

    Parameters
    ----------
    flow : OnnxFlow
        Of the model whose nodes are to be named.
    of_reference : bool
        Whether that is the reference's; else the side's.
    """
    made: dict[frozenset[str], Proposal] = {}
    for one in _ideas(found, _Nodes(flow, of_reference=of_reference)):
        if one.nodes:
            made.setdefault(frozenset(one.nodes), one)
    return tuple(made.values())


def _ideas(found: Bisected, nodes: _Nodes) -> Iterator[Proposal]:
    first = found.first_step
    if first is not None:
        name = nodes.maker(first)
        yield _proposal("first", f"the start: {name}", nodes.floating([name]))
        yield _overflow(found, nodes)
        reaching = [nodes.maker(one) for one in found.starts if one.reaches_output]
        yield _proposal("starts", "every start", nodes.floating(reaching))
        yield _proposal("block", f"block of {name}", nodes.block(name))
        operator = nodes.operator(name)
        yield _proposal("operator", f"every {operator}", nodes.of_operator(operator))
    for share in _SHARES:
        count = max(_LEAST, round(share * len(nodes.names)))
        kept = [nodes.maker(one) for one in steepest(found.steps, count)]
        title = f"{len(kept):,} of most error"
        yield _proposal("largest", title, nodes.floating(kept))


def _overflow(found: Bisected, nodes: _Nodes) -> Proposal:
    """Return what makes or reads a tensor that FP16 cannot hold, or nearly so."""
    largest = found.largest or LARGEST[DataType.FP16]
    loud = [one for one in found.steps if _peak(one) > _NEAR_OVERFLOW * largest]
    makers = [nodes.maker(one) for one in loud]
    readers = nodes.readers(nodes.tensor(one) for one in loud)
    return _proposal("overflow", "all that overflows", nodes.floating([*makers, *readers]))


def _peak(one: GrowthStep) -> float:
    return one.error.reference_peak or 0.0


def _proposal(kind: Kind, title: str, nodes: tuple[str, ...]) -> Proposal:
    return Proposal(kind=kind, title=title, nodes=nodes)


class _Nodes:
    """The nodes that compute floating tensors from the inputs, in order."""

    def __init__(self, flow: OnnxFlow, *, of_reference: bool) -> None:
        self._of_reference = of_reference
        self._nodes = [one for one in flow.nodes if one.varies and _computes(one, flow)]
        self._by_name = {one.name: one for one in self._nodes}
        self._makers = {name: one for one in self._nodes for name in one.outputs}
        self.names = tuple(self._by_name)

    def maker(self, one: GrowthStep) -> str:
        return one.pair.reference_node if self._of_reference else one.pair.node

    def tensor(self, one: GrowthStep) -> str:
        return one.pair.reference if self._of_reference else one.pair.candidate

    def floating(self, names: Iterable[str]) -> tuple[str, ...]:
        wanted = set(names)
        return tuple(one for one in self.names if one in wanted)

    def operator(self, name: str) -> str:
        found = self._by_name.get(name)
        return found.operator if found else ""

    def of_operator(self, operator: str) -> tuple[str, ...]:
        return tuple(one.name for one in self._nodes if one.operator == operator)

    def readers(self, tensors: Iterable[str]) -> tuple[str, ...]:
        wanted = set(tensors)
        return tuple(one.name for one in self._nodes if not wanted.isdisjoint(one.inputs))

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
    return any(flow.tensor(one).dtype in (DataType.FP32, None) for one in node.outputs)


def _module(name: str) -> str:
    """Return the name up to its last separator, that included; ``""`` without one."""
    at = max(name.rfind(one) for one in _SEPARATORS)
    return name[: at + 1] if at > 0 else ""
