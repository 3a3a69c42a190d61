"""A model with the shapes of its tensors inferred, symbols kept: what ort-trt may ask for."""

from __future__ import annotations

from pathlib import Path

from enginescope.backends.onnxruntime.convert.model_cache import (
    MadeModel,
    kept,
    key_of,
    versions_of,
)
from enginescope.backends.onnxruntime.convert.model_io import read_model, write_model
from enginescope.core.errors import BackendError, reasons_of
from enginescope.core.optional import require
from enginescope.formats.onnx.onnx_files import digest_of

TOOL = "onnxruntime.tools.symbolic_shape_infer"
#: What ONNX Runtime says when a provider needs shapes that the model does not state.
ASKED_FOR = "shape inference"
_PURPOSE = "inferring shapes"
_LARGEST = 2**31 - 1


def inferred_model(model: Path, folder: Path) -> MadeModel:
    """Return `model` with the shapes that ONNX Runtime's own tool infers: kept, or made now.

    Args:
        folder: Where converted models are kept.

    Raises:
        MissingDependencyError: ``sympy`` is not installed.
        BackendError: The tool fails on it.
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
            why=f"{TOOL}: {reasons_of(error)}",
            hint="infer_shapes=never, or a model exported with its shapes",
        ) from error
    write_model(made, target, like=model)
    return {"shapes_before": before, "shapes": len(made.graph.value_info)}
