"""Which lengths of a layer are the model's interface: no change inside the model moves them.

The channels of an image are what the application feeds, and the channels of a head are its classes,
boxes or depth. Advice to round them up cannot be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS
from enginescope.rules.view import LintView

_PRODUCTS = frozenset((*CONVOLUTIONS, *MATMULS))


def is_fed(view: LintView, layer: Layer, length: int) -> bool:
    """Whether a layer reads an axis of an input of the engine, of `length`.

    Layers that are not products may lie between, if they keep the length.
    """
    flow = view.flow
    return _reaches(
        view, layer, flow.before, flow.reads_input, lambda it: length in _lengths(it.inputs)
    )


def is_head(view: LintView, layer: Layer) -> bool:
    """Whether a layer writes an output of the engine, with no other product between."""
    flow = view.flow
    return _reaches(view, layer, flow.after, flow.writes_output, lambda _: True)


def _reaches(
    view: LintView,
    layer: Layer,
    next_to: Mapping[int, tuple[int, ...]],
    ends: Collection[int],
    passes: Callable[[Layer], bool],
) -> bool:
    """Whether one of `ends` is reached over neighbors that are not products."""
    seen, waiting = {layer.index}, [layer.index]
    while waiting:
        at = waiting.pop()
        if at in ends:
            return True
        for index in next_to.get(at, ()):
            other = view.layers[index]
            is_product = other.type in _PRODUCTS or is_whole_part(other)
            if index not in seen and not is_product and passes(other):
                seen.add(index)
                waiting.append(index)
    return False


def _lengths(tensors: Iterable[Tensor]) -> set[int | None]:
    return {length for one in tensors for length in one.shape or ()}
