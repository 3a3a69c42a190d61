"""Misaligned sides of a matrix product.

What it looks for: a gemm or MatMul whose inner length K or output columns N are not a multiple of
what tensor cores need. The multiple is 4 for FP32 (as TF32), 8 for FP16 and BF16, 16 for INT8 and
FP8, 32 for four bits. The rule skips layers whose shapes do not clearly show K and N.

Why it costs time: rows that do not begin at a multiple of 16 bytes load in smaller pieces. Or
TensorRT uses a slower tactic.

What to do: pad the matrices in the model: hidden sizes, and lengths of sequences.

When it is wrong: a small product costs little: look at the time at stake. At stake is the padding's
part of the product. Without tensor cores it is all of the layer's time, or its time beyond the
limit of a known GPU. The rule skips the model's interface: a K that is an axis of its inputs, and
the N of a head, such as its number of classes.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.roofline.layer_work import matrix_product_of
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import (
    MATMULS,
    alignment_of,
    is_fed,
    is_head,
    lacks_tensor_cores,
    padding,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView


def _check(view: LintView) -> Iterator[Found]:
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_types(MATMULS):
        multiple, product = alignment_of(layer.precision), matrix_product_of(layer)
        if multiple is None or product is None:
            continue
        sides = {"K": product.k, "N": product.n}
        free = {"K": not is_fed(view, layer, product.k), "N": not is_head(view, layer)}
        odd = {name: length for name, length in sides.items() if length % multiple and free[name]}
        if odd:
            words = " and ".join(f"{name} = {length}" for name, length in odd.items())
            yield Found(
                layers=(layer.index,),
                message=f"has {words}, not a multiple of {multiple}",
                evidence={**sides, "multiple": multiple},
                stakes_ms=view.excess_ms(layer)
                if uses_tensor_cores(layer.tactic_name) is False
                else view.part_ms((layer.index,), padding(odd.values(), multiple)),
            )


RULE = Rule(
    code="PLAN108",
    name="misaligned-gemm",
    summary="A matrix product's sides do not fill the vectors of tensor cores",
    severity=Severity.WARNING,
    advice="pad the matrices in the model to such a multiple",
    doc=__doc__,
    check=_check,
    explains=("PLAN107",),
)
