"""Rules on the types of layers, and on Q/DQ."""

from collections import Counter
from collections.abc import Iterable, Iterator

from enginescope.analysis.layers.reformats import REFORMATS, is_whole_part
from enginescope.core.record import replace
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType
from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.checks.copies import moves_only
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    FLOATS,
    MATMULS,
    QUANTISED,
    REDUCED,
    converted,
    output_type,
)
from enginescope.rules.view import LintView

_PRODUCTS = frozenset((*CONVOLUTIONS, *MATMULS))
#: Nearly every NVIDIA GPU with tensor cores has a higher ratio of INT8 and memory peaks.
_MACS_PER_BYTE = 100
_QDQ_TYPES = REFORMATS | {"Scale", "Quantize", "Dequantize", "QuantizeLinear", "DequantizeLinear"}
_AT_INPUT = (", of the engine's input", "feed the input quantized, if its source can", None)
_RESIDUAL = "put a Q/DQ pair on the residual branch too, before the addition"
_FLOAT_NEIGHBOR = "quantize the layer beside it as well, or leave both in floats"
_COMPUTING = _PRODUCTS | {"kgen", "Myelin"}
_CONVERSIONS = frozenset((*REFORMATS, "Scale", "Quantize", "Dequantize", "Cast"))


@rule(
    "PLAN103",
    "quantized-float-output",
    "A quantized layer writes floats",
    advice="quantize its output: a Q/DQ pair behind it, and on the residual branch",
)
def quantized_float_output(view: LintView) -> Iterator[Found]:
    """Quantized layer with a float output.

    What it looks for: a convolution or matrix product that reads INT8, FP8 or four bits. It writes
    floats that other layers read. The severity is warning where memory limits the layer or its work
    is unknown, otherwise info. Memory limits a layer whose multiplications per byte are below the
    ratio of the GPU's peaks. For an unknown GPU the ratio is 100.

    Why it costs time: the GPU writes and reads an output of two to eight times the size.

    What to do: quantize the output with a Q/DQ pair after the layer. If the residual branch ends in
    an addition, quantize that branch too.

    When it is wrong: the next layer needs floats for accuracy. The rule skips layers that only
    write the engine's outputs. At stake is the time of the bytes that a quantized output would
    save; nothing where memory does not limit the layer.
    """
    for layer in view.of_kinds(
        lambda one: one.type in _PRODUCTS and one.reads in QUANTISED and one.writes in FLOATS
    ):
        if _ends_at_output(view, layer.index):
            continue
        pair = converted(layer)
        assert pair is not None
        source, target = pair
        intensity = view.work(layer).arithmetic_intensity
        rate = view.gpu.macs_per_ms(source.value) if view.gpu else None
        balance = rate / view.gpu.bytes_per_ms if view.gpu and rate else _MACS_PER_BYTE
        compute_bound = intensity is not None and intensity >= balance
        memory = " and is bound by memory" if intensity is not None and not compute_bound else ""
        macs = None if intensity is None else round(intensity, 3)
        yield Found(
            layers=(layer.index,),
            message=f"reads {source.value} and writes {target.value}{memory}",
            evidence={"from": source.value, "to": target.value, "macs_per_byte": macs},
            severity=Severity.INFO if compute_bound else None,
            stakes_ms={} if compute_bound else spared_ms(view, layer, source),
        )


def spared_ms(view: LintView, layer: Layer, dtype: DataType) -> dict[int, float]:
    """Return the time of the bytes that an output of type `dtype` would save, in ms.

    Returns:
        Time by the layer's index; empty: unknown.
    """
    moved = view.work(layer).moved_bytes
    floats = (output for output in layer.outputs if output.dtype in FLOATS)
    pairs = ((one.nbytes, replace(one, dtype=dtype).nbytes) for one in floats)
    spared = sum(now - then for now, then in pairs if now is not None and then is not None)
    return view.part_ms((layer.index,), spared / moved) if moved else {}


def _ends_at_output(view: LintView, index: int) -> bool:
    readers = view.flow.after.get(index, ())
    if not readers:
        return index in view.flow.writes_output
    return all(
        view.layers[reader].type in REFORMATS
        and reader in view.flow.writes_output
        and reader not in view.flow.after
        for reader in readers
    )


@rule(
    "PLAN106",
    "unfused-qdq",
    "A Quantize or Dequantize runs as a separate layer",
    advice="place the Q/DQ pair where it fuses with the layers around it",
    explains=("PLAN103", "TIME204"),
    is_general=True,
)
def unfused_qdq(view: LintView) -> Iterator[Found]:
    """Quantize or Dequantize that was not fused.

    What it looks for: a separate layer that converts floats to INT8, FP8 or four bits, or back. It
    is a Scale, Quantize or Dequantize layer, or a Reformat whose origin is ``QDQ``. The rule also
    says why the layer is separate. Another layer may read the same tensor in floats, such as the
    addition of a residual branch without Q/DQ. Or the layer before or after it runs in floats.

    Why it costs time: TensorRT fuses Q/DQ into neighboring layers where their placement allows
    that. A separate one reads and writes the whole tensor, and the layer before it writes floats
    (PLAN103).

    What to do: move the Q/DQ pair to where it fuses: directly before the inputs of convolutions and
    matrix products, on both inputs of a residual addition, and after activations.

    When it is wrong: the engine quantizes its own input once, unless the application does. The
    severity is then info.
    """
    for layer in view.of_kinds(lambda one: one.type in _QDQ_TYPES and one.reads is not one.writes):
        pair = converted(layer)
        if pair is None or not is_qdq(layer):
            continue
        is_quantize = pair[1] in QUANTISED
        at_input = is_quantize and layer.index in view.flow.reads_input
        reason, advice, partner = (_of_quantize if is_quantize else _of_dequantize)(view, layer)
        if at_input:
            reason, advice, partner = _AT_INPUT
        role = "Quantize" if is_quantize else "Dequantize"
        stakes = view.part_ms((layer.index,))
        if partner is not None and partner.precision is not None:
            stakes |= spared_ms(view, partner, partner.precision)
        yield Found(
            layers=(layer.index, *((partner.index,) if partner else ())),
            message=f"is a {role} on its own, {pair[0].value} to {pair[1].value}" + reason,
            evidence={
                "role": role,
                "from": pair[0].value,
                "to": pair[1].value,
                "partner": partner.name if partner else None,
            },
            severity=Severity.INFO if at_input else None,
            advice=advice,
            stakes_ms=stakes,
        )


def is_qdq(layer: Layer) -> bool:
    """Whether a layer is a separate Quantize or Dequantize."""
    if layer.type not in _QDQ_TYPES:
        return False
    if layer.type in REFORMATS and layer.attributes.get("Origin") != "QDQ":
        return False
    before, after = converted(layer) or (None, None)
    return (before in QUANTISED) != (after in QUANTISED)


def _of_quantize(view: LintView, layer: Layer) -> tuple[str, str | None, Layer | None]:
    """Return why a layer is separate, the advice, and the layer that therefore writes floats."""
    at = view.flow.only_before(layer.index)
    if at is None:
        return "", None, None
    producer = view.layers[at]
    readers = (view.layers[reader] for reader in view.flow.after.get(at, ()))
    if any(
        reader.index != layer.index
        and not is_qdq(reader)
        and any(one.name == layer.inputs[0].name and one.dtype in FLOATS for one in reader.inputs)
        for reader in readers
    ):
        partner = producer if producer.precision in QUANTISED else None
        return ": another layer reads the same tensor in floats", _RESIDUAL, partner
    residuals = (tensor for tensor in producer.inputs[1:] if tensor.dtype in FLOATS)
    if producer.precision in QUANTISED and any(residuals):
        return ": the layer before it adds a residual in floats", _RESIDUAL, producer
    if producer.precision in FLOATS:
        return ": the layer before it runs in floats", _FLOAT_NEIGHBOR, None
    return "", None, None


def _of_dequantize(view: LintView, layer: Layer) -> tuple[str, str | None, Layer | None]:
    readers = [view.layers[reader] for reader in view.flow.after.get(layer.index, ())]
    mixed = [reader for reader in readers if reader.precision in QUANTISED]
    if mixed:
        partner = mixed[0] if output_type(mixed[0]) in FLOATS else None
        return ": a quantized layer adds it in floats", _RESIDUAL, partner
    if readers and all(reader.precision in FLOATS for reader in readers):
        return ": the layer behind it runs in floats", _FLOAT_NEIGHBOR, None
    return "", None, None


@rule(
    "PLAN110",
    "fp32-left",
    "A layer is left in FP32 in a plan of reduced precision",
    advice="allow it a lower precision, if accuracy permits",
    is_general=True,
)
def fp32_left(view: LintView) -> Iterator[Found]:
    """FP32 layer in a plan of reduced precision.

    What it looks for: a layer that reads and writes FP32 in a plan of reduced precision. Such a
    plan has a convolution, matrix product or fused kernel in FP16, BF16, INT8, FP8 or FP4. The
    severity is warning for convolutions and matrix products, and info for other layers. The rule
    skips copies and layers without time.

    Why it costs time: FP32 moves twice the bytes of FP16 and computes at a fraction of its rate. It
    needs conversions on both sides.

    What to do: allow the layer a lower precision. In a strongly typed network, change its types in
    the model. For layers without matrix products half of the time is at stake, as half of the
    bytes.

    When it is wrong: normalizations, softmax and sums stay in FP32 for accuracy.
    """
    if not any(kind.type in _COMPUTING and kind.reads in REDUCED for kind in view.kinds):
        return
    fp32 = DataType.FP32
    left = view.of_kinds(lambda it: it.reads is it.writes is fp32 and it.type not in REFORMATS)
    for layer in left:
        if moves_only(layer) or view.times_ms.get(layer.index) == 0:
            continue
        is_product = layer.type in _PRODUCTS
        yield Found(
            layers=(layer.index,),
            message="runs in FP32, others in reduced precision",
            evidence={"type": layer.type, "subtype": layer.subtype},
            severity=None if is_product else Severity.INFO,
            stakes_ms=None if is_product else view.part_ms((layer.index,), 0.5),
        )


@rule(
    "PLAN117",
    "precision-island",
    "Layers of a wider type stand between layers of a narrower one",
    advice="let these layers run in the precision around them",
    explains=("PLAN103", "PLAN104", "PLAN105", "PLAN106", "PLAN109", "PLAN110", "TIME204"),
    is_general=True,
)
def precision_island(view: LintView) -> Iterator[Found]:
    """Precision island.

    What it looks for: connected layers of a wider float type, in a plan that multiplies mostly in a
    narrower type. Data is converted where it enters the island. It leaves through another
    conversion or as an output of the engine.

    Why it costs time: the layers move and compute more bytes. The tensors of their neighbors are
    converted on the way in and out.

    What to do: let the island run in the precision of its neighbors. Remove a precision constraint,
    quantize the inputs, or change the types in the model of a strongly typed network. At stake are
    the conversions, and the part of the layers' time that the wider type's bytes take.

    When it is wrong: the island is there on purpose, for accuracy, as normalizations and sums are.
    """
    main = _main_type(view)
    if main is None:
        return
    wide = _wide_layers(view, main)
    for members in _components(view, wide):
        inside = set(members)
        before = _neighbors(view, members, inside, view.flow.before)
        after = _neighbors(view, members, inside, view.flow.after)
        entering = [one for one in before if _narrows(one.precision, output_type(one), main)]
        leaving = [one for one in after if _narrows(output_type(one), one.precision, main)]
        copies = [one.index for one in (*entering, *leaving) if one.type in _CONVERSIONS]
        copies += [at for at in members if view.layers[at].type in _CONVERSIONS]
        computing = [at for at in members if view.layers[at].type not in _CONVERSIONS]
        out = bool(leaving) or not inside.isdisjoint(view.flow.writes_output)
        if not (entering and out and copies and computing):
            continue
        if len(members) > len(view.active) / 2:
            continue
        feeding = [one for one in entering if one.precision in QUANTISED and not is_qdq(one)]
        yield _island(view, computing, copies, feeding, main)


def _island(
    view: LintView, computing: list[int], copies: list[int], feeding: list[Layer], main: DataType
) -> Found:
    first, last = view.layers[computing[0]], view.layers[computing[-1]]
    dtype = first.precision
    assert dtype is not None
    stakes = view.part_ms(copies) | view.part_ms(computing, 1 - _bits(main) / _bits(dtype))
    for layer in feeding:
        stakes |= spared_ms(view, layer, main)
    count = "1 copy" if len(copies) == 1 else f"{len(copies)} copies"
    size = "1 layer" if len(computing) == 1 else f"{len(computing)} layers"
    return Found(
        layers=tuple(sorted((*computing, *copies, *(layer.index for layer in feeding)))),
        subject=first.name if first is last else f"{first.name} … {last.name}",
        message=f"is an island of {size} in {dtype.value} in a plan of {main.value}, "
        f"with {count} around it",
        evidence={"precision": dtype.value, "around": main.value, "layers": len(computing)},
        stakes_ms=stakes,
    )


def _main_type(view: LintView) -> DataType | None:
    """Return the type that most products of the plan read, if it is a reduced type."""
    counts = Counter[DataType]()
    for kind, places in view.kinds.items():
        if kind.reads is not None and kind.type in _PRODUCTS:
            counts[kind.reads] += len(places)
    main = max(counts, key=lambda dtype: counts[dtype], default=None)
    return main if main in REDUCED else None


def _wide_layers(view: LintView, main: DataType) -> set[int]:
    """Return the layers that read and write only wider floats, including copies between them."""
    wide = frozenset(dtype for dtype in FLOATS if _bits(dtype) > _bits(main))
    layers = view.of_kinds(lambda kind: kind.reads in wide and kind.writes in wide)
    return {
        layer.index
        for layer in layers
        if not is_whole_part(layer) and all(output.dtype in wide for output in layer.outputs)
    }


def _components(view: LintView, wide: set[int]) -> Iterator[list[int]]:
    left = set(wide)
    for start in sorted(wide):
        if start not in left:
            continue
        left.discard(start)
        members, waiting = [], [start]
        while waiting:
            at = waiting.pop()
            members.append(at)
            near = (*view.flow.before.get(at, ()), *view.flow.after.get(at, ()))
            found = [one for one in near if one in left]
            left.difference_update(found)
            waiting += found
        yield sorted(members)


def _neighbors(
    view: LintView, members: Iterable[int], inside: set[int], links: dict[int, tuple[int, ...]]
) -> list[Layer]:
    found = dict.fromkeys(one for member in members for one in links.get(member, ()))
    return [view.layers[one] for one in found if one not in inside]


def _narrows(narrow: DataType | None, wide: DataType | None, main: DataType) -> bool:
    """Whether a layer at the border has the plan's type or a narrower type on its outer side."""
    return narrow is not None and _bits(narrow) <= _bits(main) < _bits(wide)


def _bits(dtype: DataType | None) -> int:
    return (dtype.bits or 0) if dtype is not None else 0


@rule(
    "PLAN120",
    "whole-fp32",
    "The whole plan computes in FP32",
    severity=Severity.INFO,
    advice="build with --fp16 and validate the outputs",
)
def whole_fp32(view: LintView) -> Iterator[Found]:
    """All convolutions and matrix products in FP32.

    What it looks for: a plan whose convolutions, matrix products and fused kernels all read FP32.
    They take together at least 5 % of the engine's time, where times are known.

    Why it costs time: FP16 moves half of the bytes, and tensor cores compute it at several times
    the rate of FP32 or TF32.

    What to do: build with `--fp16`, as in `enginescope bench model.onnx --on trt:fp16`, or convert
    the model. Then compare the outputs with `enginescope validate`. Half of the layers' time is at
    stake, as half of the bytes; convolutions often gain more.

    When it is wrong: the outputs must have the precision of FP32, or the GPU has no tensor cores.
    """
    computing = view.of_kinds(lambda kind: kind.type in _COMPUTING)
    if not computing or any(one.precision is not DataType.FP32 for one in computing):
        return
    layers = [layer.index for layer in computing]
    share = view.share_pct(view.time_ms(layers))
    if share is not None and share < 5:  # percent
        return
    yield Found(
        layers=tuple(layers),
        subject=f"{len(layers):,} layers" if layers[1:] else computing[0].name,
        message="compute in FP32, and no layer in reduced precision",
        evidence={"layers": len(layers)},
        stakes_ms=view.part_ms(layers, 0.5),
    )
