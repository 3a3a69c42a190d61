"""Rules on layers that copy data, and lose time with it."""

import re
from collections.abc import Iterator

from enginescope.analysis.layers.reformats import REFORMATS
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.tensor_cores import converted
from enginescope.rules.view import LintView

_NAMED = re.compile(r"^Reformatting CopyNode for (?:In|Out)put Tensor \d+ (?:to|from) (.+)$")
_MOVES = frozenset(
    {
        *("Shuffle", "Slice", "Padding", "Concatenation", "Concat", "Gather", "Copy"),
        *("Transpose", "StridedSlice", "Pad", "Tile", "Expand"),
    }
)
_WORDS = frozenset(
    {
        *("Res", "Resh", "Reshape", "Tra", "Tran", "Transpose", "Mov", "Move", "Sli", "Slic"),
        *("Slice", "Con", "Conc", "Concat", "Rep", "Repl", "Cop", "Copy", "Pad", "Padd"),
    }
)


@rule(
    "PLAN104",
    "reformat-converts-type",
    "A Reformat layer converts between element types",
    advice="let the layers on both sides run in one precision",
    explains=("TIME204",),
    is_general=True,
)
def reformat_converts_type(view: LintView) -> Iterator[Found]:
    """Reformat that converts the type.

    What it looks for: a Reformat whose input and output have different element types. The rule
    compares types, not names: ``Half`` and ``FP16`` are one type. PLAN106 reports Reformats that
    stand for a Quantize or Dequantize of the model. Some Reformats are symptoms of PLAN109, PLAN115
    or PLAN117, and appear there.

    Why it costs time: a kernel reads and writes memory, and computes nothing. It marks a border
    between two precisions.

    What to do: let the layers on both sides run in one precision. At the engine's own inputs and
    outputs, use the type of the first layer: ``--inputIOFormats`` and ``--outputIOFormats`` of
    trtexec. The severity is then info.

    When it is wrong: the precision changes on purpose, for accuracy.
    """
    for layer in view.of_kinds(lambda one: one.type in REFORMATS and one.reads is not one.writes):
        pair, origin = converted(layer), layer.attributes.get("Origin")
        if pair is None or origin == "QDQ":
            continue
        flow = view.flow
        border = layer.index in flow.reads_input or layer.index in flow.writes_output
        yield Found(
            layers=(layer.index,),
            message=f"converts {pair[0].value} to {pair[1].value}",
            evidence={"from": pair[0].value, "to": pair[1].value, "origin": origin},
            severity=Severity.INFO if border else None,
            advice="give this input or output of the engine the type that its layers use"
            if border
            else None,
        )


@rule(
    "PLAN105",
    "slice-converts-type",
    "A Slice layer converts between element types",
    advice="let the layers on both sides run in one precision",
    explains=("TIME204",),
)
def slice_converts_type(view: LintView) -> Iterator[Found]:
    """Slice that converts the type.

    What it looks for: a Slice whose input and output have different element types.

    Why it costs time: the conversion hides a border between two precisions inside a copy.

    What to do: let the layers on both sides run in one precision.

    When it is wrong: the precision changes on purpose, for accuracy.
    """
    for layer in view.of_kinds(lambda one: one.type == "Slice" and one.reads is not one.writes):
        pair = converted(layer)
        if pair is not None:
            yield Found(
                layers=(layer.index,),
                message=f"converts {pair[0].value} to {pair[1].value}",
                evidence={"from": pair[0].value, "to": pair[1].value},
            )


@rule(
    "PLAN109",
    "reformat-sandwich",
    "One layer forces Reformats around it",
    advice="let the layer run in the precision and layout of its neighbors",
    explains=("PLAN104", "TIME204"),
    is_general=True,
)
def reformat_sandwich(view: LintView) -> Iterator[Found]:
    """Reformats that one layer forces.

    What it looks for: Reformats around one layer: two or more, a pair in which the second undoes
    the first, or one that changes only the layout. The name of a Reformat says which layer it
    serves; otherwise it serves the layer that reads it. Other rules report a single conversion of
    the type (PLAN104), Q/DQ (PLAN106), copies of constants (PLAN115), and copies between equal
    formats (PLAN116).

    Why it costs time: each Reformat copies a tensor, because this layer needs another layout or
    precision than its neighbors. TensorRT accepted these copies with the tactics that it could try.

    What to do: let the layer run in the precision and layout of its neighbors. Give the builder
    more workspace, remove a precision constraint from the layer, or use a plugin that reads that
    layout. At the engine's own inputs and outputs, use the format of the layer:
    ``--inputIOFormats`` and ``--outputIOFormats`` of trtexec. The severity is then info.

    When it is wrong: the layer gains more than the copies cost. Only the copies are at stake.
    """
    reformats = [
        reformat
        for reformat in view.of_types(REFORMATS)
        if reformat.attributes.get("Origin") != "QDQ" and _changes(reformat) != ""
    ]
    pairs = {first.index: pair for first in reformats if (pair := _sandwich(view, first))}
    taken = {index for first, (_, last) in pairs.items() for index in (first, last)}
    for first, (index, last) in pairs.items():
        changes = f"{_changes(view.layers[first])} and back"
        message = f"is between two Reformats that undo each other ({changes})"
        yield _sandwich_found(view, index, (first, last), message)
    for (index, border), some in _by_layer(view, reformats, taken).items():
        if len(some) == 1:  # it counts where it is known to change the layout and to keep the type
            kinds = [_kind(one) for one in (*some[0].inputs[:1], *some[0].outputs[:1])]
            types = {dtype for dtype, _ in kinds}
            layouts = {layout for _, layout in kinds}
            if len(types) != 1 or len(layouts) != 2 or None in types | layouts:
                continue
        count = "a Reformat" if len(some) == 1 else f"{len(some)} Reformats"
        changes = " and ".join(dict.fromkeys(map(_changes, some)))
        layers = tuple(reformat.index for reformat in some)
        yield _sandwich_found(view, index, layers, f"forces {count} ({changes})", border=border)


def _sandwich_found(
    view: LintView, index: int, layers: tuple[int, ...], message: str, *, border: bool = False
) -> Found:
    advice = "give the engine the format that the layer takes (trtexec: --inputIOFormats, "
    return Found(
        layers=layers,
        subject=view.layers[index].name,
        message=message,
        evidence={"layer": index, "reformats": [view.layers[layer].name for layer in layers]},
        severity=Severity.INFO if border else None,
        advice=f"{advice}--outputIOFormats)" if border else None,
    )


def _by_layer(
    view: LintView, reformats: list[Layer], taken: set[int]
) -> dict[tuple[int, bool], list[Layer]]:
    """Group the remaining Reformats by the layer that they serve, and mark those at the border."""
    matches = [_NAMED.match(reformat.name) for reformat in reformats]
    wanted = {match[1] for match in matches if match}
    named = {layer.name: layer.index for layer in view.active if layer.name in wanted}
    flow = view.flow
    served: dict[tuple[int, bool], list[Layer]] = {}
    for reformat, match in zip(reformats, matches, strict=True):
        index = named.get(match[1]) if match else flow.only_after(reformat.index)
        if index is not None and reformat.index not in taken:
            border = reformat.index in flow.reads_input or reformat.index in flow.writes_output
            served.setdefault((index, border), []).append(reformat)
    return served


def _sandwich(view: LintView, first: Layer) -> tuple[int, int] | None:
    """Return the layer after a Reformat, and the next Reformat that undoes the first."""
    index = view.flow.only_after(first.index)
    if index is None or view.layers[index].type in REFORMATS:
        return None
    last_index = view.flow.only_after(index)
    last = view.layers[last_index] if last_index is not None else None
    if last is None or last.type not in REFORMATS or not (first.inputs and last.outputs):
        return None
    undone = _kind(first.inputs[0]) == _kind(last.outputs[0]) != (None, None)
    return (index, last.index) if undone else None


def _kind(tensor: Tensor) -> tuple[str | None, str | None]:
    dtype, layout = tensor.dtype, tensor.layout
    return (dtype.value if dtype else None, layout.name if layout else None)


def _changes(layer: Layer) -> str:
    """Return ``FP16 NHWC8 → FP32 NCHW``; empty if type and layout are known to stay."""
    sides = [_kind(one) for one in (*layer.inputs[:1], *layer.outputs[:1])]
    if len(sides) == 2 and sides[0] == sides[1]:
        return ""
    return " → ".join(" ".join(word for word in side if word) for side in sides)


def moves_only(layer: Layer) -> bool:
    """Whether a layer only moves data; Reformats do not count."""
    if layer.type in _MOVES:
        return True
    if layer.type != "kgen":
        return False
    match = re.match(r"__myl_((?:[A-Z][a-z]+)+)(?:_|$)", layer.tactic_name or layer.name)
    return match is not None and _WORDS.issuperset(re.findall(r"[A-Z][a-z]+", match[1]))


@rule(
    "PLAN111",
    "data-copies",
    "A layer only moves data",
    severity=Severity.INFO,
    advice="change the model so that the transposition, slice or concatenation is not needed",
    is_general=True,
)
def data_copies(view: LintView) -> Iterator[Found]:
    """Layer that only moves data.

    What it looks for: Shuffle, Slice, Padding, Concatenation and similar layers. The rule also
    finds fused kernels whose names consist of reshapes, transposes, slices, concatenations and
    moves alone. It skips Reformats and layers without time.

    Why it costs time: a kernel reads and writes memory, and computes nothing.

    What to do: change the model so that it does not need the transposition or slice. Keep one axis
    order throughout. Split the weights instead of the activations. Fold permutations into the
    weights of the next layer.

    When it is wrong: the data has to move, and there is little of it.
    """
    times = view.times_ms
    for layer in view.of_types((*_MOVES, "kgen")):
        if moves_only(layer) and times.get(layer.index) != 0:
            size = layer.outputs[0].nbytes if layer.outputs else None
            yield Found(
                layers=(layer.index,),
                message=f"only moves data ({layer.type})",
                evidence={"type": layer.type, "output_bytes": size},
            )


def constant_layers(view: LintView) -> tuple[int, ...]:
    """Return the layers whose outputs are the same at every inference."""
    constants = set(view.layer_kinds.roles.constants)
    if not constants:
        return ()
    computed = []
    for layer in view.plan.layers:
        if layer.type == "Constant" or not layer.inputs:
            continue
        if not constants.issuperset(tensor.name for tensor in layer.inputs):
            continue
        constants.update(tensor.name for tensor in layer.outputs)
        if not layer.is_inert:
            computed.append(layer.index)
    return tuple(computed)


@rule(
    "PLAN115",
    "constant-copies",
    "Constants are copied or computed at every inference",
    advice="fold constants (polygraphy surgeon sanitize --fold-constants), then build again",
    explains=("PLAN104", "PLAN105", "PLAN109", "PLAN111", "PLAN116", "TIME202", "TIME204"),
)
def constant_copies(view: LintView) -> Iterator[Found]:
    """Constants copied at every inference.

    What it looks for: layers that launch work and read constants only. Constants are outputs of
    Constant layers and tensors that no layer writes. Outputs of layers that read only constants are
    constants too.

    Why it costs time: the result is the same at every inference, but a kernel computes it again. An
    export that shares weights through Identity nodes leaves such copies in the engine. TensorRT 8.6
    keeps each copy as a Reformat.

    What to do: fold the constants of the ONNX model, then build again: ``polygraphy surgeon
    sanitize model.onnx --fold-constants -o folded.onnx`` or ``onnxsim model.onnx folded.onnx``. To
    install them: ``pip install polygraphy onnx-graphsurgeon`` or ``pip install onnxsim``.

    When it is wrong: the file does not list every input of a layer.
    """
    indices = constant_layers(view)
    if not indices:
        return
    names = [view.layers[index].name for index in indices]
    copies = sum(view.layers[index].type in REFORMATS for index in indices)
    count = len(indices)
    what = "a constant" if count == 1 else "constants"
    yield Found(
        layers=indices,
        subject=names[0] if count == 1 else f"{count:,} layers ({names[0]} … {names[-1]})",
        message=f"{'copy' if copies == count else 'compute'} {what} at every inference"
        if count > 1
        else f"{'copies' if copies else 'computes'} {what} at every inference",
        evidence={"layers": count, "copies": copies, "names": names[:3]},
    )


def _copies_equal(layer: Layer) -> bool:
    """Whether a Reformat is known to change neither type, layout nor shape."""
    if layer.type not in REFORMATS or len(layer.inputs) != 1 or len(layer.outputs) != 1:
        return False
    before, after = layer.inputs[0], layer.outputs[0]
    formats = [(one.dtype, one.layout and one.layout.text, one.shape) for one in (before, after)]
    return formats[0] == formats[1] and None not in formats[0]


@rule(
    "PLAN116",
    "equal-format-copy",
    "A Reformat copies between equal formats",
    advice="remove the Identity or Cast behind it, or the output that is read inside as well",
    explains=("TIME204",),
    is_general=True,
)
def equal_format_copy(view: LintView) -> Iterator[Found]:
    """Copy between equal formats.

    What it looks for: a Reformat whose input and output have the same type, layout and shape, where
    the plan shows all three. PLAN115 reports copies of constants.

    Why it costs time: the copy changes nothing, and it reads and writes the whole tensor.

    What to do: find out why TensorRT copies the tensor. Often the model has an Identity or a Cast
    to the same type: remove that node. A tensor may be an output of the engine that another layer
    reads: give the output a copy of its own. Or a concatenation needs its parts in one buffer.

    When it is wrong: the layouts differ in strides that the file does not show.
    """
    for layer in view.of_kinds(lambda one: one.type in REFORMATS and one.reads is one.writes):
        if _copies_equal(layer) and view.times_ms.get(layer.index) != 0:
            yield Found(
                layers=(layer.index,),
                message="copies a tensor to the type, layout and shape that it has already",
                evidence={"bytes": layer.outputs[0].nbytes},
            )
