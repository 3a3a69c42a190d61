"""Batch too small for the GPU.

What it looks for: convolutions and matrix products with fewer output tiles than half of the GPU's
multiprocessors. The tile size is in the tactic's name. The rule also finds products of a matrix and
one vector. Such layers take together at least 5 % of the engine's time. The severity is info, or
warning where the rule explains a warning.

Why it costs time: multiprocessors without a tile are idle. A matrix-vector product reads all of its
weights for one row. Twice the batch takes hardly longer.

What to do: raise the batch if several items may wait for each other. Or run several inferences at
the same time on their own streams. Half of the layers' time is at stake: what each of two items
saves at twice the batch.

When it is wrong: only the latency of a single item matters. Then choose a smaller GPU or a MIG
slice. A tactic that splits the sum over K has more tiles than its name says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS, is_matrix_vector
from enginescope.rules.view import LintView

_SHARE_PCT = 5.0
_FILLED = 0.5
_TILE = re.compile(r"tilesize(\d+)x(\d+)x\d|_(\d+)x(\d+)_(?:sliced\w+?_)?ldg")
_SPLIT = re.compile(r"split_?k", re.IGNORECASE)


def _check(view: LintView) -> Iterator[Found]:
    products = view.of_types((*CONVOLUTIONS, *MATMULS))
    vectors = [product.index for product in products if is_matrix_vector(product.tactic_name)]
    yield from _found(view, vectors, "multiply a matrix by one vector each", {})
    count = view.multiprocessors
    if count is None:
        return
    tiles = {product.index: _tiles(view, product) for product in products}
    few = [index for index, some in tiles.items() if some is not None and some < _FILLED * count]
    message = f"leave more than half of the GPU's {count} multiprocessors idle"
    evidence = {"multiprocessors": count, "tiles": [tiles[index] for index in few]}
    yield from _found(view, few, message, evidence)


def _found(
    view: LintView, layers: list[int], message: str, evidence: dict[str, object]
) -> Iterator[Found]:
    share = view.share_pct(view.time_ms(layers))
    if share is None or share < _SHARE_PCT:
        return
    batch = _batch(view)
    names = [view.layers[index].name for index in layers]
    yield Found(
        layers=tuple(layers),
        subject=f"{len(layers):,} layers ({names[0]} … {names[-1]})" if names[1:] else names[0],
        message=message + (f" at batch {batch}" if batch else ""),
        evidence={**evidence, "batch": batch, "share_pct": round(share, 3)},
        stakes_ms=view.part_ms(layers, 0.5),
    )


def _tiles(view: LintView, layer: Layer) -> int | None:
    """Return the number of output tiles; ``None`` if shape or tactic name does not show it."""
    product, tactic = view.work(layer).product, layer.tactic_name or ""
    match = _TILE.search(tactic)
    if product is None or match is None or _SPLIT.search(tactic):
        return None
    rows, columns = (int(one) for one in match.groups() if one is not None)
    ways = ((rows, columns), (columns, rows))  # the kernel decides which side is which
    counts = (math.ceil(product.m / one) * math.ceil(product.n / other) for one, other in ways)
    return max(counts) * product.groups


def _batch(view: LintView) -> int | None:
    shapes = [one.shape for one in view.fed] or [one.tensor.shape for one in view.plan.inputs]
    first = {shape[0] if shape else None for shape in shapes}
    return first.pop() if len(first) == 1 else None


RULE = Rule(
    code="TIME205",
    name="small-batch",
    summary="The batch is too small for the GPU",
    severity=Severity.INFO,
    advice="raise the batch, or run several inferences at the same time",
    doc=__doc__,
    check=_check,
    explains=("PLAN107", "TIME202", "TIME204"),
    is_per_item=True,
)
