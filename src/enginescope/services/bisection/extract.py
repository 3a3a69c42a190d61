"""The node at which an error starts, as a bug report in a folder."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.optional import require
from enginescope.records.notice import Notice
from enginescope.records.run.run import TensorValues
from enginescope.services.bisection.node_errors import NodeErrors
from enginescope.services.bisection.search import BisectPlan, BisectRun


def check_folder(folder: Path) -> None:
    """Raise `UsageError` unless a folder is empty or not there yet."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"`extract` {folder}", why="it is not an empty folder", hint="name a new folder"
        )


def extracted(found: Bisected, plan: BisectPlan, run: BisectRun, folder: Path) -> Notice:
    """Write the start's node with its weights, inputs and expected output; say so.

    The script shows the failure with ONNX Runtime's CPU provider alone, so a node whose own error
    is not known, or is within its limit, is not written.
    """
    step = found.first_step
    if step is None:
        return _not("no tensor was found at which the error starts")
    if step.own_error is None:
        return _not(f"the error of {step.pair.node} alone is not known on {plan.job.backend}")
    if step.own_error <= (found.limit or 0.0):
        return _not(f"{step.pair.node} alone is within its limit: no single node shows the error")
    try:
        _write(found, step, plan, NodeErrors(plan, run, [one.pair for one in found.steps]), folder)
    except (EnginescopeError, OSError) as error:
        return _not(str(error))
    return Notice(
        code="I-EXTRACTED",
        message=f"{step.pair.node} with its inputs and a script is in {folder}",
        level="info",
        evidence={"folder": str(folder)},
    )


def _write(
    found: Bisected, step: GrowthStep, plan: BisectPlan, own: NodeErrors, folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    copy, inputs, expected = own.case(step.pair)
    _save_model(copy, folder / "model.onnx", half=plan.job.backend.precision == "fp16")
    case = {
        "inputs": [_save(folder, f"input_{at}", one) for at, one in enumerate(inputs)],
        "expected": _save(folder, "expected", expected) | {"name": step.pair.candidate},
        "limit": found.limit,
        "stored_in": "float16" if own.is_half else None,
        "own_error": step.own_error if math.isfinite(step.own_error or 0.0) else None,
    }
    (folder / "case.json").write_bytes(msgspec.json.format(msgspec.json.encode(case)))
    (folder / "check.py").write_text(_SCRIPT, encoding="utf-8")
    (folder / "README.md").write_text(_readme(found, step, plan), encoding="utf-8")


def _save(folder: Path, name: str, values: TensorValues) -> dict[str, Any]:
    np.save(folder / f"{name}.npy", np.asarray(values.data))
    return {"name": values.name, "file": f"{name}.npy"}


def _save_model(copy: Path, target: Path, *, half: bool) -> None:
    """Write a model in one file, without the weights that nothing in it reads."""
    onnx = require("onnx", purpose="writing the model", install="enginescope")
    model = onnx.load(str(copy))
    read = {name for node in model.graph.node for name in node.input}
    weights = [one for one in model.graph.initializer if one.name in read]
    inputs = [one for one in model.graph.input if one.name in read]
    del model.graph.value_info[:]
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights)
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    onnx.save(model, str(target))
    if half and any(weight.data_type == onnx.TensorProto.FLOAT for weight in weights):
        from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, convert

        plain = target.rename(target.with_suffix(".fp32.onnx"))
        convert(plain, target, Fp16Options())
        plain.unlink()


def _readme(found: Bisected, step: GrowthStep, plan: BisectPlan) -> str:
    error = (
        "NaN or infinities" if not math.isfinite(step.own_error or 0.0) else f"{step.own_error:.3g}"
    )
    return f"""# {step.pair.node} ({step.pair.operator}) is wrong by itself

This folder holds the node, its weights, its right inputs and its right output.
`python check.py` needs onnxruntime and numpy. It exits with 1 while the failure is there.

| | |
|---|---|
| node | {step.pair.node} ({step.pair.operator}) |
| tensor | {step.pair.candidate} |
| cause | {found.cause} |
| side | {found.side} on {plan.job.backend} |
| reference | {found.reference} |
| RMSE ÷ spread of this node alone | {error} |
| limit | {found.limit} ({found.tolerance}) |
| sample | {found.samples[0] if found.samples else ""} |
"""


def _not(why: str) -> Notice:
    return Notice(code="W-NOT-EXTRACTED", message=f"--extract wrote no file: {why}")


#: Shows a failure on any machine with ONNX Runtime and NumPy.
_SCRIPT = '''"""Run one node on the right inputs and compare its output with the right one.

Needs onnxruntime and numpy. Exits with 1 while the output is wrong.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

here = Path(__file__).resolve().parent
case = json.loads((here / "case.json").read_text())
session = onnxruntime.InferenceSession(
    str(here / "model.onnx"), providers=["CPUExecutionProvider"]
)
names = {one.name for one in session.get_inputs()}
feeds = {one["name"]: np.load(here / one["file"]) for one in case["inputs"] if one["name"] in names}
expected = np.load(here / case["expected"]["file"]).astype(np.float64)
(output,) = session.run([case["expected"]["name"]], feeds)
if case["stored_in"]:  # the CPU provider computes in FP32; the side's type stores less
    with np.errstate(over="ignore"):
        output = output.astype(case["stored_in"])
output = output.astype(np.float64)
lost = int(np.sum(np.isfinite(output) != np.isfinite(expected)))
both = np.isfinite(output) & np.isfinite(expected)
error = float(np.sqrt(np.mean((output - expected)[both] ** 2))) if both.any() else 0.0
spread = float(expected[both].std() or np.sqrt(np.mean(expected[both] ** 2))) if both.any() else 1.0
ratio = error / spread if spread else float(error > 0)
print(f"RMSE / spread: {ratio:.3g} (limit {case['limit']})")
print(f"NaN or infinite where the right output is finite: {lost} of {output.size}")
wrong = lost > 0 or ratio > case["limit"]
print("the failure is there" if wrong else "the output is right")
sys.exit(1 if wrong else 0)
'''
