"""Which tensors inside two models are the same tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from enginescope.analysis.answer_numbers import kind_of
from enginescope.core.record import Record
from enginescope.formats.onnx_flow import FlowNode, OnnxFlow

#: Operators that hand on what they get in another type: a tensor keeps its name through them.
_CONVERSIONS = frozenset({"Cast", "QuantizeLinear", "DequantizeLinear", "Identity"})


class TensorPair(Record, frozen=True, kw_only=True):
    """A tensor of the reference and the same of a candidate.

    Attributes
    ----------
    reference, candidate : str
        Its names.
    node, operator : str
        What makes it in the candidate.
    reference_node : str
        What makes it in the reference.
    how : {"name", "order"}
        ``order``: its maker is the nth of its operator on both sides.
    parents : tuple of str
        The nearest pairs that it is computed from, by the reference's names.
    is_output : bool
        Whether the model itself gives it.
    """

    reference: str
    candidate: str
    node: str
    operator: str
    reference_node: str
    how: Literal["name", "order"] = "name"
    parents: tuple[str, ...] = ()
    is_output: bool = False


class TensorPairs(Record, frozen=True, kw_only=True):
    """Pairs in the candidate's order, and how many floating tensors of each side have none."""

    pairs: tuple[TensorPair, ...]
    reference_alone: int = 0
    candidate_alone: int = 0


class _Made(Record, frozen=True, kw_only=True):
    """A tensor with what makes it."""

    name: str
    node: FlowNode
    slot: int


def paired_tensors(reference: OnnxFlow, candidate: OnnxFlow) -> TensorPairs:
    """Return the floating tensors that both sides compute from their inputs.

    Tensors of one name are one, unless operators of different kinds make them. What is left is
    paired by its place among the nodes of its operator, where both sides have as many of them.
    """
    ours = {one.name: one for one in _made(reference)}
    theirs = {one.name: one for one in _made(candidate)}
    partner = {name: name for name, one in theirs.items() if _same(ours.get(name), one)}
    rest = [one for name, one in theirs.items() if name not in partner]
    by_order = _by_order([one for name, one in ours.items() if name not in partner], rest)
    partner |= by_order
    sources = _sources(candidate, partner)
    return TensorPairs(
        pairs=tuple(
            TensorPair(
                reference=partner[name],
                candidate=name,
                node=one.node.name,
                operator=one.node.operator,
                reference_node=ours[partner[name]].node.name,
                how="order" if name in by_order else "name",
                parents=sources[name],
                is_output=name in candidate.outputs,
            )
            for name, one in theirs.items()
            if name in partner
        ),
        reference_alone=len(ours) - len(partner),
        candidate_alone=len(theirs) - len(partner),
    )


def _made(flow: OnnxFlow) -> Iterator[_Made]:
    for node in flow.nodes:
        if not node.varies:
            continue
        for slot, name in enumerate(node.outputs):
            dtype = flow.tensor(name).dtype
            if dtype is None or kind_of(dtype) == "float":
                yield _Made(name=name, node=node, slot=slot)


def _same(ours: _Made | None, theirs: _Made) -> bool:
    if ours is None:
        return False
    kinds = {ours.node.operator, theirs.node.operator}
    return len(kinds) == 1 or bool(kinds & _CONVERSIONS)


def _by_order(ours: list[_Made], theirs: list[_Made]) -> dict[str, str]:
    """Return the candidate's name -> the reference's, of what names did not pair."""
    found: dict[str, str] = {}
    for key, mine in _by_kind(ours).items():
        others = _by_kind(theirs).get(key, [])
        if key[0] not in _CONVERSIONS and len(mine) == len(others):
            found |= {b.name: a.name for a, b in zip(mine, others, strict=True)}
    return found


def _by_kind(tensors: list[_Made]) -> dict[tuple[str, int], list[_Made]]:
    kinds: dict[tuple[str, int], list[_Made]] = {}
    for one in tensors:
        kinds.setdefault((one.node.operator, one.slot), []).append(one)
    return kinds


def _sources(flow: OnnxFlow, partner: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the nearest pairs that each tensor is computed from."""
    reach: dict[str, tuple[str, ...]] = {}  # a tensor -> itself if it is paired, else its sources
    sources: dict[str, tuple[str, ...]] = {}
    for node in flow.nodes:
        found = tuple(dict.fromkeys(one for name in node.inputs for one in reach.get(name, ())))
        for name in node.outputs:
            sources[name] = found
            reach[name] = (partner[name],) if name in partner else found
    return sources
