"""Matrix product without tensor cores.

What it looks for: a gemm or MatMul layer in FP16, BF16, INT8, FP8 or FP4 without tensor cores,
according to the tactic's name.

Why it costs time: tensor cores compute several times faster than the ordinary units.

What to do: raise the builder's optimization level. A
larger batch turns a matrix-vector product into a matrix product.

When it is wrong: a matrix-vector product has to read its weights once, and tensor cores do not make
that faster. Its severity is info, with nothing at stake; TIME205 says what a larger batch saves.
For other layers on a known GPU, only the time beyond the layer's limit is at stake.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import (
    MATMULS,
    REDUCED,
    is_matrix_vector,
    lacks_tensor_cores,
    uses_tensor_cores,
)
from enginescope.rules.view import LintView


def _check(view: LintView) -> Iterator[Found]:
    if lacks_tensor_cores(view.device):
        return
    for layer in view.of_kinds(lambda one: one.type in MATMULS and one.reads in REDUCED):
        if uses_tensor_cores(layer.tactic_name) is not False:
            continue
        vector = is_matrix_vector(layer.tactic_name)
        yield Found(
            layers=(layer.index,),
            message="does not use tensor cores" + (": a matrix-vector product" if vector else ""),
            evidence={"tactic": layer.tactic_name},
            severity=Severity.INFO if vector else None,
            stakes_ms={} if vector else view.excess_ms(layer),
            advice="a larger batch reads the weights once for several rows" if vector else None,
        )


RULE = Rule(
    code="PLAN107",
    name="gemm-without-tensor-cores",
    summary="A matrix product of reduced precision runs without tensor cores",
    severity=Severity.WARNING,
    advice="raise the builder's optimization level",
    doc=__doc__,
    check=_check,
)
