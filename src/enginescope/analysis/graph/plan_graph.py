"""A plan as a graph: layers, the tensors worth a node, and what each layer reads and writes.

A plan names memory, not values: a name may be written, read, and written again. Each time a name
is written after it was read begins a new generation of it; writers that follow each other without
a reader between them (parts of a concatenation, branches of an If) share one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from enginescope.core.errors import UsageError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor

#: A layer by its place in ``plan.layers``, and the tensor as that layer describes it.
Use = tuple[int, Tensor]


@dataclass(eq=False, slots=True)
class Generation:
    """One life of a named region: who wrote it, who read it.

    Attributes:
        number: From 0, in execution order.
        tensor: As the first layer that touches it describes it.
        carried: Readers that come before the writers: the value is that of an earlier iteration of
            a loop.
        is_closed: A no-op passes it on under another name: a further write begins a new generation.
    """

    name: str
    number: int
    tensor: Tensor
    writers: list[Use] = field(default_factory=list)
    readers: list[Use] = field(default_factory=list)
    carried: Sequence[Use] = ()
    is_closed: bool = False
    merged_into: Generation | None = None

    @property
    def is_read(self) -> bool:
        """Whether any layer reads it."""
        return bool(self.readers or self.carried)


class Flow:
    """The generations of every region of a plan.

    Attributes:
        regions: In execution order; names that only no-ops write are absent.
        kept: Places in ``plan.layers`` of the layers that are neither folded nor left out.
    """

    def __init__(self, plan: Plan, *, constants: bool) -> None:
        self.regions: dict[str, list[Generation]] = {}
        self.kept: list[int] = []
        self._current: dict[str, tuple[Generation, ...]] = {}
        inputs = {one.tensor.name for one in plan.inputs}
        outputs = {output.tensor.name for output in plan.outputs}
        for place, layer in enumerate(plan.layers):
            if "NoOp" in (layer.type, layer.subtype) and bool(layer.inputs):
                self._fold(layer)
                continue
            is_constant = layer.type == "Constant"
            touches = bool(layer.inputs or layer.outputs)
            if constants if is_constant else touches or not layer.is_inert:
                self.kept.append(place)
                self._read(place, layer)
                self._write(place, layer)
        self._carry(inputs)
        if outputs:
            self._carry_round(outputs)

    def holding(self, name: str) -> tuple[Generation, ...]:
        """Return what `name` holds at the end; several where a no-op joins them."""
        return tuple(one.merged_into or one for one in self._current.get(name, ()))

    def _read(self, place: int, layer: Layer) -> None:
        for tensor in layer.inputs:
            for generation in self._current.get(tensor.name) or (self._begin(tensor),):
                generation.readers.append((place, tensor))

    def _write(self, place: int, layer: Layer) -> None:
        for tensor in layer.outputs:
            held = self._current.get(tensor.name, ())
            latest = held[0] if len(held) == 1 and held[0].name == tensor.name else None
            if latest is None or latest.is_closed or latest.readers or not latest.writers:
                latest = self._begin(tensor)
            latest.writers.append((place, tensor))

    def _fold(self, layer: Layer) -> None:
        held = [
            generation
            for tensor in layer.inputs
            for generation in self._current.get(tensor.name) or (self._begin(tensor),)
        ]
        for generation in held:
            generation.is_closed = True
        for tensor in layer.outputs:
            self._current[tensor.name] = tuple(dict.fromkeys(held))

    def _begin(self, tensor: Tensor) -> Generation:
        region = self.regions.setdefault(tensor.name, [])
        made = Generation(name=tensor.name, number=len(region), tensor=tensor)
        region.append(made)
        self._current[tensor.name] = (made,)
        return made

    def _carry(self, inputs: set[str]) -> None:
        """Join what is read before it is ever written to the last that writes it."""
        for name, region in self.regions.items():
            first, last = region[0], region[-1]
            if len(region) == 1 or first.writers or name in inputs:
                continue
            last.carried = (*last.carried, *first.readers)
            first.merged_into = last
            del region[0]
            for number, generation in enumerate(region):
                generation.number = number

    def _carry_round(self, outputs: set[str]) -> None:
        """Join what is written last and never read to who reads the region before.

        TensorRT writes nothing for nothing: what no layer and no caller takes is the state of a
        loop, written for its next iteration over that of this one.
        """
        for name, region in self.regions.items():
            if len(region) < 2 or name in outputs:
                continue
            before, last = region[-2:]
            if last.writers and not last.is_read and not last.is_closed:
                last.carried = (*last.carried, *before.readers)


#: Which tensors are nodes: inputs, outputs and regions used again; also forks; all.
TENSOR_CHOICES = ("io", "forks", "all")


class GraphNode(Record, frozen=True, kw_only=True, gc=False):
    """A node of a plan's graph.

    Attributes:
        id: Its position among the nodes, which stand in execution order.
        kind: ``"constant"``: values that no layer writes and that are no input. ``"group"``:
            several nodes of a folded graph in one.
        name: Names repeat; `id` does not.
        layer: Of a layer node.
        tensor: Of every other node.
        generation: Which life of its region this is, from 0; ``None`` where the region has one.
        layers: Of a group.
    """

    id: int
    kind: str
    name: str
    layer: Layer | None = None
    tensor: Tensor | None = None
    generation: int | None = None
    layers: tuple[Layer, ...] = ()

    @property
    def held_layers(self) -> tuple[Layer, ...]:
        """Its layer, those of a group; empty for constants and tensors."""
        return (self.layer,) if self.layer is not None and self.kind == "layer" else self.layers


EDGE_KINDS = ("data", "reuse", "order")


class GraphEdge(Record, frozen=True, kw_only=True, gc=False):
    """An edge, in the direction of the data.

    Attributes:
        source, target: Node ids.
        kind: One of `EDGE_KINDS`. ``"reuse"``: the same memory, written again. ``"order"``: no
            tensor, the target runs after the source.
        tensor: What flows; ``None`` for order edges.
        is_carried: The reader comes before the writer: the value is of an earlier iteration of a
            loop.
    """

    source: int
    target: int
    kind: str = "data"
    tensor: Tensor | None = None
    is_carried: bool = False


class PlanGraph(Record, frozen=True, kw_only=True, dict=True):
    """Nodes in execution order, and edges; several edges may join the same two nodes."""

    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Source, target and number of the tensor's name for each edge; 0: no tensor."""
        number: defaultdict[str, int] = defaultdict(count(1).__next__)
        ends = [
            (edge.source, edge.target, number[edge.tensor.name] if edge.tensor else 0)
            for edge in self.edges
        ]
        return np.array(ends, dtype=np.int64).reshape(len(ends), 3)


def plan_graph(plan: Plan, *, tensors: str = "io", constants: bool = False) -> PlanGraph:
    """Return the graph of `plan`.

    No-ops are folded: who reads what a no-op writes reads what goes into it. Other layers that
    launch nothing are left out if they touch no tensor. A layer that works and touches no tensor
    (``TrainStation``, every layer of a names-only plan) is tied to its neighbors by order edges.

    Args:
        tensors: Which tensors are nodes: the engine's inputs and outputs, and regions that are
            written again (always); those with several readers or writers; all.
        constants: Whether constant layers and constant tensors are shown.
    """
    if tensors not in TENSOR_CHOICES:
        raise UsageError(f"no such choice of tensors: {tensors!r}", hint=", ".join(TENSOR_CHOICES))
    with gc_paused():
        return _Builder(plan, Flow(plan, constants=constants), tensors, constants).graph()


class _Builder:
    """Collects nodes with the places they are to be sorted by, then edges between them."""

    def __init__(self, plan: Plan, flow: Flow, tensors: str, constants: bool) -> None:  # noqa: FBT001
        self._plan, self._flow = plan, flow
        self._tensors, self._constants = tensors, constants
        self._inputs = {one.tensor.name for one in plan.inputs}
        outputs = {output.tensor.name: output.tensor for output in plan.outputs}
        self._outputs = outputs.keys() & flow.regions.keys()
        self._passed_on = [one for name, one in outputs.items() if name not in self._outputs]
        self._places: list[tuple[int, int]] = []
        self._nodes: list[tuple[str, str, Layer | None, Tensor | None, int | None]] = []
        self._edges: list[tuple[int, int, str, Tensor | None, bool]] = []
        self._of_layer = {place: self._layer(place) for place in flow.kept}
        self._input_nodes: dict[str, int] = {}
        self._ends = self._unread_ends()

    def graph(self) -> PlanGraph:
        """Return the finished graph."""
        for region in self._flow.regions.values():
            self._region(region)
        for one in self._plan.inputs:
            if one.tensor.name not in self._flow.regions:
                self._tensor((-1, 0), "input", one.tensor)
        for tensor in self._passed_on:
            self._renamed_output(tensor)
        self._order_edges()
        return self._sorted()

    def _unread_ends(self) -> dict[Generation, Tensor]:
        """Take the outputs that are all that becomes of one generation, passed on by no-ops."""
        ends: dict[Generation, Tensor] = {}
        left = []
        for tensor in self._passed_on:
            held = self._flow.holding(tensor.name)
            if len(held) == 1 and held[0].writers and not held[0].is_read and held[0] not in ends:
                ends[held[0]] = tensor
            else:
                left.append(tensor)
        self._passed_on = left
        return ends

    def _layer(self, place: int) -> int:
        layer = self._plan.layers[place]
        kind = "constant" if layer.type == "Constant" else "layer"
        self._places.append((place, 1))
        self._nodes.append((kind, layer.name, layer, None, None))
        return len(self._nodes) - 1

    def _tensor(
        self, place: tuple[int, int], kind: str, tensor: Tensor, generation: int | None = None
    ) -> int:
        self._places.append(place)
        self._nodes.append((kind, tensor.name, None, tensor, generation))
        return len(self._nodes) - 1

    def _region(self, region: list[Generation]) -> None:
        before: tuple[Generation, int] | None = None
        for generation in region:
            node = self._own_node(generation, region)
            if node is None:
                self._direct(generation)
                continue
            self._through(generation, node)
            if before is not None:
                readers = {place for place, _ in before[0].readers}
                # a layer that reads the one and writes the other says more than a reuse edge
                if not any(place in readers for place, _ in generation.writers):
                    self._edges.append((before[1], node, "reuse", generation.tensor, False))
            before = generation, node

    def _own_node(self, generation: Generation, region: list[Generation]) -> int | None:
        kind = self._kind(generation, is_last=generation is region[-1])
        if kind == "constant" and not self._constants:
            return None
        is_reused = len(region) > 1
        if kind == "tensor" and not is_reused and not self._is_wanted(generation):
            return None
        number = generation.number if is_reused else None
        tensor = self._ends.get(generation, generation.tensor)
        # behind the first that writes it, else before the first that reads it
        place = (generation.readers[0][0] if generation.readers else -1, 0)
        if generation.writers:
            place = (generation.writers[0][0], 2)
        node = self._tensor(place, kind, tensor, number)
        if kind == "input":
            self._input_nodes[generation.name] = node
        return node

    def _kind(self, generation: Generation, *, is_last: bool) -> str:
        if not generation.writers:
            return "input" if generation.name in self._inputs else "constant"
        is_output = generation in self._ends or (is_last and generation.name in self._outputs)
        return "output" if is_output else "tensor"

    def _is_wanted(self, generation: Generation) -> bool:
        sides = len(generation.writers), len(generation.readers) + len(generation.carried)
        # with more on both sides, writers times readers would not stay small
        if self._tensors == "all" or min(sides) > 4:
            return True
        return self._tensors == "forks" and max(sides) > 1

    def _through(self, generation: Generation, node: int) -> None:
        for place, tensor in generation.writers:
            self._edges.append((self._of_layer[place], node, "data", tensor, False))
        for uses, is_carried in ((generation.readers, False), (generation.carried, True)):
            for place, tensor in uses:
                self._edges.append((node, self._of_layer[place], "data", tensor, is_carried))

    def _direct(self, generation: Generation) -> None:
        is_one = len(generation.writers) == 1
        for writer, written in generation.writers:
            source = self._of_layer[writer]
            for reader, read in generation.readers:
                shown = read if is_one and read.name == written.name else written
                self._edges.append((source, self._of_layer[reader], "data", shown, False))
            for reader, _ in generation.carried:
                self._edges.append((source, self._of_layer[reader], "data", written, True))

    def _renamed_output(self, tensor: Tensor) -> None:
        """Lead what goes into a no-op to the output that it writes."""
        held = self._flow.holding(tensor.name)
        writers = [use for one in held for use in one.writers]
        place = max((place for place, _ in writers), default=len(self._plan.layers))
        node = self._tensor((place, 3), "output", tensor)
        for writer, written in writers:
            self._edges.append((self._of_layer[writer], node, "data", written, False))
        for one in held:
            if not one.writers and one.name in self._input_nodes:
                self._edges.append((self._input_nodes[one.name], node, "data", tensor, False))

    def _order_edges(self) -> None:
        for pair in pairwise(self._flow.kept):
            layers = (self._plan.layers[place] for place in pair)
            if not all(layer.inputs or layer.outputs for layer in layers):
                source, target = (self._of_layer[place] for place in pair)
                self._edges.append((source, target, "order", None, False))

    def _sorted(self) -> PlanGraph:
        order = sorted(range(len(self._nodes)), key=self._places.__getitem__)
        new_id = {old: new for new, old in enumerate(order)}
        rows = enumerate(self._nodes[old] for old in order)
        nodes = (
            GraphNode(id=new, kind=kind, name=name, layer=layer, tensor=tensor, generation=life)
            for new, (kind, name, layer, tensor, life) in rows
        )
        edges = (
            GraphEdge(source=new_id[a], target=new_id[b], kind=kind, tensor=tensor, is_carried=back)
            for a, b, kind, tensor, back in self._edges
        )
        return PlanGraph(name=self._plan.name, nodes=tuple(nodes), edges=tuple(edges))
