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
        self._unread: set[str] = set()
        self._given = {one.tensor.name for one in plan.inputs}
        self.before: dict[int, tuple[int, ...]] = {}
        self.after: dict[int, tuple[int, ...]] = {}
        further: dict[int, list[int]] = defaultdict(list)  # readers behind the first: few have any
        first: set[int] = set()
        for layer in plan.layers:
            if _is_no_op(layer):
                self._pass_on(layer)
                continue
            producers = self._producers(layer)
            if producers:
                self.before[layer.index] = producers
            here = (layer.index,)
            for one in producers:
                if self.after.setdefault(one, here) is not here:
                    further[one].append(layer.index)
            for tensor in layer.inputs:
                if tensor.name in self._given:
                    first.add(layer.index)
            self._write(layer, here)
        for index, readers in further.items():
            self.after[index] = (*self.after[index], *readers)
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
        found: tuple[int, ...] = ()
        for tensor in layer.inputs:
            self._unread.discard(tensor.name)
            writers = self._writers.get(tensor.name, ())
            found = tuple(dict.fromkeys((*found, *writers))) if found else writers
        if layer.index in found:
            return tuple(one for one in found if one != layer.index)
        return found

    def _write(self, layer: Layer, here: tuple[int]) -> None:
        for tensor in layer.outputs:
            is_shared = tensor.name in self._unread
            self._writers[tensor.name] = (*self._writers[tensor.name], *here) if is_shared else here
            self._unread.add(tensor.name)
            self._given.discard(tensor.name)

    def _pass_on(self, layer: Layer) -> None:
        if not layer.inputs:
            return
        source = layer.inputs[0].name
        for tensor in layer.outputs:
            self._writers[tensor.name] = self._writers.get(source, ())
            self._unread.add(tensor.name)
            if source in self._given:
                self._given.add(tensor.name)


def _is_no_op(layer: Layer) -> bool:
    return layer.type == "NoOp" or layer.subtype == "NoOp"
