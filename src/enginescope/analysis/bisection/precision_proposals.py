"""Which nodes to keep in FP32, from where an error starts and what it grows by.

Ways of keeping nodes in FP32, built and measured: time and error of each.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep, steepest
from enginescope.analysis.bisection.tensor_pairs import LARGEST
from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_copies import original_name
from enginescope.formats.onnx.onnx_graph import OnnxFlow
from enginescope.judge.samples import Interval
from enginescope.records.tensor import DataType

#: ``none``: the side as it is. ``all``: no reduced precision at all.
Kind: TypeAlias = Literal[
    "none", "first", "overflow", "starts", "block", "operator", "largest", "all"
]


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
        # what makes or reads a tensor that FP16 cannot hold, or nearly so: another sample's may not
        largest = found.largest or LARGEST[DataType.FP16]
        loud = [one for one in found.steps if (one.error.reference_peak or 0.0) > 0.5 * largest]
        makers = [nodes.maker(one) for one in loud]
        readers = nodes.readers(nodes.tensor(one) for one in loud)
        yield _proposal("overflow", "all that overflows", nodes.floating([*makers, *readers]))
        reaching = [nodes.maker(start) for start in found.starts if start.reaches_output]
        yield _proposal("starts", "every start", nodes.floating(reaching))
        yield _proposal("block", f"block of {name}", nodes.block(name))
        operator = nodes.operator(name)
        yield _proposal("operator", f"every {operator}", nodes.of_operator(operator))
    for share in (0.05, 0.2):  # of all nodes, those of the largest errors of their own
        count = max(2, round(share * len(nodes.names)))
        kept = nodes.floating(nodes.maker(one) for one in steepest(found.steps, count))
        yield _proposal("largest", f"{len(kept):,} of most error", kept)


def _proposal(kind: Kind, title: str, nodes: tuple[str, ...]) -> Proposal:
    return Proposal(kind=kind, title=title, nodes=tuple(dict.fromkeys(nodes)))


class _Nodes:
    """The nodes that compute floating tensors from the inputs, in order.

    All rounds of a Loop's body are one node of the model.
    """

    def __init__(self, flow: OnnxFlow, present: Container[str], *, of_reference: bool) -> None:
        self._of_reference = of_reference
        self._nodes = [
            replace(node, name=name)
            for node in flow.nodes
            if node.varies
            and any(flow.tensor(output).dtype in (DataType.FP32, None) for output in node.outputs)
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
        """Return the nodes of the same module; without module names, the node's neighbors."""
        node = self._by_name.get(name)
        if node is None:
            return ()
        at = max(name.rfind("/"), name.rfind("."))
        if at > 0:
            alike = tuple(one for one in self.names if one.startswith(name[: at + 1]))
            if 1 < len(alike) < len(self.names):
                return alike
        before = [self._makers[one].name for one in node.inputs if one in self._makers]
        return self.floating([name, *before, *self.readers(node.outputs)])


def front(points: Sequence[tuple[float | None, float | None]]) -> tuple[int, ...]:
    """Return the numbers of the points that nothing is smaller than in one and no larger in both.

    Args:
        points: Smaller is better; a point of which one is not known belongs to nobody's choice.
    """
    known = [(a, b, at) for at, (a, b) in enumerate(points) if a is not None and b is not None]
    ends: dict[int, tuple[float, float]] = {}
    last: tuple[float, float] | None = None
    for a, b, at in sorted(known):
        if last is None or b < last[1] or (a, b) == last:  # the same point twice: both are on it
            ends[at] = last = a, b
    return tuple(sorted(ends))


class PrecisionTrial(Record, frozen=True, kw_only=True):
    """A proposal that was tried.

    Attributes:
        specification: How to have it again: a backend's specification.
        error: The largest RMSE ÷ spread of an output; ``None`` where one is not finite, or nothing
            was answered.
        latency_ms: Median.
        interval: Its 95 % interval.
        failure: Why it could not be built, answered or measured.
    """

    proposal: Proposal
    specification: str
    passes: bool = False
    error: float | None = None
    latency_ms: float | None = None
    interval: Interval | None = None
    failure: str | None = None

    @property
    def kind(self) -> Kind:
        """What kind of proposal it is."""
        return self.proposal.kind


class PrecisionTrials(Record, frozen=True, kw_only=True):
    """All that were tried, and the choice among them.

    Attributes:
        way: How nodes were kept in FP32, in words.
        samples: That each answered.
        why_none: Why there was nothing to try.
    """

    way: str
    trials: tuple[PrecisionTrial, ...] = ()
    samples: int = 0
    why_none: str | None = None

    @property
    def front(self) -> tuple[PrecisionTrial, ...]:
        """Those that nothing is faster than with no larger error, or nearer with no longer time."""
        points = [(trial.latency_ms, trial.error) for trial in self.trials]
        return tuple(self.trials[at] for at in front(points))

    @property
    def suggested(self) -> PrecisionTrial | None:
        """Return the fastest that passes; of equally fast ones the one that keeps least."""
        passing = [trial for trial in self.trials if trial.passes and trial.latency_ms is not None]
        if not passing:
            return None
        fastest = min(passing, key=lambda one: one.latency_ms or 0.0)
        alike = [one for one in passing if one is fastest or _overlap(one, fastest)]
        return min(
            alike,
            key=lambda one: (one.kind == "all", len(one.proposal.nodes), one.latency_ms or 0.0),
        )

    @property
    def saves_nothing(self) -> bool:
        """Whether all of it in FP32 is no slower than what is suggested."""
        whole = next((trial for trial in self.trials if trial.kind == "all"), None)
        one = self.suggested
        if whole is None or one is None or whole.latency_ms is None or one.latency_ms is None:
            return False
        return whole.latency_ms <= one.latency_ms or _overlap(whole, one)

    @property
    def latency_is_no_reason(self) -> bool:
        """Whether all of it in FP32 is no slower than the side as it is."""
        by_kind = {trial.kind: trial for trial in self.trials}
        whole, plain = by_kind.get("all"), by_kind.get("none")
        if whole is None or plain is None or whole.latency_ms is None or plain.latency_ms is None:
            return False
        return whole.latency_ms <= plain.latency_ms or _overlap(whole, plain)


def _overlap(a: PrecisionTrial, b: PrecisionTrial) -> bool:
    if a.interval is None or b.interval is None:
        return False
    return a.interval.low <= b.interval.high and b.interval.low <= a.interval.high


def worst_error(errors: Sequence[float | None]) -> float | None:
    """Return the largest; ``None`` where one is not known."""
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None
