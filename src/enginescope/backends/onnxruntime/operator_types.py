"""Which operators of a model have no FP16 form, by ONNX's own schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from enginescope.backends.onnxruntime.graphs import graphs_of
from enginescope.core.optional import require

_FP32, _FP16 = "tensor(float)", "tensor(float16)"


def without_fp16(model: Any, exempt: frozenset[str]) -> frozenset[str]:
    """Return the operators of which some tensor may be FP32 and not FP16 at the model's opset.

    Parameters
    ----------
    exempt : frozenset of str
        Operators of which the converter knows which input to leave.
    """
    versions = {one.domain or "ai.onnx": one.version for one in model.opset_import}
    used = {
        (node.op_type, node.domain or "ai.onnx")
        for graph in graphs_of(model.graph)
        for node in graph.node
    }
    return frozenset(
        name
        for name, domain in used
        if name not in exempt and _lacks_fp16(name, domain, versions.get(domain, 1))
    )


def _lacks_fp16(name: str, domain: str, version: int) -> bool:
    onnx = require("onnx", purpose="asking operators for their types", install="onnx")
    known = "" if domain == "ai.onnx" else domain
    try:
        schema = onnx.defs.get_schema(name, max_inclusive_version=version, domain=known)
    except onnx.defs.SchemaError:  # an operator of somebody else's: nothing is known of it
        return False
    return any(_only_fp32(one.types) for one in (*schema.inputs, *schema.outputs))


def _only_fp32(types: Iterable[str]) -> bool:
    return _FP32 in types and _FP16 not in types
