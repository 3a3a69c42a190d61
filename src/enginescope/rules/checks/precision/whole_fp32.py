"""All convolutions and matrix products in FP32.

What it looks for: a plan whose convolutions, matrix products and fused kernels all read FP32. They
take together at least 5 % of the engine's time, where times are known.

Why it costs time: FP16 moves half of the bytes, and tensor cores compute it at several times the
rate of FP32 or TF32.

What to do: build with `--fp16`, as in `enginescope bench model.onnx --on trt:fp16`, or convert the
model. Then compare the outputs with `enginescope validate`. Half of the layers' time is at stake,
as half of the bytes; convolutions often gain more.

When it is wrong: the outputs must have the precision of FP32, or the GPU has no tensor cores.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.tensor import DataType
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS
from enginescope.rules.view import LintView

_SHARE_PCT = 5.0
_COMPUTING = frozenset((*CONVOLUTIONS, *MATMULS, "kgen", "Myelin"))


def _check(view: LintView) -> Iterator[Found]:
    computing = view.of_kinds(lambda kind: kind.type in _COMPUTING)
    if not computing or any(one.precision is not DataType.FP32 for one in computing):
        return
    layers = [layer.index for layer in computing]
    share = view.share_pct(view.time_ms(layers))
    if share is not None and share < _SHARE_PCT:
        return
    yield Found(
        layers=tuple(layers),
        subject=f"{len(layers):,} layers" if layers[1:] else computing[0].name,
        message="compute in FP32, and no layer in reduced precision",
        evidence={"layers": len(layers)},
        stakes_ms=view.part_ms(layers, 0.5),
    )


RULE = Rule(
    code="PLAN120",
    name="whole-fp32",
    summary="The whole plan computes in FP32",
    severity=Severity.INFO,
    advice="build with --fp16 and validate the outputs",
    doc=__doc__,
    check=_check,
)
