"""Rules on the whole engine: shapes, launches, batch and times."""

import math
import re
from collections.abc import Iterator

from enginescope.analysis.roofline.roofline import roofline
from enginescope.core.record import replace
from enginescope.judge.units import counted, shape_text
from enginescope.records.plan.plan import AttributedLayer, Attribution, Layer
from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.tensor_cores import CONVOLUTIONS, MATMULS, is_matrix_vector
from enginescope.rules.view import LintView

_WAITS = "DeviceToShapeHost"
_TYPES = frozenset({"shape_call", "ShapeHostToDevice", _WAITS, "Shape"})
_NAMED = 3
_LOST_PCT = 1.0
_TILE = re.compile(r"tilesize(\d+)x(\d+)x\d|_(\d+)x(\d+)_(?:sliced\w+?_)?ldg")
#: What graphs saved per layer: by the least the rule decides, the most is at stake.
_LAUNCH_MS, _MOST_MS = 0.0006, 0.0009


@rule(
    "PLAN112",
    "host-shapes",
    "Shape computations on the host take time",
    advice="make dimensions static where they can be, and fold constants in the model",
)
def host_shapes(view: LintView) -> Iterator[Found]:
    """Shape computations on the host.

    What it looks for: copies of shapes between GPU and host, and shape calls, that take together at
    least 1 % of the engine's time. The rule finds a copy from the GPU to the host without times
    too.

    Why it costs time: the host computes shapes that depend on data, and the GPU waits for them.

    What to do: make dimensions static, or few. Remove shape arithmetic, NonZero and similar nodes
    from the model. Fold constants: ``polygraphy surgeon sanitize model.onnx --fold-constants -o
    folded.onnx``.

    When it is wrong: the profiler adds its own time to such short calls, where it cannot be
    estimated.
    """
    every = [layer for layer in view.plan.layers if layer.type in _TYPES]
    waits = [layer for layer in every if layer.type == _WAITS]
    calls = [one.index for one in every if view.times_ms.get(one.index) or one.type == _WAITS]
    share = view.share_pct(view.time_ms(calls))
    if not calls or not (waits or (share or 0.0) >= 1):
        return
    count = "1 shape" if len(calls) == 1 else f"{len(calls):,} shapes"
    first = view.layers[calls[0]].name
    yield Found(
        layers=tuple(calls),
        subject=f"{first} … {view.layers[calls[-1]].name}" if calls[1:] else first,
        message=f"computes {count} on the host between the layers"
        + (", and the GPU waits for it" if waits else ""),
        evidence={"calls": len(calls), "share_pct": None if share is None else round(share, 3)},
    )


@rule(
    "PLAN114",
    "far-from-optimum",
    "The engine ran with shapes far from its profile's optimum",
    advice="build with a profile whose optimum has the shapes in use",
)
def far_from_optimum(view: LintView) -> Iterator[Found]:
    """Shapes far from the profile's optimum.

    What it looks for: an input with at least twice, or at most half, as many elements as the
    optimum of its optimization profile. If several inputs are, the rule names the farthest.

    Why it costs time: TensorRT chose the tactics for the optimum. Another tactic may be faster at
    other shapes.

    What to do: build with a profile whose optimum has your shapes, or with several profiles.

    When it is wrong: you measured the edge of the range on purpose.
    """
    fed = {one.name: one for one in view.fed}
    far = []
    for one in view.plan.inputs:
        given = fed.get(one.tensor.name)
        best = next((it.opt_shape for it in one.profiles if it.index == view.profile_index), None)
        optimum = math.prod(best) if best else 0
        if given is not None and given.elements and optimum:
            ratio = given.elements / optimum
            if not 0.5 < ratio < 2:
                far.append((abs(math.log(ratio)), given, best, ratio))
    if far:
        _, given, best, ratio = max(far, key=lambda found: found[0])
        yield Found(
            layers=(),
            subject=f"input {given.name}",
            message=f"was fed as {shape_text(given.shape or ())}, "
            f"the profile's optimum is {shape_text(best or ())}",
            evidence={"elements_ratio": ratio, "inputs": len(far), "profile": view.profile_index},
        )


@rule(
    "TIME202",
    "tiny-kernels",
    "Many kernels are too short to fill the GPU",
    advice="run with a CUDA graph or a larger batch, and look for what prevents fusion",
    is_of_engine=True,
)
def tiny_kernels(view: LintView) -> Iterator[Found]:
    """Many tiny kernels.

    What it looks for: at least twenty layers of less than 5 µs each in the profile. Together they
    take at least a fifth of the engine's time.

    Why it costs time: such kernels do not fill the GPU. Launching one takes about as long as
    running it.

    What to do: run with a CUDA graph, or raise the batch. Look for what prevents fusion:
    alternating precisions, outputs in the middle, plugins. Half of the layers' time is at stake:
    what each of two items saves at twice the batch.

    When it is wrong: the profiler separates kernels that otherwise overlap, and adds some
    microseconds to each.
    """
    times, in_graph = view.times_ms.items(), "raise the batch, and look for what prevents fusion"
    short = sorted(index for index, time_ms in times if 0 < time_ms < 0.005)
    tiny = tuple(one for one in short if not view.layers[one].is_inert)
    share = view.share_pct(view.time_ms(tiny))
    if len(tiny) >= 20 and share is not None and share >= 20:
        yield Found(
            layers=tiny,
            subject=f"{len(tiny):,} layers",
            message="take less than 5 µs each",
            evidence={"layers": len(tiny), "share_pct": round(share, 3)},
            stakes_ms=view.part_ms(tiny, 0.5),
            advice=in_graph if view.cuda_graph else None,
        )


@rule(
    "TIME203",
    "profile-mismatch",
    "Plan and profile do not name the same layers",
    advice="export plan and profile from one engine in one run",
    is_of_engine=True,
)
def profile_mismatch(view: LintView) -> Iterator[Found]:
    """Profile that does not match its plan.

    What it looks for: times of layers that the plan does not have, and layers that launch work and
    have no time. The rule joins layers by name. Of several optimization profiles only the one in
    use needs times.

    Why it costs time: it costs no time, but every figure on layers is incomplete. If the profile
    lacks active layers of the plan and has others, it belongs to another build. That is an error,
    and no rule uses its times.

    What to do: export plan and profile from the same engine, in one run of trtexec.

    When it is wrong: a profile in a log omits layers that took no time.
    """
    if view.given_profile is None or not view.plan.layers:
        return
    timings, left = view.given_times
    extra = [timing for timing in left if timing.time_ms != 0]
    expected = [layer for layer in view.active if layer.profile_index in (None, view.profile_index)]
    untimed = [layer for layer in expected if layer.index not in timings]
    is_other = view.profile is None
    severity = Severity.ERROR if is_other or 2 * len(untimed) > len(expected) else None
    if extra:
        other = ": it is of another build, so no rule uses its times" if is_other else ""
        yield Found(
            layers=(),
            subject="profile",
            message=f"has {counted(len(extra), 'time')} whose layer the plan does not have{other}",
            evidence={"count": len(extra), "names": [timing.name for timing in extra[:_NAMED]]},
            severity=severity,
        )
    if untimed:
        yield Found(
            layers=tuple(layer.index for layer in untimed),
            subject="profile",
            message=f"has no time for {len(untimed):,} of {len(expected):,} layers",
            evidence={"count": len(untimed), "names": [layer.name for layer in untimed[:_NAMED]]},
            severity=severity,
        )


@rule(
    "TIME204",
    "below-roofline",
    "A layer takes several times the limit of the GPU's peaks",
    advice="look at its shape and tactic; raise the batch or the builder's optimization level",
)
def below_roofline(view: LintView) -> Iterator[Found]:
    """Layer far below its roofline.

    What it looks for: a layer that takes at least four times its limit. The limit follows from the
    GPU's peaks, the layer's bytes and its multiplications. The layer takes at least 10 µs and loses
    at least 1 % of the profile's time. The GPU and the layer's work have to be known. The rule
    skips fused kernels that may compute more than the plan shows.

    Why it costs time: neither memory nor arithmetic is busy. The GPU may have too few blocks, the
    tactic may not fit the shape, or the access is strided.

    What to do: look at the shape and the tactic. Raise the batch, align the sizes, and give the
    builder more workspace and a higher optimization level. The time beyond the limit is at stake.

    When it is wrong: clocks below boost look the same. So does the profiler's own time per layer,
    where it cannot be estimated.
    """
    if view.gpu is None or view.profile is None:
        return
    shortest_ms = max(0.01, (view.engine_ms or 0.0) * _LOST_PCT / 100)  # a large plan has few
    places = sorted(index for index, time_ms in view.times_ms.items() if time_ms >= shortest_ms)
    if not places:
        return
    layers = tuple(view.layers[index] for index in places)
    part = replace(view.plan, layers=layers)
    timed = (AttributedLayer(layer=layer, timing=view.timings[layer.index]) for layer in layers)
    works, times = [view.work(layer) for layer in layers], Attribution(layers=tuple(timed))
    for roof in roofline(part, works, view.gpu, times).layers:
        distance, excess = roof.distance, roof.excess_ms
        if roof.is_partial or distance is None or distance < 4:
            continue
        if excess is None or (view.share_pct(excess) or 0.0) < _LOST_PCT:
            continue
        yield Found(
            layers=(part.layers[roof.position].index,),
            message=f"takes {distance:.1f} × its limit by {roof.bound} on {view.gpu.name}",
            evidence={
                "distance": round(distance, 3),
                "bound": roof.bound,
                "attainable_ms": roof.attainable_ms,
                "gpu": view.gpu.name,
            },
            stakes_ms={part.layers[roof.position].index: excess},
        )


@rule(
    "TIME205",
    "small-batch",
    "The batch is too small for the GPU",
    severity=Severity.INFO,
    advice="raise the batch, or run several inferences at the same time",
    explains=("PLAN107", "TIME202", "TIME204"),
    is_per_item=True,
    is_of_engine=True,
)
def small_batch(view: LintView) -> Iterator[Found]:
    """Batch too small for the GPU.

    What it looks for: convolutions and matrix products with fewer output tiles than half of the
    GPU's multiprocessors. The tile size is in the tactic's name. The rule also finds products of a
    matrix and one vector. Such layers take together at least 5 % of the engine's time. The severity
    is info, or warning where the rule explains a warning.

    Why it costs time: multiprocessors without a tile are idle. A matrix-vector product reads all of
    its weights for one row. Twice the batch takes hardly longer.

    What to do: raise the batch if several items may wait for each other. Or run several inferences
    at the same time on their own streams. Half of the layers' time is at stake: what each of two
    items saves at twice the batch.

    When it is wrong: only the latency of a single item matters. Then choose a smaller GPU or a MIG
    slice. A tactic that splits the sum over K has more tiles than its name says.
    """
    products = view.of_types((*CONVOLUTIONS, *MATMULS))
    vectors = [product.index for product in products if is_matrix_vector(product.tactic_name)]
    yield from _idle(view, vectors, "multiply a matrix by one vector each", {})
    count = view.multiprocessors
    if count is None:
        return
    tiles = {product.index: _tiles(view, product) for product in products}
    few = [index for index, some in tiles.items() if some is not None and 2 * some < count]
    message = f"leave more than half of the GPU's {count} multiprocessors idle"
    evidence = {"multiprocessors": count, "tiles": [tiles[index] for index in few]}
    yield from _idle(view, few, message, evidence)


def _idle(
    view: LintView, layers: list[int], message: str, evidence: dict[str, object]
) -> Iterator[Found]:
    share = view.share_pct(view.time_ms(layers))
    if share is None or share < 5:
        return
    shapes = [one.shape for one in view.fed] or [one.tensor.shape for one in view.plan.inputs]
    first = {shape[0] if shape else None for shape in shapes}
    batch = first.pop() if len(first) == 1 else None
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
    if product is None or match is None or re.search(r"split_?k", tactic, re.IGNORECASE):
        return None
    rows, columns = (int(one) for one in match.groups() if one is not None)
    ways = ((rows, columns), (columns, rows))  # the kernel decides which side is which
    counts = (math.ceil(product.m / one) * math.ceil(product.n / other) for one, other in ways)
    return max(counts) * product.groups


@rule(
    "TIME206",
    "no-cuda-graph",
    "The engine ran without a CUDA graph, which would hide launches",
    advice="capture the inference in a CUDA graph",
    explains=("TIME202",),
    is_of_engine=True,
)
def cuda_graph(view: LintView) -> Iterator[Found]:
    """Launches that a CUDA graph would hide.

    What it looks for: an engine of at least ten layers that ran without a CUDA graph. Its launches
    take, at 0.6 µs each, at least 2 % of its time. The severity is warning from 5 %, and where the
    host needs as long to enqueue as the GPU to compute. The run or trtexec's options say whether a
    CUDA graph was used. Otherwise less than 0.5 µs of enqueue time per layer means a CUDA graph.

    Why it costs time: each kernel waits for its own launch. In a CUDA graph the launch overlaps the
    kernel before it. A CUDA graph saved 0.6 to 0.9 µs per layer on an H100 and an H200 (TensorRT
    8.6). The most, 0.9 µs of each layer, is at stake.

    What to do: capture the inference in a CUDA graph: ``--useCudaGraph`` in trtexec, ``--graph on``
    in ``enginescope bench``, ``cudaStreamBeginCapture`` in an application.

    When it is wrong: shapes change at each inference, or a layer synchronizes with the host. Such
    an engine cannot be captured.
    """
    launched = [layer.index for layer in view.active if view.times_ms.get(layer.index)]
    share = view.share_pct(_LAUNCH_MS * len(launched))
    if len(launched) < 10 or share is None or share < 2:
        return
    enqueue_ms, is_graph = view.enqueue_ms, view.cuda_graph
    if is_graph is None and enqueue_ms is not None:
        is_graph = enqueue_ms < 0.5e-3 * len(launched)
    if is_graph is not False:
        return
    host_bound = enqueue_ms is not None and enqueue_ms >= 0.9 * (view.engine_ms or 0.0)
    warns = host_bound or share >= 5
    yield Found(
        layers=tuple(launched),
        subject="the engine",
        message=f"launches {len(launched):,} layers one by one, without a CUDA graph; elsewhere a "
        f"graph saved {1e3 * _LAUNCH_MS:g} to {1e3 * _MOST_MS:g} µs a layer"
        + ("; the host enqueues no faster than the GPU computes" if host_bound else ""),
        evidence={"launches": len(launched), "enqueue_ms": enqueue_ms, "launch_ms": _MOST_MS},
        severity=None if warns else Severity.INFO,
        stakes_ms=dict.fromkeys(launched, _MOST_MS),
    )
