"""Pair the tensors inside two models, and measure how far each is from the reference's."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from enginescope.analysis.accuracy.error_limits import NoiseSum
from enginescope.analysis.accuracy.output_verdict import Compared, reasons_of
from enginescope.analysis.errors.channel_errors import ChannelAxes, flat_numbers, kind_of
from enginescope.analysis.errors.element_errors import ElementErrors, compare_elements
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_graph import FlowNode, OnnxFlow
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

#: Operators that hand on what they get in another type: a tensor keeps its name through them.
_CONVERSIONS = frozenset({"Cast", "QuantizeLinear", "DequantizeLinear", "Identity"})


_Way: TypeAlias = Literal["name", "node", "order", "reader"]
#: The reference's tensor, and how it was found.
_How: TypeAlias = tuple[str, _Way]


class TensorPair(Record, frozen=True, kw_only=True):
    """A tensor of the reference and the same of a candidate.

    Attributes:
        reference, candidate: Its names.
        node, operator: What makes it in the candidate.
        reference_node, reference_operator: What makes it in the reference.
        how: ``node``: nodes of one name make them. ``order``: its maker is the nth of its operator
            on both sides. ``reader``: the same node reads both.
        parents: The nearest pairs that it is computed from.
        unpaired: The candidate's tensors without a counterpart between it and those.
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
    reference_operator: str | None = None
    how: _Way = "name"
    parents: tuple[str, ...] = ()
    unpaired: tuple[str, ...] = ()
    is_output: bool = False
    is_end: bool = False
    label: str | None = None

    @property
    def tensor(self) -> str:
        """The pair's own name: the reference's, unless another pair has it."""
        return self.label or self.reference

    @property
    def is_replaced(self) -> bool:
        """Whether nodes of different operators make them, and neither is a conversion."""
        kinds = {self.operator, self.reference_operator or self.operator}
        return len(kinds) > 1 and not kinds & _CONVERSIONS


class TensorPairs(Record, frozen=True, kw_only=True):
    """Pairs in the candidate's order, and how many floating tensors of each side have none."""

    pairs: tuple[TensorPair, ...]
    reference_alone: int = 0
    candidate_alone: int = 0


class _Made(Record, frozen=True, kw_only=True):
    name: str
    node: FlowNode
    slot: int


def paired_tensors(reference: OnnxFlow, candidate: OnnxFlow) -> TensorPairs:
    """Return the floating tensors that both sides compute from their inputs.

    Tensors of one name are one, unless operators of different kinds make them, and so are those of
    nodes of one name. What is left is paired by its place: among the nodes of its operator, where
    both sides have as many of them, then by the node that reads it. A node in the same place, or of
    the same name, is the same node whatever its operator.
    """
    ours = {one.name: one for one in _made(reference)}
    theirs = {one.name: one for one in _made(candidate)}
    how: dict[str, _How] = {
        name: (name, "name") for name, one in theirs.items() if _same(ours.get(name), one)
    }

    def rest() -> tuple[dict[str, _Made], dict[str, _Made]]:
        taken = {other for other, _ in how.values()}
        return (
            {name: one for name, one in ours.items() if name not in taken},
            {name: one for name, one in theirs.items() if name not in how},
        )

    how |= _by_node(ours, rest()[1], lambda one: one.node.operator)
    how |= _by_order(*rest())
    how |= _by_reader(reference, candidate, how, *rest())
    how |= _by_node(*rest(), lambda _: "")
    return TensorPairs(
        pairs=tuple(_pairs(reference, candidate, how)),
        reference_alone=len(set(ours) - {other for other, _ in how.values()}),
        candidate_alone=len(set(theirs) - set(how)),
    )


def _pairs(
    reference: OnnxFlow, candidate: OnnxFlow, how: Mapping[str, _How]
) -> Iterator[TensorPair]:
    makers = {name: node for node in reference.nodes for name in node.outputs}
    labels = _labels(how)
    sources, ends = _sources(candidate, labels)
    unpaired = _unpaired(candidate, labels)
    for node in candidate.nodes:
        for name in node.outputs:
            if name not in how:
                continue
            other, way = how[name]
            maker = makers.get(other)
            yield TensorPair(
                reference=other,
                candidate=name,
                node=node.name,
                operator=node.operator,
                reference_node=maker.name if maker else "",
                reference_operator=maker.operator if maker else None,
                how=way,
                parents=sources[name],
                unpaired=unpaired[name],
                is_output=name in candidate.outputs,
                is_end=name in ends,
                label=labels[name] if labels[name] != other else None,
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


def _by_node(
    ours: Mapping[str, _Made], theirs: Mapping[str, _Made], kind: Callable[[_Made], str]
) -> dict[str, _How]:
    """Return the candidate's name -> the reference's, where nodes of one name make them."""
    named = {(our.node.own_name, kind(our), our.slot): our.name for our in ours.values()}
    keys = {name: (one.node.own_name, kind(one), one.slot) for name, one in theirs.items()}
    return {name: (named[key], "node") for name, key in keys.items() if key[0] and key in named}


def _by_order(ours: Mapping[str, _Made], theirs: Mapping[str, _Made]) -> dict[str, _How]:
    found: dict[str, _How] = {}
    kinds = _by_kind(theirs)
    for key, mine in _by_kind(ours).items():
        others = kinds.get(key, [])
        if key[0] not in _CONVERSIONS and len(mine) == len(others):
            found |= {b.name: (a.name, "order") for a, b in zip(mine, others, strict=True)}
    return found


def _by_reader(
    reference: OnnxFlow,
    candidate: OnnxFlow,
    how: Mapping[str, _How],
    ours: Mapping[str, _Made],
    theirs: Mapping[str, _Made],
) -> dict[str, _How]:
    """Return tensors with what the reference's same node reads there.

    Dequantized ones, weights too, and those without a pair that are computed from the same pairs.
    """
    paired = {name: other for name, (other, _) in how.items()}
    converted = {one.outputs[0]: one for one in candidate.nodes if one.operator in _CONVERSIONS}
    left = _sources(reference, {one: one for one in paired.values()})[0]
    right = _sources(candidate, paired)[0]
    added: dict[str, str] = {}
    for mine, read in _read_alike(reference, candidate, paired, added):
        root = read
        while root in converted:
            root = converted[root].inputs[0]
        is_left = mine in ours and root in theirs and mine not in added.values()
        if is_left and root not in added:
            is_between = set(left[mine]) == set(right[root])
            if is_between or _same(ours[mine], theirs[root]):
                added[root] = mine
        if read not in how and _is_dequantized(read, converted):
            added.setdefault(read, mine)
    return {name: (other, "reader") for name, other in added.items()}


def _read_alike(
    reference: OnnxFlow, candidate: OnnxFlow, paired: Mapping[str, str], added: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what both models give, or both nodes of a pair read, in one place.

    Args:
        added: Further pairs, which grow: the last nodes come first.
    """
    makers = {name: node for node in reference.nodes for name in node.outputs}
    if len(reference.outputs) == len(candidate.outputs):
        yield from zip(reference.outputs, candidate.outputs, strict=True)
    for node in reversed(candidate.nodes):
        outputs = (paired.get(name) or added.get(name) for name in node.outputs)
        same = next((makers[name] for name in outputs if name in makers), None)
        if same is not None and len(same.inputs) == len(node.inputs):
            yield from zip(same.inputs, node.inputs, strict=True)


def _is_dequantized(name: str, converted: Mapping[str, FlowNode]) -> bool:
    while (node := converted.get(name)) and node.operator in ("Cast", "Identity"):
        name = node.inputs[0]
    return node is not None and node.operator == "DequantizeLinear"


def _by_kind(tensors: Mapping[str, _Made]) -> dict[tuple[str, int], list[_Made]]:
    kinds: dict[tuple[str, int], list[_Made]] = {}
    for tensor in tensors.values():
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


def _unpaired(flow: OnnxFlow, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the tensors without a pair between each tensor and its sources.

    Those computed from shapes alone are left out: shapes are the same on both sides.
    """
    behind: dict[str, tuple[str, ...]] = {}  # a tensor that carries values -> those up to it
    between: dict[str, tuple[str, ...]] = {}
    carrying = set(flow.inputs)
    for node in flow.nodes:
        read = [name for name in node.inputs if name in carrying]
        before = tuple(dict.fromkeys(one for name in read for one in behind.get(name, ())))
        for name in node.outputs:
            between[name] = before
            if read and node.operator not in ("Shape", "Size"):
                carrying.add(name)
                behind[name] = () if name in names else (*before, name)
    return between


#: The first limit that a tensor breaks; ``shape``: it has another one than the reference's.
InnerCode: TypeAlias = Literal[
    "not-finite", "shape", "underflow", "error", "peak", "channel-error", "channel-peak"
]

#: No layer computes such sizes: they stand for minus infinity in masks and paddings.
SENTINEL = 1e30
#: A sentinel in a narrower type: its largest number, or infinite.
_HALF_SENTINEL = 6e4
#: Least share of a tensor that breaks a limit of channels or elements alone.
_JUST_OVER = 1.01


class TensorError(Record, frozen=True, kw_only=True):
    """A tensor against the reference's, over all samples.

    Attributes:
        tensor: By the reference's name.
        error: RMSE ÷ spread of the reference; ``None`` where the reference is 0 throughout.
        peak: Largest |error| ÷ spread.
        max_abs_error, reference_peak: Largest |error|, and largest |reference|, of finite elements.
        nan, infinite, finite_only_here: Elements that are so on the candidate's side alone.
        over, why: Which limit it breaks, and by how much, in words.
        share: The error as a share of its limit; more than 1 is over it, infinite where elements
            are not finite on one side alone, or the shape differs.
    """

    tensor: str
    elements: int
    error: float | None
    peak: float | None
    max_abs_error: float | None
    reference_peak: float | None
    nan: int = 0
    infinite: int = 0
    finite_only_here: int = 0
    over: InnerCode | None = None
    why: str | None = None
    share: float = 0.0

    @property
    def odd(self) -> int:
        """Elements that are finite on one side alone."""
        return self.nan + self.infinite + self.finite_only_here

    @property
    def figure(self) -> float | None:
        """RMSE ÷ spread: infinite where elements are not finite, 0 without any error.

        ``None``: the reference is 0 throughout, and this tensor is not, or their shapes differ.
        """
        if self.odd:
            return math.inf
        is_equal = self.over != "shape" and self.max_abs_error in (None, 0)
        return 0.0 if self.error is None and is_equal else self.error


@dataclass(slots=True)
class TensorErrors:
    """Adds up one tensor's errors, sample by sample."""

    tensor: str
    tolerance: Tolerance
    errors: ElementErrors = field(default_factory=ElementErrors)
    channels: ChannelAxes = field(default_factory=ChannelAxes)
    noise: NoiseSum = field(default_factory=NoiseSum)
    reference_peak: float | None = None
    differs: bool = False
    _samples: int = 0

    def add(
        self, reference: TensorValues, candidate: TensorValues, rounded: TensorValues | None = None
    ) -> None:
        """Add a sample's values; tensors of integers, truth values and texts are left out.

        Args:
            rounded: The rounded reference's; its distance from the reference is the expected error.
        """
        if kind_of(reference.dtype) != "float" or kind_of(candidate.dtype) != "float":
            return
        if reference.shape != candidate.shape:
            self.differs = True
            return
        reference, candidate = _without_sentinels(reference, candidate)
        row = replace(self.tolerance, atol_to_spread=0.0)  # mismatches: not judged
        self.errors = self.errors + compare_elements(reference, candidate, row, self._samples)
        self.channels.add(reference, candidate, self._samples)
        self.noise.add(reference, rounded)
        self._samples += 1
        finite = np.abs(flat_numbers(reference).astype(np.float64))
        finite = finite[np.isfinite(finite)]
        if finite.size:
            self.reference_peak = max(self.reference_peak or 0.0, float(finite.max()))

    @property
    def is_compared(self) -> bool:
        """Whether there was anything to compare."""
        return self.errors.elements > 0 or self.differs

    def result(self) -> TensorError:
        """Return what was added so far."""
        found, moments = self.errors, self.errors.moments
        largest, scale = found.largest, moments.scale
        error = moments.error_to_spread
        over, why = self._over()
        return TensorError(
            tensor=self.tensor,
            elements=found.elements,
            error=error if error is not None and math.isfinite(error) else None,
            peak=largest.value / scale if largest and scale else None,
            max_abs_error=largest.value if largest else None,
            reference_peak=self.reference_peak,
            nan=found.new_nan,
            infinite=found.new_infinite,
            finite_only_here=found.lost_nonfinite,
            over=over,
            why=why,
            share=self._share(error, over),
        )

    def _over(self) -> tuple[InnerCode | None, str | None]:
        """Return the first limit that the tensor breaks: the same limits as for an output."""
        if self.differs:
            return "shape", None
        if self.errors.low == self.errors.high == 0 and not self.errors.disagreeing_nonfinite:
            return None, None  # zeros have no scale: what reads them is judged
        compared = Compared(self.errors, self.channels.axes, self.noise.result())
        for reason in reasons_of(compared, self.tolerance, "float"):
            if reason.code in get_args(InnerCode):
                return reason.code, reason.message  # type: ignore[return-value]
        return None, None

    def _share(self, error: float | None, over: InnerCode | None) -> float:
        if over in ("shape", "not-finite"):
            return math.inf
        limit = self.tolerance.error_to_spread or 0.0
        share = (error or 0.0) / limit if limit else math.inf if error else 0.0
        return max(share, _JUST_OVER) if over else min(share, 1.0)


def _without_sentinels(
    reference: TensorValues, candidate: TensorValues
) -> tuple[TensorValues, TensorValues]:
    """Return both sides with the mean in place of what stands for infinity on both.

    A padding of -3.4e38 would otherwise be the scale of everything beside it.
    """
    a, b = np.asarray(flat_numbers(reference)), np.asarray(flat_numbers(candidate))
    masked = (np.abs(a) >= SENTINEL) & (np.abs(b) >= _HALF_SENTINEL) & (np.sign(a) == np.sign(b))
    if not masked.any():
        return reference, candidate
    left = a[~masked & np.isfinite(a)]
    mean = float(left.astype(np.float64).mean()) if left.size else 0.0
    first, second = (np.where(masked, mean, flat).astype(np.float64) for flat in (a, b))
    return (
        replace(reference, dtype=DataType.FP64, data=first.reshape(reference.shape)),
        replace(candidate, dtype=DataType.FP64, data=second.reshape(candidate.shape)),
    )


#: The largest finite number of a type that has fewer exponents than FP32.
LARGEST = {DataType.FP16: 65_504.0, DataType.FP8: 448.0}
