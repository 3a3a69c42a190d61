"""What each layer of a plan reads and writes, through regions that are written again.

A plan names memory, not values: a name may be written, read, and written again. Each time a name
is written after it was read begins a new generation of it; writers that follow each other without
a reader between them (parts of a concatenation, branches of an If) share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    carried: list[Use] = field(default_factory=list)
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
            elif not _is_left_out(layer, constants=constants):
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
            last.carried += first.readers
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
                last.carried += before.readers


def _is_left_out(layer: Layer, *, constants: bool) -> bool:
    if layer.type == "Constant":
        return not constants
    return layer.is_inert and not layer.inputs and not layer.outputs
