"""Whether the reason of a search is true, by a run of both models that it knows nothing of."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.render.bisection.bisect_answer import why_text

#: What `faults.replaced` puts before the names of a node that stands in another one's place.
_RENAMED = "replaced/"
#: Errors up to this are those of two runs of one model.
_EQUAL = 1e-4
_HALF = 65_504.0


def false_reasons(found: Bisected, reference: Path, side: Path, sample: Path) -> tuple[str, ...]:
    """Return what is false in the reason for the node that is named."""
    step, why = found.first_step, why_text(found)
    if step is None or why is None:
        return ()
    return tuple(_false(found, why, Oracle(reference, side, dict(np.load(sample)))))


class Oracle:
    """Both models in FP32 with every tensor of theirs."""

    def __init__(self, reference: Path, side: Path, feeds: Mapping[str, Any]) -> None:
        self.nodes = {node.name: node for node in onnx.load(side).graph.node}
        self.kinds = {
            name: node.op_type for node in onnx.load(reference).graph.node for name in node.output
        }
        self.right, self.values = _tensors(reference, feeds), _tensors(side, feeds)
        self.changing = {
            name for name in self.values
            if np.issubdtype(self.values[name].dtype, np.floating)
        }  # fmt: skip

    def error(self, tensor: str) -> float:
        """Return RMSE ÷ spread in FP32; NaN where the shapes differ."""
        right, value = self.right[tensor.removeprefix(_RENAMED)], self.values[tensor]
        if right.shape != value.shape:
            return float("nan")
        spread = right.std() or np.abs(right).max() or 1.0
        return float(np.sqrt(np.mean((right - value) ** 2)) / spread)


def _tensors(path: Path, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every node computes that depends on an input."""
    model = onnx.load(path)
    names, reached = [], set(feeds)
    for node in model.graph.node:
        if not reached.isdisjoint(node.input):
            names += [name for name in node.output if name]
            reached.update(node.output)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    types = {one.name: one.type for one in session.get_inputs()}
    given = {
        name: feeds[name].astype(np.float32) if types[name] == "tensor(float)" else feeds[name]
        for name in types
    }
    return dict(zip(names, session.run(names, given), strict=True))


def _false(found: Bisected, why: str, oracle: Oracle) -> Iterator[str]:
    node = oracle.nodes[found.first_step.pair.node]
    inputs = [name for name in node.input if name in oracle.changing]
    was = oracle.kinds.get(node.output[0].removeprefix(_RENAMED), node.op_type)
    if (f" is {was} in " in why and f", {node.op_type} in " in why) != (was != node.op_type):
        yield f"it is {node.op_type} here and {was} there"
    yield from _of_inputs(found, why, oracle, inputs)
    wrong = max((oracle.error(name) for name in node.output if name in oracle.values), default=0.0)
    before = max((oracle.error(name) for name in inputs), default=0.0)
    if wrong > 0.01 and before < _EQUAL and found.cause in ("overflow", "grows", "not-finite"):
        yield f"the cause is {found.cause}, and the node is wrong in FP32 too"
    if found.cause == "overflow" and "overflow: weight" not in why:
        read = [oracle.right[name.removeprefix(_RENAMED)] for name in (*inputs, node.output[0])]
        peak = max(float(np.abs(one).max()) for one in read)
        if peak < _HALF:
            yield f"nothing overflows: its values go up to {peak:.3g}"


def _of_inputs(found: Bisected, why: str, oracle: Oracle, inputs: list[str]) -> Iterator[str]:
    compared = {one.pair.candidate for one in found.steps}
    missing = [name for name in inputs if name not in compared]
    if "computed from the model's inputs" in why and inputs:
        yield "it reads what another node computes"
    claimed = re.search(r"its inputs have ([\d.e+-]+|none)", why)
    if claimed is None:
        return
    if missing:
        yield f"says what its inputs have, and {', '.join(missing)} was not compared"
    elif found.tolerance == "fp32":
        largest = max((oracle.error(name) for name in inputs), default=0.0)
        figure = 0.0 if claimed[1] == "none" else float(claimed[1])
        if abs(figure - largest) > max(_EQUAL, largest / 2):
            yield f"its inputs have {largest:.2g}, not {claimed[1]}"
