"""A bundled sample model, and one that does a few percent more: the same with one more node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from enginescope.runner.inputs.sample_models import sample_models

MODEL = "small_transformer.onnx"
_TOKENS, _WIDTH = 64, 128


def planted_models(folder: Path, columns: int) -> tuple[Path, Path]:
    """Return files of the sample, and of one that also multiplies its output by a matrix.

    Parameters
    ----------
    folder : Path
        Gets the files it does not have yet.
    columns : int
        Of the matrix; 40 take about 3 %. What the model is really slower by is known from the
        runs only.
    """
    plain = next(one for one in sample_models(folder) if one.name == MODEL)
    slower = folder / f"planted_{columns}.onnx"
    if not slower.exists():
        model = onnx.load(plain)
        weight = np.random.default_rng(3).standard_normal((_WIDTH, columns)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, "planted/weight"))
        model.graph.node.append(
            helper.make_node("MatMul", ["output", "planted/weight"], ["planted"], name="planted")
        )
        shape = ["batch", _TOKENS, columns]
        planted = helper.make_tensor_value_info("planted", TensorProto.FLOAT, shape)
        model.graph.output.append(planted)
        slower.write_bytes(model.SerializeToString(deterministic=True))
    return plain, slower
