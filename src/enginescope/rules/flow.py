"""Which layer of a plan feeds which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from enginescope.records.plan.plan import Layer, Plan


class Flow:
    """Layers before and after a layer, by index.

    TensorRT lays tensors over one another, so a name may be written again: a reader gets what was
    written since the last reading, from several layers where a concatenation was left out. A loop's
    first reading of what is only written further down has no producer here.

    Attributes:
        before, after: Layers without any are left out; no-ops never occur.
        reads_input, writes_output: Layers at the engine's own tensors, through no-ops too.
    """

    def __init__(self, plan: Plan) -> None:
        self._writers: dict[str, tuple[int, ...]] = {}
        self._read: set[str] = set()  # since they were written last
        self._given = {one.tensor.name for one in plan.inputs}
        self.before: dict[int, tuple[int, ...]] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        self.reads_input = frozenset(self._walk(plan.layers))
        self._turn_round()
        self.writes_output = frozenset(
            index for output in plan.outputs for index in self._writers.get(output.tensor.name, ())
        )

    def only_before(self, index: int) -> int | None:
        """Return the one layer that feeds a layer, or ``None``."""
        found = self.before.get(index, ())
        return found[0] if len(found) == 1 else None

    def only_after(self, index: int) -> int | None:
        """Return the one layer that reads a layer, or ``None``; the engine's output counts too."""
        found = self.after.get(index, ())
        return found[0] if len(found) == 1 and index not in self.writes_output else None

    def _walk(self, layers: Iterable[Layer]) -> set[int]:
        """Find who writes what each layer reads; return the layers that read the engine's inputs.

        One loop, since a large plan has a hundred thousand tensors.
        """
        writers_of, read, given = self._writers, self._read, self._given
        first: set[int] = set()
        for layer in layers:
            if layer.type == "NoOp" or layer.subtype == "NoOp":
                self._pass_on(layer)
                continue
            index = layer.index
            found: tuple[int, ...] = ()
            for tensor in layer.inputs:
                name = tensor.name
                if name in given:
                    first.add(index)
                writers = writers_of.get(name)
                if writers is not None:
                    read.add(name)
                    found = _joined(found, writers) if found else writers
            here = (index,)
            if found:
                self.before[index] = found
            for tensor in layer.outputs:
                name = tensor.name
                before = writers_of.setdefault(name, here)
                if before is not here:
                    writers_of[name] = here if name in read else (*before, *here)
                    read.discard(name)
                if name in given:
                    given.discard(name)
        return first

    def _turn_round(self) -> None:
        """From who writes what a layer reads to who reads what it writes."""
        after = self.after
        further: dict[int, list[int]] = defaultdict(list)  # readers behind the first: few have any
        for index, producers in self.before.items():
            here = (index,)
            for producer in producers:
                if after.setdefault(producer, here) is not here:
                    further[producer].append(index)
        for index, readers in further.items():
            after[index] = (*after[index], *readers)

    def _pass_on(self, layer: Layer) -> None:
        if not layer.inputs:
            return
        source = layer.inputs[0].name
        for tensor in layer.outputs:
            self._writers[tensor.name] = self._writers.get(source, ())
            self._read.discard(tensor.name)
            if source in self._given:
                self._given.add(tensor.name)


def _joined(some: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*some, *more)))
