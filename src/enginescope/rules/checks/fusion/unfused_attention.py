"""Attention that was not fused.

What it looks for: a softmax between two matrix products. The rule reads softmax layers and the
names and ONNX nodes of fused kernels. Each matrix product is at most two layers away.

Why it costs time: the kernels write the scores (sequence × sequence) to memory and read them again.
A fused attention kernel keeps them on the chip.

What to do: write attention so that TensorRT recognizes it: one MatMul, scale, mask, Softmax,
MatMul. Use FP16, BF16 or FP8, and no casts or transpositions between these nodes. TensorRT 10 also
has an Attention operator and plugins. Fused kernels exist only for some head sizes and GPUs.

When it is wrong: the two products around the softmax are not attention, for example in a mixture of
experts. The layers between the products are at stake, not the products.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import MATMULS
from enginescope.rules.view import LintView

_SOFTMAX = re.compile(r"softmax|Max[rR]?(?:\w{0,12})Sub(?:\w{0,12})Exp\w{0,12}Sum", re.IGNORECASE)
_FUSED = re.compile(r"mha|fmha|attention_v|flash", re.IGNORECASE)
_HOPS = 2
_PASSED_BY = frozenset({"kgen", "Reformat", "MyelinReformat", "Shuffle", "PointWise", "Slice"})


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_types(("SoftMax", "kgen")):
        if not _is_softmax(layer):
            continue
        before = _nearest(view, layer.index, view.flow.before)
        after = _nearest(view, layer.index, view.flow.after)
        if before and after:
            layers = tuple(sorted({*before, layer.index, *after}))
            yield Found(
                layers=layers,
                subject=layer.name,
                message="is a softmax between two matrix products: attention that was not fused",
                evidence={"before": view.layers[before[-1]].name, "after": _last(view, after)},
                stakes_ms=view.part_ms((*before[:-1], layer.index, *after[:-1])),
            )


def _last(view: LintView, path: tuple[int, ...]) -> str:
    return view.layers[path[-1]].name


def _is_softmax(layer: Layer) -> bool:
    if layer.type == "SoftMax":
        return True
    if layer.type != "kgen" or _FUSED.search(layer.tactic_name or layer.name):
        return False
    texts = (layer.name, layer.tactic_name or "", *layer.onnx_nodes)
    return any(_SOFTMAX.search(text) for text in texts)


def _nearest(
    view: LintView, start: int, links: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Return the shortest path to a near matrix product, which is its end; ``None``: none."""
    ways: list[tuple[int, ...]] = [(one,) for one in links.get(start, ())]
    for _ in range(_HOPS):
        for way in ways:
            if view.layers[way[-1]].type in MATMULS:
                return way
        ways = [
            (*way, one)
            for way in ways
            if view.layers[way[-1]].type in _PASSED_BY
            for one in links.get(way[-1], ())
        ]
    return None


RULE = Rule(
    code="PLAN113",
    name="unfused-attention",
    summary="Attention runs as separate kernels",
    severity=Severity.WARNING,
    advice="write it as MatMul, scale, mask, Softmax, MatMul with nothing in between",
    doc=__doc__,
    check=_check,
)
