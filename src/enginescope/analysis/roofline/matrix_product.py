"""Shapes of convolutions and matrix products as products of matrices, and their cost.

What a convolution looks like: kernel, stride, groups.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer

Shape = tuple[int | None, ...]
Known = tuple[int, ...]


class MatrixProduct(Record, frozen=True, kw_only=True, gc=False):
    """`groups` independent products of an m × k by a k × n matrix.

    Attributes:
        m: Rows of the result: batch × output positions of a convolution.
        n: Columns of the result: output channels of one group.
        k: Terms of each sum: input channels of one group × kernel positions.
        groups: Groups of a convolution; products in a batch of matrices.
    """

    m: int
    n: int
    k: int
    groups: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates: m × n × k × groups."""
        return self.m * self.n * self.k * self.groups


def convolution(
    source: Shape | None, result: Shape | None, kernel: Sequence[int], groups: int
) -> MatrixProduct | None:
    """Return a convolution of any rank as an implicit matrix product.

    Args:
        source, result: N × C × positions, as many as `kernel` has.

    Returns:
        m = N × output positions, n = K / groups, k = C / groups × kernel positions; ``None`` for
        shapes that are not known or do not go together.
    """
    shapes = _fitting(source, result, kernel, groups)
    if shapes is None:
        return None
    before, after = shapes
    return MatrixProduct(
        m=after[0] * math.prod(after[2:]),
        n=after[1] // groups,
        k=before[1] // groups * math.prod(kernel),
        groups=groups,
    )


def deconvolution(
    source: Shape | None, result: Shape | None, kernel: Sequence[int], groups: int
) -> MatrixProduct | None:
    """Return a transposed convolution as the product that precedes its overlapping sums.

    m = N × input positions, n = K / groups × kernel positions, k = C / groups. Products that
    padding cuts off at the border count.
    """
    shapes = _fitting(source, result, kernel, groups)
    if shapes is None:
        return None
    before, after = shapes
    return MatrixProduct(
        m=before[0] * math.prod(before[2:]),
        n=after[1] // groups * math.prod(kernel),
        k=before[1] // groups,
        groups=groups,
    )


def pooled_extent(
    extent: int, window: int, stride: int, padding: int, dilation: int, mode: str = ""
) -> int | None:
    """Return the output positions of a window that slides along one axis.

    Args:
        extent: Input positions.
        padding: Of both sides together.
        mode: TensorRT's padding mode: ``SAME`` is ⌈extent / stride⌉, ``ROUND_UP`` rounds up,
            anything else rounds down.
    """
    if stride < 1 or window < 1 or dilation < 1:
        return None
    if "SAME" in mode:
        return -(-extent // stride)
    span = extent + padding - dilation * (window - 1) - 1
    steps = -(-span // stride) if "ROUND_UP" in mode or "CAFFE" in mode else span // stride
    return steps + 1 if steps >= 0 else None


#: Operands looked at: with scales and a bias, a quantized product has no more in front.
_MAX_OPERANDS = 6


@lru_cache(maxsize=4096)
def matrix_product(
    operands: tuple[Shape | None, ...], result: Shape | None
) -> MatrixProduct | None:
    """Return the product that two of `operands` give, whichever of them are transposed.

    Biases, scales and scalars may stand among the operands: the first pair, in order, whose
    dimensions fit the result is taken. Blocks repeat: a plan of any length multiplies few shapes.

    Args:
        operands: At least two; the last two axes are rows and columns, in either order.
        result: … × m × n.

    Returns:
        Where the second operand is one matrix for the whole batch, the batch is part of m.
    """
    out = static_shape(result)
    if out is None or not out or 0 in out:
        return None
    shapes = map(static_shape, operands[:_MAX_OPERANDS])
    known = [shape for shape in shapes if shape and math.prod(shape) > 1]
    products = (_product(left, right, out) for left, right in combinations(known, 2))
    return next((product for product in products if product is not None), None)


def _product(left: Known, right: Known, out: Known) -> MatrixProduct | None:
    n = out[-1]
    rows = math.prod(out) // n
    right_batch = math.prod(right[:-2])
    # rows and columns of a matrix, then of its transpose; a vector is a column
    for k, width in (right[-2:], right[:-3:-1]) if len(right) > 1 else ((right[0], 1),):
        if width != n or math.prod(left) != rows * k:
            continue
        if right_batch == 1:
            return MatrixProduct(m=rows, n=n, k=k)
        m = out[-2] if len(out) > 1 else 1
        batch = math.prod(out[:-2])
        if k in left[-2:] and m in left[-2:] and batch % right_batch == 0:
            return MatrixProduct(m=m, n=n, k=k, groups=batch)
    return None


def _fitting(
    source: Shape | None, result: Shape | None, kernel: Sequence[int], groups: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return both shapes where they are known and go together with kernel and groups."""
    before, after = static_shape(source), static_shape(result)
    rank = len(kernel) + 2
    if before is None or after is None or not len(before) == len(after) == rank or groups < 1:
        return None
    if before[1] % groups or after[1] % groups:
        return None
    return before, after


def static_shape(shape: Shape | None) -> Known | None:
    """Return the shape where every dimension is known; else ``None``."""
    if shape is None:
        return None
    known = tuple(dim for dim in shape if dim is not None)
    return known if len(known) == len(shape) else None


def groups_of(layer: Layer) -> int | None:
    """Return the groups of a convolution; ``None`` if it does not say."""
    found = layer.attributes.get("Groups", layer.attributes.get("ConvGroups"))
    return found if type(found) is int and found > 0 else None
