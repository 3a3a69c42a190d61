"""Which layer feeds which, tensors that are written again and no-ops seen through."""

from __future__ import annotations

from collections import defaultdict

from enginescope.model.plan import Layer, Plan


class Flow:
    """Layers before and after a layer, by index.

    TensorRT lays tensors over one another, so a name may be written again: a reader gets what was
    written since the last reading, from several layers where a concatenation was left out. A loop's
    first reading of what is only written further down has no producer here.

    Attributes
    ----------
    before, after : dict of int to tuple of int
        Layers without any are left out; no-ops never occur.
    reads_input, writes_output : frozenset of int
        Layers at the engine's own tensors, through no-ops too.
    """

    def __init__(self, plan: Plan) -> None:
        self._writers: dict[str, tuple[int, ...]] = {}
        self._read: set[str] = set()
        self._given = {one.tensor.name for one in plan.inputs}
        self.before: dict[int, tuple[int, ...]] = {}
        after: dict[int, list[int]] = defaultdict(list)
        first: set[int] = set()
        for layer in plan.layers:
            if _is_no_op(layer):
                self._pass_on(layer)
                continue
            producers = self._producers(layer)
            if producers:
                self.before[layer.index] = producers
            for one in producers:
                after[one].append(layer.index)
            if any(tensor.name in self._given for tensor in layer.inputs):
                first.add(layer.index)
            self._write(layer)
        self.after = {index: tuple(readers) for index, readers in after.items()}
        self.reads_input = frozenset(first)
        self.writes_output = frozenset(
            index for one in plan.outputs for index in self._writers.get(one.tensor.name, ())
        )

    def only_before(self, index: int) -> int | None:
        """Return the one layer that feeds a layer, or ``None``."""
        found = self.before.get(index, ())
        return found[0] if len(found) == 1 else None

    def only_after(self, index: int) -> int | None:
        """Return the one layer that reads a layer, or ``None``; the engine's output counts too."""
        found = self.after.get(index, ())
        return found[0] if len(found) == 1 and index not in self.writes_output else None

    def _producers(self, layer: Layer) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for tensor in layer.inputs:
            self._read.add(tensor.name)
            found.update(dict.fromkeys(self._writers.get(tensor.name, ())))
        found.pop(layer.index, None)
        return tuple(found)

    def _write(self, layer: Layer) -> None:
        for tensor in layer.outputs:
            earlier = () if tensor.name in self._read else self._writers.get(tensor.name, ())
            self._writers[tensor.name] = (*earlier, layer.index)
            self._read.discard(tensor.name)
            self._given.discard(tensor.name)

    def _pass_on(self, layer: Layer) -> None:
        if not layer.inputs:
            return
        source = layer.inputs[0].name
        for tensor in layer.outputs:
            self._writers[tensor.name] = self._writers.get(source, ())
            self._read.discard(tensor.name)
            if source in self._given:
                self._given.add(tensor.name)


def _is_no_op(layer: Layer) -> bool:
    return "NoOp" in (layer.type, layer.subtype)
