"""What wastes memory: copies at the peak, outputs kept early, weights held twice, an arena."""

from collections.abc import Iterator

from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.core.record import Record

#: Operators that write what they read, in another order or type.
_COPIES = frozenset({"Transpose", "Cast", "ReorderInput", "ReorderOutput", "Reformat", "Shuffle"})
_LEAST_BYTES = 1 << 20


class MemoryFinding(Record, frozen=True, kw_only=True):
    """One cause of memory that could be less.

    Attributes:
        kind: ``"one-tensor"``, ``"two-copies"``, ``"output-kept"``, ``"loading"`` or
            ``"arena-waste"``.
        layer: Position of the layer among those that do work.
        detail: Name of a tensor, or type of a layer.
    """

    kind: str
    nbytes: int
    layer: int | None = None
    detail: str | None = None


def memory_findings(view: MemoryView) -> Iterator[MemoryFinding]:
    """Yield what is found, what the peak consists of first."""
    whole = view.live_bytes[view.peak_at]
    layer = view.peak_layer
    if whole >= _LEAST_BYTES:
        largest = view.peak_buffers[0]
        size = largest.nbytes or 0
        if 2 * size > whole:
            name = largest.tensor.name
            yield MemoryFinding(kind="one-tensor", nbytes=size, detail=name, layer=largest.first)
        written = sum(one.nbytes or 0 for one in layer.outputs)
        if layer.type in _COPIES and 4 * written > whole:
            at = view.peak_at
            yield MemoryFinding(kind="two-copies", nbytes=written, layer=at, detail=layer.type)
        for one in view.peak_buffers:
            nbytes = one.nbytes or 0
            if one.kind == "output" and one.first < view.peak_at and 10 * nbytes > whole:
                name = one.tensor.name
                yield MemoryFinding(kind="output-kept", nbytes=nbytes, layer=one.first, detail=name)
    sizes = {part.kind: part.nbytes for part in view.parts}
    if 4 * sizes.get("rest", 0) > (view.process_bytes or 0):
        yield MemoryFinding(kind="loading", nbytes=sizes["rest"])
    waste = sizes.get("arena", 0)
    if waste > _LEAST_BYTES and 4 * waste > (view.held_bytes or 0):
        yield MemoryFinding(kind="arena-waste", nbytes=waste)
