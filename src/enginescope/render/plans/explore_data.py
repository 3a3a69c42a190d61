"""A plan looked into, as CSV and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.layers.tactics import tactic_family
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer
from enginescope.core.jsonio import encode
from enginescope.records.notice import Notice
from enginescope.records.tensor import Tensor
from enginescope.render.base.csv_text import csv_bytes
from enginescope.render.base.facts import tensor_text

#: Version of the JSON document's shape.
EXPLORE_SCHEMA = 1
_ROW = (
    *("index", "name", "type", "subtype", "precision"),
    *("mean_ms", "median_ms", "total_ms", "share_pct", "tactic"),
)
_SIZES = ("weights_bytes", "bias_bytes", "activation_bytes", "footprint_bytes")
#: Columns of the CSV file; times are per iteration but for `total_ms`.
COLUMNS = (
    *_ROW,
    "tactic_family",
    "output_precision",
    *_SIZES,
    *("inputs", "outputs", "onnx_nodes", "in_plan", "is_inert"),
)


def explore_csv(layers: Sequence[ExploredLayer]) -> bytes:
    """Return layers as CSV in the order they are given, with `COLUMNS`."""
    return csv_bytes(COLUMNS, (explore_cells(layer) for layer in layers))


def explore_json(
    found: Exploration,
    layers: Sequence[ExploredLayer],
    *,
    device: str | None = None,
    tensorrt_version: str | None = None,
    notices: Sequence[Notice] = (),
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """Return everything that is known as strict JSON; times in ms, sizes in bytes.

    Args:
        layers: Its layers, in the order they are to have.
        tensorrt_version: That built the plan, or ran it.
        notices: Of reading the files; those of `found` follow.
        more: Further parts of the document.
    """
    rest = {
        name: getattr(found, name)
        for name in found.__struct_fields__
        if name not in ("layers", "notices", "time")
    }
    time = found.time
    return encode(
        {
            "schema": EXPLORE_SCHEMA,
            "enginescope": __version__,
            "device": device,
            "tensorrt_version": tensorrt_version,
            **rest,
            "time": time and {**msgspec.to_builtins(time), "ratio": time.ratio},
            "notices": [*notices, *found.notices],
            "layers": [_layer(layer) for layer in layers],
            **(more or {}),
        }
    )


def _layer(one: ExploredLayer) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one.row)
    made["output_precision"] = one.output_precision
    made["tactic_family"] = tactic_family(one.row.tactic) if one.row.tactic else None
    return {**made, **dict(zip(_SIZES, _sizes(one), strict=True))}


def explore_cells(one: ExploredLayer) -> list[Any]:
    """Return a layer as cells below `COLUMNS`."""
    row = one.row
    return [
        *(getattr(row, name) for name in _ROW),
        tactic_family(row.tactic) if row.tactic else None,
        one.output_precision,
        *_sizes(one),
        _tensors(row.inputs),
        _tensors(row.outputs),
        ";".join(row.onnx_nodes),
        row.in_plan,
        row.is_inert,
    ]


def _sizes(one: ExploredLayer) -> list[int | None]:
    return [getattr(one.sizes, name) if one.sizes else None for name in _SIZES]


def _tensors(tensors: tuple[Tensor, ...]) -> str:
    return "; ".join(tensor_text(tensor) for tensor in tensors)
