"""Compare the memory that a plan and the arena's rules give with what ONNX Runtime reported.

Predicted: from sizes and the kernels' rules. Replayed: with the report's workspaces and weights.

``python benchmarks/memory.py MODEL.onnx[,INPUT:SHAPE,DIM=SIZE] …``: a line for each model: the
arena's peak and what it holds, by its rules and as reported, and the parts of the process.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.cli.options import parse_shape
from enginescope.core.errors import EnginescopeError
from enginescope.records.run.job import DimSize, Workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.memory.memory import MemoryRequest, explain_memory

_MIB = 1 << 20


def request_of(text: str) -> MemoryRequest:
    path, *sizes = text.split(",")
    workload = Workload(
        shapes=tuple(parse_shape(one) for one in sizes if ":" in one),
        dims=tuple(
            DimSize(name=name, size=int(size))
            for name, equals, size in (one.partition("=") for one in sizes)
            if equals
        ),
    )
    return MemoryRequest(what=Path(path), workload=workload)


def is_close(predicted: float, measured: float) -> bool:
    """Return whether a figure is within 5 % or 2 MiB."""
    return abs(predicted - measured) <= max(0.05 * measured, 2 * _MIB)


def compared(view: MemoryView) -> dict[str, tuple[float, float]]:
    """Return pairs of figures, by the rules and as reported, in bytes."""
    use = view.arena
    if use is None:
        return {}
    pairs: dict[str, tuple[float, float]] = {}
    for name, made in (("predicted", view.predicted), ("replayed", view.replayed)):
        if made is not None:
            pairs[f"{name} in use"] = (made.peak_bytes, use.in_use_peak_bytes)
            pairs[f"{name} held"] = (made.held_bytes, use.held_bytes or 0)
    return pairs


def main() -> None:
    good: dict[str, int] = {}
    models = sys.argv[1:]
    warnings.simplefilter("ignore")
    for model in models:
        try:
            request = request_of(model)
            view = explain_memory(request, MeasurementObserver()).view
        except EnginescopeError as error:
            print(f"{Path(model).name}: {error}")
            continue
        parts = []
        for name, (predicted, measured) in compared(view).items():
            good[name] = good.get(name, 0) + is_close(predicted, measured)
            parts.append(f"{name} {predicted / _MIB:.2f}/{measured / _MIB:.2f}")
        shares = " ".join(f"{one.kind} {one.nbytes / _MIB:.1f}" for one in view.parts)
        print(f"{Path(model).name}: {', '.join(parts)} | {shares}", flush=True)
    print(f"within 5 % or 2 MiB, of {len(models)}: {good}")


if __name__ == "__main__":
    main()
