"""Rules on kernels that TensorRT did not fuse."""

import re
from collections.abc import Iterator, Mapping

from enginescope.analysis.layers.reformats import REFORMATS, is_whole_part
from enginescope.analysis.report_card.card_data import operations_of
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.plan import Layer
from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.tensor_cores import MATMULS
from enginescope.rules.view import LintView

_SOFTMAX = re.compile(r"softmax|Max[rR]?(?:\w{0,12})Sub(?:\w{0,12})Exp\w{0,12}Sum", re.IGNORECASE)
_HOPS = 2
_PASSED_BY = REFORMATS | {
    *("kgen", "Shuffle", "PointWise", "Slice"),
    *("Add", "Div", "Eltwise", "Mul", "Transpose", "Where"),
}
_MEANS = frozenset({"Mean", "ReduceMean"})
_ROOTS = frozenset({"Sqrt", "Rsqrt"})
_TYPES = ("kgen", "PointWise", "PointWiseV2", "ElementWise", "Reduce", "Unary")


@rule(
    "PLAN113",
    "unfused-attention",
    "Attention runs as separate kernels",
    advice="write it as MatMul, scale, mask, Softmax, MatMul with nothing in between",
    is_general=True,
)
def unfused_attention(view: LintView) -> Iterator[Found]:
    """Attention that was not fused.

    What it looks for: a softmax between two matrix products. The rule reads softmax layers and the
    names and ONNX nodes of fused kernels. Each matrix product is at most two layers away.

    Why it costs time: the kernels write the scores (sequence × sequence) to memory and read them
    again. A fused attention kernel keeps them on the chip.

    What to do: write attention so that TensorRT recognizes it: one MatMul, scale, mask, Softmax,
    MatMul. Use FP16, BF16 or FP8, and no casts or transpositions between these nodes. TensorRT 10
    also has an Attention operator and plugins. Fused kernels exist only for some head sizes and
    GPUs.

    When it is wrong: the two products around the softmax are not attention, for example in a
    mixture of experts. The layers between the products are at stake, not the products.
    """
    for layer in view.of_types(("SoftMax", "Softmax", "kgen")):
        if not _is_softmax(layer):
            continue
        before = _nearest_product(view, layer.index, view.flow.before)
        after = _nearest_product(view, layer.index, view.flow.after)
        if before and after:
            first, last = (view.layers[way[-1]].name for way in (before, after))
            yield Found(
                layers=tuple(sorted({*before, layer.index, *after})),
                subject=layer.name,
                message="is a softmax between two matrix products: attention that was not fused",
                evidence={"before": first, "after": last},
                stakes_ms=view.part_ms((*before[:-1], layer.index, *after[:-1])),
            )


def _is_softmax(layer: Layer) -> bool:
    if layer.type in ("SoftMax", "Softmax"):
        return True
    text = " ".join((layer.name, layer.tactic_name or "", *layer.onnx_nodes))
    if layer.type != "kgen" or "max" not in text.lower() or not _SOFTMAX.search(text):
        return False
    return not re.search(r"mha|attention_v|flash", layer.tactic_name or layer.name, re.IGNORECASE)


def _nearest_product(
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


@rule(
    "PLAN118",
    "opaque-block",
    "A fused block takes much of the time, and nothing inside it is timed",
    severity=Severity.INFO,
    advice="build with TensorRT 10 or later to see its kernels",
)
def opaque_block(view: LintView) -> Iterator[Found]:
    """Fused block with no timing inside.

    What it looks for: a Myelin or ForeignNode layer that replaces a part of the network. It takes
    at least 5 % of the engine's time.

    Why it costs time: the plan does not show the kernels of the block, and the profiler times the
    block as a whole. Neither shows what is slow inside, or what can be saved.

    What to do: build with TensorRT 10 or later, which lists the kernels of such a block, each with
    its time. Or run `nsys profile trtexec --loadEngine=net.engine`; the package enginescope-readers
    imports what `nsys stats -r cuda_gpu_kern_sum -f csv` writes.

    When it is wrong: the block is a single operation.
    """
    least_ms = (view.engine_ms or 0.0) * 5 / 100
    for index, time_ms in view.times_ms.items():
        layer, share = view.layers[index], view.share_pct(time_ms)
        if time_ms < least_ms or share is None or not is_whole_part(layer):
            continue
        yield Found(
            layers=(layer.index,),
            message=f"takes {format_ms(time_ms, 3)}, "
            f"{format_significant(share, 2)} % of the time, and the plan shows nothing of its "
            "kernels",
            evidence={"time_ms": time_ms, "share_pct": round(share, 3), "type": layer.type},
            stakes_ms={},
        )


@rule(
    "PLAN119",
    "unfused-normalization",
    "A LayerNorm or RMSNorm runs as several kernels",
    advice="export it as one LayerNormalization, and read nothing from its middle",
    explains=("PLAN110", "TIME204"),
)
def unfused_layer_norm(view: LintView) -> Iterator[Found]:
    """Normalization that was not fused.

    What it looks for: a kernel that ends in a mean. Within two layers follows a kernel that begins
    with the square root of a LayerNorm or RMSNorm. The rule reads operations from kernel names,
    pointwise layers and ONNX node names.

    Why it costs time: the kernels write the tensor and read it again. One kernel would keep it on
    the chip.

    What to do: export LayerNormalization (opset 17) or RMSNormalization (opset 23) as one operator.
    No other node may read the tensors inside it. An output in the middle of the norm, a slice, or a
    Cast between its parts prevents the fusion.

    When it is wrong: the mean and the square root belong to different operations. All kernels but
    the longest are at stake.
    """
    for layer in view.of_types(_TYPES):
        texts = (layer.name, layer.tactic_name or "", *layer.onnx_nodes)
        may_hold = any("Mean" in text for text in texts) or "Operations" in layer.attributes
        # a large plan has few layers that may hold a mean
        if not may_hold or not _ends_in_mean(_operations(layer)):
            continue
        way = _way_to_root(view, layer.index)
        if way is None:
            continue
        kernels = (layer.index, *way)
        times = view.part_ms(kernels)
        longest = max(times, key=lambda kernel: times[kernel], default=None)
        yield Found(
            layers=kernels,
            message=f"begins a normalization that is split over {len(kernels)} kernels",
            evidence={"layers": [view.layers[kernel].name for kernel in kernels]},
            stakes_ms={kernel: time for kernel, time in times.items() if kernel != longest},
        )


def _operations(layer: Layer) -> tuple[str, ...]:
    told = operations_of(layer)
    if told:
        return told
    nodes = re.findall(r"[^\s(),\[\]]*/([A-Za-z_0-9]+)", " ".join(layer.onnx_nodes) or layer.name)
    return tuple(re.sub(r"_\d+$", "", node) for node in nodes)


def _ends_in_mean(operations: tuple[str, ...]) -> bool:
    last = max((at for at, one in enumerate(operations) if one in _MEANS), default=None)
    return last is not None and _ROOTS.isdisjoint(operations[last:])


def _way_to_root(view: LintView, start: int) -> tuple[int, ...] | None:
    """Return the layers from `start` to a near square root; ``None``: there is none."""
    ways: list[tuple[int, ...]] = [(reader,) for reader in view.flow.after.get(start, ())]
    for _ in range(_HOPS):
        ways = [way for way in ways if view.layers[way[-1]].type in _TYPES]
        for way in ways:
            operations = _operations(view.layers[way[-1]])
            first = next((at for at, one in enumerate(operations) if one in _ROOTS), None)
            if first is not None and _MEANS.isdisjoint(operations[:first]):
                return way
        ways = [
            (*way, reader)
            for way in ways
            if not _ends_in_mean(_operations(view.layers[way[-1]]))
            for reader in view.flow.after.get(way[-1], ())
        ]
    return None
