"""Quantized layer with a float output.

What it looks for: a convolution or matrix product that reads INT8, FP8 or four bits. It writes
floats that other layers read. The severity is warning where memory limits the layer or its work is
unknown, otherwise info. Memory limits a layer whose multiplications per byte are below the ratio of
the GPU's peaks. For an unknown GPU the ratio is 100.

Why it costs time: the GPU writes and reads an output of two to eight times the size.

What to do: quantize the output with a Q/DQ pair after the layer. If the residual branch ends in an
addition, quantize that branch too.

When it is wrong: the next layer needs floats for accuracy. The rule skips layers that only write
the engine's outputs. At stake is the time of the bytes that a quantized output would save; nothing
where memory does not limit the layer.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.core.record import replace
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import (
    CONVOLUTIONS,
    FLOATS,
    MATMULS,
    QUANTISED,
    REFORMATS,
    converted,
)
from enginescope.rules.view import Kind, LintView

_PRODUCTS = frozenset((*CONVOLUTIONS, *MATMULS))
#: Nearly every NVIDIA GPU with tensor cores has a higher ratio of INT8 and memory peaks.
_MACS_PER_BYTE = 100


def _check(view: LintView) -> Iterator[Found]:
    for layer in view.of_kinds(_is_quantised_with_floats):
        if _ends_at_output(view, layer.index):
            continue
        source, target = converted(layer) or (None, None)
        assert source is not None
        assert target is not None
        intensity = view.work(layer).arithmetic_intensity
        compute_bound = intensity is not None and intensity >= _balance(view, source)
        memory = " and is bound by memory" if intensity is not None and not compute_bound else ""
        yield Found(
            layers=(layer.index,),
            message=f"reads {source.value} and writes {target.value}{memory}",
            evidence={
                "from": source.value,
                "to": target.value,
                "macs_per_byte": round(intensity, 3) if intensity is not None else None,
            },
            severity=Severity.INFO if compute_bound else None,
            stakes_ms={} if compute_bound else spared_ms(view, layer, source),
        )


def spared_ms(view: LintView, layer: Layer, dtype: DataType) -> dict[int, float]:
    """Return the time of the bytes that an output of type `dtype` would save, in ms.

    Returns:
        Time by the layer's index; empty: unknown.
    """
    moved = view.work(layer).moved_bytes
    return view.part_ms((layer.index,), _spared_bytes(layer, dtype) / moved) if moved else {}


def _is_quantised_with_floats(kind: Kind) -> bool:
    return kind.type in _PRODUCTS and kind.reads in QUANTISED and kind.writes in FLOATS


def _spared_bytes(layer: Layer, dtype: DataType) -> int:
    """Return the bytes that outputs of type `dtype` would save; 0 if that is unknown."""
    floats = (output for output in layer.outputs if output.dtype in FLOATS)
    pairs = ((one.nbytes, replace(one, dtype=dtype).nbytes) for one in floats)
    return sum(now - then for now, then in pairs if now is not None and then is not None)


def _ends_at_output(view: LintView, index: int) -> bool:
    """Whether only copies to the engine's outputs read a layer."""
    readers = view.flow.after.get(index, ())
    if not readers:
        return index in view.flow.writes_output
    return all(
        view.layers[reader].type in REFORMATS
        and reader in view.flow.writes_output
        and reader not in view.flow.after
        for reader in readers
    )


def _balance(view: LintView, dtype: DataType) -> float:
    """Return the multiplications per byte below which memory limits a layer."""
    rate = view.gpu.macs_per_ms(dtype.value) if view.gpu else None
    return rate / view.gpu.bytes_per_ms if view.gpu and rate else _MACS_PER_BYTE


RULE = Rule(
    code="PLAN103",
    name="quantized-float-output",
    summary="A quantized layer writes floats",
    severity=Severity.WARNING,
    advice="quantize its output: a Q/DQ pair behind it, and on the residual branch",
    doc=__doc__,
    check=_check,
)
