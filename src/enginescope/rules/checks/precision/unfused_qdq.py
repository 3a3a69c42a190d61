"""Quantize or Dequantize that was not fused.

What it looks for: a separate layer that converts floats to INT8, FP8 or four bits, or back. It is a
Scale, Quantize or Dequantize layer, or a Reformat whose origin is ``QDQ``. The rule also says why
the layer is separate. Another layer may read the same tensor in floats, such as the addition of a
residual branch without Q/DQ. Or the layer before or after it runs in floats.

Why it costs time: TensorRT fuses Q/DQ into neighboring layers where their placement allows that. A
separate one reads and writes the whole tensor, and the layer before it writes floats (PLAN103).

What to do: move the Q/DQ pair to where it fuses: directly before the inputs of convolutions and
matrix products, on both inputs of a residual addition, and after activations.

When it is wrong: the engine quantizes its own input once, unless the application does. The severity
is then info.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.checks.precision.quantized_float_output import spared_ms
from enginescope.rules.tensor_cores import FLOATS, QUANTISED, REFORMATS, converted, output_type
from enginescope.rules.view import LintView

_OWN_LAYERS = ("Scale", "Quantize", "Dequantize", "QuantizeLinear", "DequantizeLinear")
_KINDS = frozenset((*_OWN_LAYERS, *REFORMATS))
_AT_INPUT = "feed the input quantized, if its source can"
_RESIDUAL = "put a Q/DQ pair on the residual branch too, before the addition"
_FLOAT_NEIGHBOR = "quantize the layer beside it as well, or leave both in floats"


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(lambda one: one.type in _KINDS and one.reads is not one.writes):
        pair = converted(layer)
        if pair is None or not is_qdq(layer):
            continue
        role = "Quantize" if pair[1] in QUANTISED else "Dequantize"
        at_input = role == "Quantize" and layer.index in view.flow.reads_input
        reason, advice, partner = (
            (", of the engine's input", _AT_INPUT, None)
            if at_input
            else _of_quantize(view, layer)
            if role == "Quantize"
            else _of_dequantize(view, layer)
        )
        stakes = view.part_ms((layer.index,))
        if partner is not None and partner.precision is not None:
            stakes |= spared_ms(view, partner, partner.precision)
        yield Found(
            layers=(layer.index, *((partner.index,) if partner else ())),
            message=f"is a {role} on its own, {pair[0].value} to {pair[1].value}" + (reason or ""),
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
    if layer.type not in _KINDS:
        return False
    if layer.type in REFORMATS and layer.attributes.get("Origin") != "QDQ":
        return False
    before, after = converted(layer) or (None, None)
    return (before in QUANTISED) != (after in QUANTISED)


def _of_quantize(view: LintView, layer: Layer) -> tuple[str | None, str | None, Layer | None]:
    """Return why a layer is separate, the advice, and the layer that therefore writes floats."""
    at = view.flow.only_before(layer.index)
    if at is None:
        return None, None, None
    producer = view.layers[at]
    tensor = layer.inputs[0]
    readers = (
        view.layers[reader] for reader in view.flow.after.get(at, ()) if reader != layer.index
    )
    if any(_reads_in_floats(reader, tensor) for reader in readers):
        partner = producer if producer.precision in QUANTISED else None
        return ": another layer reads the same tensor in floats", _RESIDUAL, partner
    residuals = (tensor for tensor in producer.inputs[1:] if tensor.dtype in FLOATS)
    if producer.precision in QUANTISED and any(residuals):
        return ": the layer before it adds a residual in floats", _RESIDUAL, producer
    if producer.precision in FLOATS:
        return ": the layer before it runs in floats", _FLOAT_NEIGHBOR, None
    return None, None, None


def _of_dequantize(view: LintView, layer: Layer) -> tuple[str | None, str | None, Layer | None]:
    readers = [view.layers[reader] for reader in view.flow.after.get(layer.index, ())]
    mixed = [reader for reader in readers if reader.precision in QUANTISED]
    if mixed:
        partner = mixed[0] if output_type(mixed[0]) in FLOATS else None
        return ": a quantized layer adds it in floats", _RESIDUAL, partner
    if readers and all(reader.precision in FLOATS for reader in readers):
        return ": the layer behind it runs in floats", _FLOAT_NEIGHBOR, None
    return None, None, None


def _reads_in_floats(layer: Layer, tensor: Tensor) -> bool:
    own = (one for one in layer.inputs if one.name == tensor.name)
    return not is_qdq(layer) and any(one.dtype in FLOATS for one in own)


RULE = Rule(
    code="PLAN106",
    name="unfused-qdq",
    summary="A Quantize or Dequantize runs as a separate layer",
    severity=Severity.WARNING,
    advice="place the Q/DQ pair where it fuses with the layers around it",
    doc=__doc__,
    check=_check,
    explains=("PLAN103", "TIME204"),
)
