"""The memory of an engine as plain values, for a JSON document."""

from collections.abc import Sequence
from typing import Any

from enginescope.analysis.memory.buffers import Buffer
from enginescope.analysis.memory.findings import memory_findings
from enginescope.analysis.memory.fit import Fit
from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.core.units import sum_known
from enginescope.judge.notice import Notice


def memory_data(
    name: str, backend: str | None, view: MemoryView, fit: Fit | None, notices: Sequence[Notice]
) -> dict[str, Any]:
    """Return parts, peak, tensors, layers, arena, weights, findings and the fit."""
    predicted, replayed = view.predicted, view.replayed
    sizes = zip(view.layers, view.live_bytes, view.workspace_bytes, strict=True)
    return {
        "name": name,
        "backend": backend,
        "process_bytes": view.process_bytes,
        "parts": view.parts,
        "peak": {
            "layer": view.peak_layer.name,
            "position": view.peak_at,
            "type": view.peak_layer.type,
            "bytes": view.live_bytes[view.peak_at],
            "workspace_bytes": view.workspace_bytes[view.peak_at],
            "tensors": [_tensor(view, one) for one in view.peak_buffers],
        },
        "layers": [
            {
                "name": layer.name,
                "type": layer.type,
                "bytes": live,
                "workspace_bytes": extra,
                "predicted_workspace_bytes": sum_known(
                    view.predicted_workspaces.get(layer.name, ())
                ),
            }
            for layer, live, extra in sizes
        ],
        "tensors": [_tensor(view, one) for one in view.buffers.buffers],
        "weights": view.weights,
        "block_bytes": view.block_bytes,
        "reported_block_bytes": view.reported_block_bytes,
        "arena": predicted
        and {
            "predicted_peak_bytes": predicted.peak_bytes,
            "predicted_held_bytes": predicted.held_bytes,
            "replayed_peak_bytes": replayed.peak_bytes if replayed else None,
            "replayed_held_bytes": replayed.held_bytes if replayed else None,
            "peak_bytes": view.arena.in_use_peak_bytes if view.arena else None,
            "held_bytes": view.arena.held_bytes if view.arena else None,
        },
        "unknown_tensors": view.unknown,
        "findings": tuple(memory_findings(view)),
        "fit": fit,
        "notices": notices,
    }


def _tensor(view: MemoryView, buffer: Buffer) -> dict[str, Any]:
    return {
        "names": [one.name for one in buffer.tensors],
        "kind": buffer.kind,
        "bytes": buffer.nbytes,
        "shape": buffer.tensor.shape,
        "from": view.layers[buffer.first].name,
        "until": view.layers[buffer.last].name if buffer.last < len(view.layers) else None,
    }
