"""Memory that ONNX Runtime's kernels take: what its profile reports, and what their rules give."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from enginescope.formats.lenient_json import Document
from enginescope.records.run.run import ArenaStep, ArenaUse
from enginescope.records.tensor import DataType, Tensor

#: What a profile adds to the name of a node.
SUFFIX = "_kernel_time"
#: The first release whose kernels follow the rules of `workspaces_of`.
RULES_FROM = (1, 29)


def arenas_of(document: Document) -> tuple[ArenaUse, ...]:
    """Return the highest marks of each provider's allocator; profiles before 1.28 have none."""
    in_use: dict[str, int] = {}
    held: dict[str, int] = {}
    steps: dict[str, list[ArenaStep]] = {}
    later: dict[str, list[ArenaStep]] = {}
    is_first = True
    for event in document.value if isinstance(document.value, list) else ():
        if not isinstance(event, dict):
            continue
        is_first = is_first and event.get("name") != "model_run"
        arguments = event.get("args")
        if not isinstance(arguments, dict) or not isinstance(arguments.get("provider"), str):
            continue
        name = arguments["provider"]
        step = _step(event.get("name"), arguments)
        if step is not None and (is_first or step.peak_bytes > in_use.get(name, 0)):
            (steps if is_first else later).setdefault(name, []).append(step)
        for marks, key in ((in_use, "mem_in_use_peak"), (held, "mem_arena_held")):
            if (value := _bytes(arguments.get(key))) is not None:
                marks[name] = max(value, marks.get(name, 0))
    return tuple(
        ArenaUse(
            provider=name,
            in_use_peak_bytes=value,
            held_bytes=held.get(name),
            steps=tuple(steps.get(name, ())),
            later=tuple(later.get(name, ())),
        )
        for name, value in in_use.items()
    )


def _step(name: Any, arguments: dict[str, Any]) -> ArenaStep | None:
    keys = ("mem_bytes_in_use", "mem_in_use_peak", "mem_in_use_delta")
    after, peak, change = (_bytes(arguments.get(key)) for key in keys)
    if not isinstance(name, str) or after is None or peak is None or change is None:
        return None
    node = name.removesuffix(SUFFIX)
    return ArenaStep(node=node, before_bytes=after - change, in_use_bytes=after, peak_bytes=peak)


def _bytes(value: Any) -> int | None:
    """Return a number of bytes, which may be a negative change."""
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    is_count = digits.isdecimal() and len(digits) < len(str(1 << 63))
    return int(value) if is_count else None


class _Node(NamedTuple):
    """A node: its tensors by position, its attributes, and the graph's constants by name."""

    read: Sequence[Any]
    written: Sequence[Any]
    attributes: Mapping[str, Any]
    constants: Mapping[str, Any]


def workspaces_of(
    graph: Any, names: Sequence[str], tensors: Mapping[str, Tensor]
) -> dict[str, list[int]]:
    """Return the temporary buffers of nodes by name: bytes, in the order of the requests.

    The rules are those of the CPU provider's kernels on x86-64 from `RULES_FROM` on: of
    ``conv_transpose.cc``, ``qlinearconv.cc``, ``quantize_linear_matmul.cc``,
    ``uni_directional_lstm.cc``, ``deep_cpu_gru.cc`` and ``attention_cpu_base.h``. Nodes of other
    kernels, or with a shape that is not known, have none.

    Args:
        names: Of the graph's nodes.
        tensors: With the shapes of the run, weights included.
    """
    constants = {one.name: one for one in graph.initializer}
    buffers = {}
    for node, name in zip(graph.node, names, strict=True):
        read, written = ([tensors.get(one) for one in end] for end in (node.input, node.output))
        rule = _RULES.get((node.domain, node.op_type))
        if rule is None or any(one and one.shape is None for one in (*read, *written)):
            continue
        attributes = {one.name: list(one.ints) or one.s or one.i for one in node.attribute}
        if sizes := rule(_Node(read, written, attributes, constants)):
            buffers[name] = sizes
    return buffers


def _transposed_convolution(node: _Node) -> list[int]:
    image, weights = node.read[:2]
    return [4 * prod(weights.shape[1:]) * prod(image.shape[2:])]


def _quantized_convolution(node: _Node) -> list[int] | None:
    """Products in INT32, transposed copies, and patches of the image or pointers to its pixels.

    Symmetric kernels (``MlasConvSymPackWSize``) need no products; which of them a processor has for
    a number of filters that 8 does not divide depends on AVX-512.
    """
    image, zero, weights, weights_zero = node.read[0], *node.read[2:4], node.read[5]
    if not {weights.name, weights_zero.name} <= node.constants.keys():
        return None
    offsets = node.constants[weights_zero.name]
    filters, depth, *kernel = weights.shape
    groups = node.attributes.get("group", 1)
    is_depthwise = depth == 1 and filters == groups
    is_symmetric = (
        (image.dtype, weights.dtype) == (DataType.UINT8, DataType.INT8)
        and zero.name in node.constants
        and not any((*offsets.raw_data, *offsets.int32_data))
        and (
            is_depthwise and groups % 16 == 0
            if groups > 1
            else filters >= 16 and depth % 4 == filters % 4 == 0
        )
    )
    if is_symmetric and groups == 1 and filters % 8:
        return None
    is_last = node.attributes.get("channels_last")
    pixels = prod(node.written[0].shape[1:-1] if is_last else node.written[0].shape[2:])
    buffers = [] if is_symmetric else [4 * filters * pixels]
    if not is_last:
        buffers += [prod(image.shape[1:]), filters * pixels]
    moves = [one != 1 for one in (*kernel, *node.attributes.get("strides", ()))]
    has_patches = any((*moves, *node.attributes.get("pads", ())))
    if is_depthwise or (is_symmetric and has_patches):
        images = image.shape[0] if is_symmetric and is_last else 1
        buffers.append(8 * prod(kernel) * pixels * images)
    elif has_patches:
        buffers.append(prod((depth, *kernel, pixels, groups if len(kernel) > 2 else 1)))
    return buffers


def _attention(node: _Node) -> list[int]:
    """Projections, mask, scores, arguments of the products of all heads, and their outputs."""
    (batch, length, _), (_, width) = node.read[0].shape, node.read[1].shape
    mask, past = [*node.read[3:5], None, None][:2]
    heads = node.attributes["num_heads"]
    whole = length + (past.shape[3] if past else 0)
    is_causal = node.attributes.get("unidirectional", 0) and length > 1
    buffers = [4 * batch * length * width]
    if mask or is_causal:
        rows = length if is_causal or len(mask.shape) > 2 else 1
        buffers.append(4 * batch * rows * whole)
    buffers += [4 * batch * heads * length * whole, 64 * batch * heads]
    return [*buffers, 4 * prod(node.written[0].shape)]


def _quantized_product(node: _Node) -> list[int]:
    return [4 * prod(node.written[0].shape)]


def _recurrent(node: _Node) -> list[int]:
    """States that are no outputs; for each direction states, bias, gates and reversed copies."""
    sequence, weights, recurrence, bias, *_ = [*node.read, None]
    length, batch, width = sequence.shape
    directions, hidden = weights.shape[0], recurrence.shape[2]
    gates, state = weights.shape[1] // hidden, 4 * batch * hidden
    states = [*node.written[1:], None, None][: gates - 2]
    buffers = [directions * state for one in states if one is None]
    if gates == 4:  # LSTM
        each = [4 * hidden] * 2 + [state] * 3 + [4 * hidden] * (4 if bias else 0)
    else:
        is_late = node.attributes.get("linear_before_reset", 0)
        each = [state] * (2 + (3 + is_late if bias else 0) + is_late)
    each.append(length * gates * state)
    for direction in range(directions):
        is_reversed = direction or node.attributes.get("direction") == b"reverse"
        buffers += each + ([4 * length * batch * width, length * state] if is_reversed else [])
    return buffers


_RULES: Mapping[tuple[str, str], Callable[[_Node], list[int] | None]] = {
    ("", "ConvTranspose"): _transposed_convolution,
    ("", "GRU"): _recurrent,
    ("", "LSTM"): _recurrent,
    ("", "QLinearConv"): _quantized_convolution,
    ("", "QLinearMatMul"): _quantized_product,
    ("com.microsoft", "Attention"): _attention,
    ("com.microsoft", "QLinearConv"): _quantized_convolution,
}
