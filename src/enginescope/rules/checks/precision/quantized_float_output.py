"""Quantized layer with a float output.

What it looks for: a convolution or matrix product that reads INT8, FP8 or four bits and writes
floats which other layers of the engine read. It is a warning where the layer is bound by memory, or
its work is not known, else info: bound by memory are fewer multiplications per byte moved than the
GPU's peaks are apart, or than 100 where the GPU is not known.

Why it costs time: the output is written, and read again, at two to eight times the size.

What to do: quantize the output: put a Q/DQ pair behind the layer, on the residual branch as well
when it ends in an addition.

When it is wrong: what reads the output needs floats for accuracy. Layers that only write the
engine's outputs are left out. At stake is the part of the time that belongs to the bytes that a
quantized output would not have; nothing of a layer that is not bound by memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

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
#: INT8 multiplications ÷ bytes at the peaks of nearly every NVIDIA GPU with tensor cores exceed it.
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
    """Return the time of the bytes that a layer would not write, were its output of type `dtype`.

    Returns:
        By the layer's index; empty where it is not known.
    """
    moved = view.work(layer).moved_bytes
    return view.part_ms((layer.index,), _spared_bytes(layer, dtype) / moved) if moved else {}


def _is_quantised_with_floats(kind: Kind) -> bool:
    return kind.type in _PRODUCTS and kind.reads in QUANTISED and kind.writes in FLOATS


def _spared_bytes(layer: Layer, dtype: DataType) -> int:
    """Return what its float outputs hold beyond the same in `dtype`; 0 where that is not known."""
    floats = (output for output in layer.outputs if output.dtype in FLOATS)
    pairs = ((one.nbytes, msgspec.structs.replace(one, dtype=dtype).nbytes) for one in floats)
    return sum(now - then for now, then in pairs if now is not None and then is not None)


def _ends_at_output(view: LintView, index: int) -> bool:
    """Whether nothing but copies to the engine's outputs reads a layer."""
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
    """Return the multiplications per byte below which memory is what a layer waits for."""
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
