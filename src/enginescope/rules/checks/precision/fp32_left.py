"""FP32 layer in a plan of reduced precision.

What it looks for: a layer that reads and writes FP32 in a plan of reduced precision. Such a plan
has a convolution, matrix product or fused kernel in FP16, BF16, INT8, FP8 or FP4. The severity is
warning for convolutions and matrix products, and info for other layers. The rule skips copies and
layers without time.

Why it costs time: FP32 moves twice the bytes of FP16 and computes at a fraction of its rate. It
needs conversions on both sides.

What to do: allow the layer a lower precision. In a strongly typed network, change its types in the
model. For layers without matrix products half of the time is at stake, as half of the bytes.

When it is wrong: normalizations, softmax and sums stay in FP32 for accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.tensor import DataType
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.checks.copies.data_copies import moves_only
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS, REDUCED, REFORMATS
from enginescope.rules.view import Kind, LintView

_HEAVY = frozenset((*CONVOLUTIONS, *MATMULS))
_COMPUTING = _HEAVY | {"kgen", "Myelin"}


def _check(view: LintView) -> Iterator[Found]:
    if not any(kind.type in _COMPUTING and kind.reads in REDUCED for kind in view.kinds):
        return
    times = view.times_ms
    for layer in view.of_kinds(_is_left):
        if moves_only(layer) or times.get(layer.index) == 0:
            continue
        yield Found(
            layers=(layer.index,),
            message="runs in FP32, others in reduced precision",
            evidence={"type": layer.type, "subtype": layer.subtype},
            severity=None if layer.type in _HEAVY else Severity.INFO,
            stakes_ms=None if layer.type in _HEAVY else view.part_ms((layer.index,), 0.5),
        )


def _is_left(kind: Kind) -> bool:
    both = kind.reads is DataType.FP32 and kind.writes is DataType.FP32
    return both and kind.type not in REFORMATS


RULE = Rule(
    code="PLAN110",
    name="fp32-left",
    summary="A layer is left in FP32 in a plan of reduced precision",
    severity=Severity.WARNING,
    advice="allow it a lower precision, if accuracy permits",
    doc=__doc__,
    check=_check,
)
