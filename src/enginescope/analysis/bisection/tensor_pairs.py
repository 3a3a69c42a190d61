"""Which tensors inside two models are the same tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from enginescope.analysis.errors.channel_errors import kind_of
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_flow import FlowNode, OnnxFlow

#: Operators that hand on what they get in another type: a tensor keeps its name through them.
_CONVERSIONS = frozenset({"Cast", "QuantizeLinear", "DequantizeLinear", "Identity"})


class TensorPair(Record, frozen=True, kw_only=True):
    """A tensor of the reference and the same of a candidate.

    Attributes:
        reference, candidate: Its names.
        node, operator: What makes it in the candidate.
        reference_node: What makes it in the reference.
        how: ``node``: nodes of one name make them. ``order``: its maker is the nth of its operator
            on both sides. ``reader``: it is dequantized, and the same operator reads both.
        parents: The nearest pairs that it is computed from.
        is_output: Whether it is an output of the model.
        is_end: Whether it is one, or an output without a counterpart (integers, a sequence, a map)
            is computed from it.
        label: The pair's name where the reference's tensor has several counterparts.
    """

    reference: str
    candidate: str
    node: str
    operator: str
    reference_node: str
    how: Literal["name", "node", "order", "reader"] = "name"
    parents: tuple[str, ...] = ()
    is_output: bool = False
    is_end: bool = False
    label: str | None = None

    @property
    def tensor(self) -> str:
        """The pair's own name: the reference's, unless another pair has it."""
        return self.label or self.reference


class TensorPairs(Record, frozen=True, kw_only=True):
    """Pairs in the candidate's order, and how many floating tensors of each side have none."""

    pairs: tuple[TensorPair, ...]
    reference_alone: int = 0
    candidate_alone: int = 0


_Way: TypeAlias = Literal["name", "node", "order", "reader"]
#: The reference's tensor, and how it was found.
_How: TypeAlias = tuple[str, _Way]


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
    how: dict[str, _How] = {
        name: (name, "name") for name, one in theirs.items() if _same(ours.get(name), one)
    }

    def rest() -> tuple[list[_Made], list[_Made]]:
        taken = {other for other, _ in how.values()}
        return (
            [one for name, one in ours.items() if name not in taken],
            [one for name, one in theirs.items() if name not in how],
        )

    how |= {name: (other, "node") for name, other in _by_node(ours, rest()[1]).items()}
    how |= {name: (other, "order") for name, other in _by_order(*rest()).items()}
    makers = {name: node for node in reference.nodes for name in node.outputs}
    how |= {name: (other, "reader") for name, other in _by_reader(makers, candidate, how).items()}
    return TensorPairs(
        pairs=tuple(_pairs(makers, candidate, how)),
        reference_alone=len(set(ours) - {other for other, _ in how.values()}),
        candidate_alone=len(set(theirs) - set(how)),
    )


def _pairs(
    makers: Mapping[str, FlowNode], candidate: OnnxFlow, how: Mapping[str, _How]
) -> Iterator[TensorPair]:
    labels = _labels(how)
    sources, ends = _sources(candidate, labels)
    for node in candidate.nodes:
        for name in node.outputs:
            if name not in how:
                continue
            reference, way = how[name]
            maker = makers.get(reference)
            yield TensorPair(
                reference=reference,
                candidate=name,
                node=node.name,
                operator=node.operator,
                reference_node=maker.name if maker else "",
                how=way,
                parents=sources[name],
                is_output=name in candidate.outputs,
                is_end=name in ends,
                label=labels[name] if labels[name] != reference else None,
            )


def _labels(how: Mapping[str, _How]) -> dict[str, str]:
    """Return a name for each pair, by the candidate's: the reference's, where it is free."""
    labels = {name: reference for name, (reference, way) in how.items() if way == "name"}
    taken = set(labels.values())
    for name, (reference, _) in how.items():
        if name not in labels:
            free = (one for one in (reference, name, f"{name} ({reference})") if one not in taken)
            labels[name] = next(free)
            taken.add(labels[name])
    return labels


def _made(flow: OnnxFlow) -> Iterator[_Made]:
    for node in flow.nodes:
        if not node.varies:
            continue
        for slot, name in enumerate(node.outputs):
            tensor = flow.tensor(name)
            is_float = tensor.dtype is None or kind_of(tensor.dtype) == "float"
            if tensor.is_tensor and is_float:
                yield _Made(name=name, node=node, slot=slot)


def _same(ours: _Made | None, theirs: _Made) -> bool:
    if ours is None:
        return False
    kinds = {ours.node.operator, theirs.node.operator}
    return len(kinds) == 1 or bool(kinds & _CONVERSIONS)


def _by_node(ours: Mapping[str, _Made], theirs: list[_Made]) -> dict[str, str]:
    """Return the candidate's name -> the reference's, where nodes of one name make them."""
    named = {
        (our.node.own_name, our.node.operator, our.slot): our.name
        for our in ours.values()
        if our.node.own_name
    }
    keys = {their.name: (their.node.own_name, their.node.operator, their.slot) for their in theirs}
    return {name: named[key] for name, key in keys.items() if key in named}


def _by_order(ours: list[_Made], theirs: list[_Made]) -> dict[str, str]:
    """Return the candidate's name -> the reference's, of what names did not pair."""
    found: dict[str, str] = {}
    for key, mine in _by_kind(ours).items():
        others = _by_kind(theirs).get(key, [])
        if key[0] not in _CONVERSIONS and len(mine) == len(others):
            found |= {b.name: a.name for a, b in zip(mine, others, strict=True)}
    return found


def _by_reader(
    makers: Mapping[str, FlowNode], candidate: OnnxFlow, how: Mapping[str, _How]
) -> dict[str, str]:
    """Return dequantized tensors, weights too, with what the reference's same node reads there."""
    found: dict[str, str] = {}
    dequantized: dict[str, str] = {}
    for node in candidate.nodes:
        if node.operator == "DequantizeLinear":
            dequantized[node.outputs[0]] = node.outputs[0]
        elif node.operator in ("Cast", "Identity") and node.inputs[0] in dequantized:
            dequantized[node.outputs[0]] = dequantized[node.inputs[0]]
    for node in candidate.nodes:
        pairs = (how[name][0] for name in node.outputs if name in how)
        same = next((makers[name] for name in pairs if name in makers), None)
        if same is None or len(same.inputs) != len(node.inputs):
            continue
        for ours, theirs in zip(same.inputs, node.inputs, strict=True):
            name = dequantized.get(theirs)
            if name is not None and name not in how:
                found.setdefault(name, ours)
    return found


def _by_kind(tensors: list[_Made]) -> dict[tuple[str, int], list[_Made]]:
    kinds: dict[tuple[str, int], list[_Made]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.node.operator, tensor.slot), []).append(tensor)
    return kinds


def _sources(
    flow: OnnxFlow, names: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return the nearest pairs that each tensor is computed from, and those that end the model."""
    reach: dict[str, tuple[str, ...]] = {}  # a tensor -> itself if it is paired, else its sources
    sources: dict[str, tuple[str, ...]] = {}
    candidates = {name: tensor for tensor, name in names.items()}
    for node in flow.nodes:
        found = tuple(dict.fromkeys(one for name in node.inputs for one in reach.get(name, ())))
        for name in node.outputs:
            sources[name] = found
            reach[name] = (names[name],) if name in names else found
    ends = {candidates[name] for output in flow.outputs for name in reach.get(output, ())}
    return sources, ends
