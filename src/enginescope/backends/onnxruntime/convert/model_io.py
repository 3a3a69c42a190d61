"""Reading a model for conversion and writing the result of it, above 2 GiB too.

A message of that size can be neither written nor handed to ONNX's C++ part: so shapes are inferred
before the large weights are read, and large weights are written to a file of their own.

A model with the shapes of its tensors inferred, symbols kept: what ort-trt may ask for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.convert.model_cache import (
    MadeModel,
    kept,
    key_of,
    versions_of,
)
from enginescope.core.errors import BackendError, innermost_reason
from enginescope.core.optional import require
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_graph import FlowTensor
from enginescope.formats.onnx.onnx_marks import marked_onnx
from enginescope.formats.onnx.onnx_precision import (
    digest_of,
    external_data,
    graphs_of,
    load_without_weights,
)

#: Weights of this size may decide a shape; larger ones do not.
_SMALL_BYTES = 1 << 16
#: With more weights than this they are written apart: well below what a message may hold.
_APART_BYTES = 1 << 30


def read_model(path: Path) -> Any:
    """Return a model with its weights, functions inlined, shapes inferred as far as they go."""
    model = load_without_weights(str(path))
    onnx = require("onnx", purpose="reading the model", install="onnx")
    if model.functions:
        from onnx.inliner import inline_local_functions

        model = inline_local_functions(model)
    _load_weights(model, path, below=_SMALL_BYTES)
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception as error:  # C++ exceptions, with no common base
        raise BackendError(
            f"the shapes in {path.name} cannot be inferred", why=str(error)
        ) from error
    _load_weights(model, path, below=None)
    return model


def state_types(model: Any, path: Path) -> None:
    """State which tensors are FP32, as ONNX Runtime finds them where ONNX's inference does not.

    It knows no operator of ``ai.onnx.ml`` that gives numbers, and nothing behind one. Without a
    type a converter adds no cast.

    Args:
        path: The model's file.
    """
    onnx = require("onnx", purpose="asking for types", install="onnx")
    ort = require("onnxruntime", purpose="asking for types", install="onnxruntime")
    graph, file = model.graph, load_without_weights(str(path)).graph
    known = {one.name for one in (*graph.input, *graph.value_info, *graph.output)}
    unknown = {name for node in file.node for name in node.output if name and name not in known}
    if not unknown:
        return
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    with temporary_folder() as folder:
        copy = marked_onnx(path, dict.fromkeys(sorted(unknown), FlowTensor()), Path(folder))
        try:
            session = ort.InferenceSession(str(copy), options, providers=["CPUExecutionProvider"])
        except Exception:  # noqa: BLE001 - operators that this build does not have: unknown
            return
    for tensor in session.get_outputs():
        if tensor.name in unknown and tensor.type == "tensor(float)":
            kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
            graph.value_info.append(onnx.helper.make_value_info(tensor.name, kind))


def write_model(model: Any, target: Path, like: Path) -> None:
    """Write `model` and check what was written.

    Args:
        like: The model it was made from, for messages.
    """
    onnx = require("onnx", purpose="writing the model", install="onnx")
    apart = weight_bytes(model) > _APART_BYTES
    if apart:
        onnx.save_model(
            model,
            str(target),
            save_as_external_data=True,
            all_tensors_to_one_file=True,
            location=f"{target.name}.data",
        )
    else:
        onnx.save_model(model, str(target))
    error = _rejection(target)
    if error is None or _rejection(like) is not None:  # ONNX Runtime loads some that it rejects
        return
    why = " ".join(str(error).split())
    kinds = {node.op_type for graph in graphs_of(model.graph) for node in graph.node}
    raise BackendError(
        f"{like.name} cannot be converted",
        why=f"ONNX's checker rejects the result: {why}",
        hint=blocking_hint(why, kinds),
    ) from error


def _rejection(path: Path) -> Exception | None:
    """Return what ONNX's checker says of a file; ``None``: it is valid."""
    onnx = require("onnx", purpose="checking a model", install="onnx")
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # noqa: BLE001 - checker and inference raise different ones
        return error
    return None


def blocking_hint(reason: str, kinds: Iterable[str]) -> str | None:
    """Return how to keep the operator in FP32 that a reason names; ``None``: it names none."""
    words = frozenset(re.findall(r"\w+", reason))
    named = next((kind for kind in sorted(kinds) if kind in words), None)
    return f"?op_block_list={named} keeps {named} in fp32" if named else None


def weight_bytes(model: Any) -> int:
    """Return the size of what the model holds as raw data."""
    return sum(len(one.raw_data) for one in _tensors(model))


def _load_weights(model: Any, path: Path, below: int | None) -> None:
    """Read external weights: only those smaller than `below`, if it is given."""
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    for tensor in _tensors(model):
        if not uses_external_data(tensor):
            continue
        length = external_data(tensor, str(path)).length
        if below is not None and (not length or int(length) > below):
            continue
        try:
            load_external_data_for_tensor(tensor, str(path.parent))
        except Exception as error:  # its errors differ by version
            why = f"weights of {tensor.name}: {error}"
            raise BackendError(f"{path} cannot be read", why=why) from error
        tensor.data_location = tensor.DEFAULT
        del tensor.external_data[:]


def _tensors(model: Any) -> Iterator[Any]:
    for graph in graphs_of(model.graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


TOOL = "onnxruntime.tools.symbolic_shape_infer"
#: What ONNX Runtime says when a provider needs shapes that the model does not state.
ASKED_FOR = "shape inference"
_PURPOSE = "inferring shapes"
_LARGEST = 2**31 - 1


def inferred_model(model: Path, folder: Path) -> MadeModel:
    """Return `model` with the shapes that ONNX Runtime's own tool infers: kept, or made now.

    Args:
        folder: Where converted models are kept.
    """
    require("sympy", purpose=_PURPOSE, install="enginescope[convert]")
    versions = versions_of("onnxruntime", "onnxruntime-gpu", "onnx", "sympy")
    made = MadeModel(
        path="",
        kind="shapes",
        tool=TOOL,
        key=key_of(digest_of(str(model)), TOOL, versions),
        versions=versions,
    )
    return kept(folder, made, f"{model.stem}.shapes.onnx", lambda target: _infer(model, target))


def _infer(model: Path, target: Path) -> dict[str, int]:
    tool = require(TOOL, purpose=_PURPOSE, install="onnxruntime")
    source = read_model(model)
    before = len(source.graph.value_info)
    try:
        made = tool.SymbolicShapeInference.infer_shapes(
            source, int_max=_LARGEST, auto_merge=True, guess_output_rank=False, verbose=0
        )
    except Exception as error:  # it raises whatever it runs into
        raise BackendError(
            f"the shapes in {model.name} cannot be inferred",
            why=innermost_reason(error, TOOL),
            hint="infer_shapes=never, or a model exported with its shapes",
        ) from error
    write_model(made, target, like=model)
    return {"shapes_before": before, "shapes": len(made.graph.value_info)}
