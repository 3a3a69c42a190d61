"""Bisection of the sides that fail: where an error starts, and the part of the model around it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.accuracy.output_diff import SampleDiff, SideDiff
from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep
from enginescope.analysis.bisection.tensor_pairs import LARGEST
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.validation.validation import DISK_FULL, ValidatedSide, Validation
from enginescope.backends.registry import parse_backend
from enginescope.core import errors
from enginescope.core.optional import require
from enginescope.core.record import copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_graph import read_onnx_flow
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.records.tensor import DataType
from enginescope.render.bisection.bisect_answer import why_text
from enginescope.services.accuracy.request import BisectionRequest
from enginescope.services.accuracy.sides import REFERENCE, Side, tolerance_name
from enginescope.services.accuracy.validation_run import Plan, Watch
from enginescope.services.bisection.fp32_fallback import FallbackTrials
from enginescope.services.bisection.node_errors import NodeErrors, add_node_errors
from enginescope.services.bisection.search import FEW_MARKS, BisectPlan, BisectRun

#: Samples that are looked into: those farthest from their reference.
_MOST_SAMPLES = 4
#: And the first so many, where proposals are tried.
_MOST_TRIED = 12
_HALF = {"fp16": DataType.FP16, "fp8": DataType.FP8}


def add_bisection(
    found: Validation, plan: Plan, watch: Watch, request: BisectionRequest
) -> Validation:
    """Return a comparison in which each side that fails has the start of its error.

    A single side is searched even if it passes. Of several sides, each gets a folder of its own in
    ``request.extract``.
    """
    by_label = {side.label: side for side in plan.sides.others}
    bisecting = _Bisecting(found, plan, watch, request)
    sides = [
        bisecting.searched(side, by_label[side.label])
        if side.diff is not None and (bisecting.is_alone or not side.passes)
        else side
        for side in found.sides
    ]
    return replace(found, sides=tuple(sides), notices=(*found.notices, *bisecting.notices))


class _Bisecting:
    """Searches one side after another; a side that cannot be searched stays as it is."""

    def __init__(
        self, found: Validation, plan: Plan, watch: Watch, request: BisectionRequest
    ) -> None:
        self._plan, self._watch, self._request = plan, watch, request
        skipped = {sample.sample for sample in found.skipped}
        self._samples = tuple(
            sample for number, sample in enumerate(plan.samples) if number not in skipped
        )
        self.is_alone = len(found.sides) == 1
        self.notices: list[Notice] = []

    def searched(self, result: ValidatedSide, side: Side) -> ValidatedSide:
        what = f"temporary files of the search in {result.label}"
        try:
            with errors.disk_full_as_error(what), temporary_folder() as folder:
                return self._searched(result, bisect_plan(result, side, self._plan, folder))
        except errors.DiskFullError as error:
            message = f"{result.label} was compared but not searched: {error}; {error.hint}"
            self.notices.append(Notice(code=DISK_FULL, message=message))
        except errors.BackendError as error:
            message = f"{result.label} could not be searched: {error}"
            self.notices.append(Notice(code="W-NOT-LOOKED-INTO", message=message))
        return result

    def _searched(self, result: ValidatedSide, plan: BisectPlan) -> ValidatedSide:
        request = self._request
        plan = replace(plan, most=request.marks or plan.most)
        run = BisectRun(plan, self._watch)
        # an engine would have to be built of the pieces
        inside = add_node_errors(run.find(), plan, run, own=_is_cheap(plan.job))
        precision = None
        if request.extract is not None:
            labels = [side.label for side in self._plan.sides.others]
            own = "" if self.is_alone else f"side-{labels.index(result.label) + 1}"
            notice = extracted(inside, plan, run, request.extract / own)
            inside = replace(inside, notices=(*inside.notices, notice))
        if request.suggest_precision:
            samples = dict.fromkeys((*plan.samples, *self._samples[:_MOST_TRIED]))
            precision = FallbackTrials(plan, run, tuple(samples)).tried(inside)
        return replace(result, inside=inside, precision=precision)


def check_bisectable(plan: Plan, extract: Path | None) -> None:
    """Raise, before anything runs, where a side cannot be searched."""
    if extract is not None:
        check_folder(extract)
    for other in plan.sides.others:
        reference = computing_reference(other, plan.sides.reference)
        if reference is None:
            why = f"{plan.sides.reference.label} have no reference for intermediate tensors"
            hint = "`reference` MODEL, a model that is known to be correct"
            raise errors.UsageError(f"`bisect`: {other.label}", why=why, hint=hint)
        for job in (other.job, reference):
            if job is None or job.subject.kind != "onnx":
                what = f"`bisect`: {job.subject.name if job else other.label}"
                why = "an engine does not return intermediate tensors"
                hint = "the ONNX model it was built from, with `on` trt:fp16"
                raise errors.UsageError(what, why=why, hint=hint)


def computing_reference(side: Side, reference: Side) -> Job | None:
    """Return who computes what a side should: the reference, or the side's model on the CPU.

    The latter where the reference is only stored, and the side is not that itself.
    """
    if reference.job is not None or side.job is None:
        return reference.job
    if side.job.backend.is_cpu and side.job.backend.precision is None:
        return None
    return replace(side.job, backend=parse_backend(REFERENCE), engine=None)


def bisect_plan(one: ValidatedSide, side: Side, plan: Plan, folder: Path) -> BisectPlan:
    """Return what is to be searched in a side."""
    reference = computing_reference(side, plan.sides.reference)
    if side.job is None or reference is None or one.diff is None:
        raise errors.UsageError(f"`bisect`: {side.label}", why="nothing there computes outputs")
    held = tolerance_name(side, plan.sides.reference)[0]
    return copied(
        BisectPlan,
        plan,
        label=one.label,
        reference_label=f"{reference.subject.name} · {reference.backend.name}",
        job=side.job,
        reference=reference,
        samples=_worst_samples(one.diff, plan.samples),
        tolerance=tolerance_named(plan.tolerance or held),
        fails=not one.passes,
        folder=str(folder.resolve()),
        most=None if _is_cheap(side.job) and _is_cheap(reference) else FEW_MARKS,
        largest=LARGEST.get(_HALF.get(held, DataType.FP32)),
    )


def _is_cheap(job: Job) -> bool:
    """Whether a marked copy need only be loaded, not built."""
    return job.backend.is_cpu or job.backend.name == "ort-cuda"


def _worst_samples(diff: SideDiff, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    def badness(one: SampleDiff) -> tuple[bool, bool, float]:
        figures = one.figures
        if figures is None:
            return (True, True, 0.0)
        odd = figures.nan + figures.infinite + figures.finite_only_here
        return (one.reason is not None, odd > 0, figures.error_to_spread or 0.0)

    worst: dict[int, tuple[bool, bool, float]] = {}
    for sample in diff.samples:
        worst[sample.sample] = max(worst.get(sample.sample, (False, False, 0.0)), badness(sample))
    order = sorted(worst, key=lambda at: worst[at], reverse=True)[:_MOST_SAMPLES]
    failing = [at for at in order if worst[at][0]]
    return tuple(samples[at] for at in sorted(failing or order))


def check_folder(folder: Path) -> None:
    """Raise `UsageError` unless a folder is empty or not there yet."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        why = "it is not an empty folder"
        raise errors.UsageError(f"`extract` {folder}", why=why, hint="name a new folder")


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
    except (errors.EnginescopeError, OSError) as error:
        return _not(str(error))
    part = "the part of the model up to " if step.not_compared else ""
    message = f"{part}{step.pair.node} with its inputs and a script is in {folder}"
    return Notice(code="I-EXTRACTED", message=message, evidence={"folder": str(folder)})


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
    nodes = [f"{one.name} ({one.operator})" for one in read_onnx_flow(copy).nodes if one.varies]
    (folder / "README.md").write_text(_readme(found, step, plan, nodes), encoding="utf-8")


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


def _readme(found: Bisected, step: GrowthStep, plan: BisectPlan, nodes: Sequence[str]) -> str:
    error = (
        "NaN or infinities" if not math.isfinite(step.own_error or 0.0) else f"{step.own_error:.3g}"
    )
    whole = f"{step.pair.node} ({step.pair.operator})"
    title, parts = f"{whole} is wrong by itself", "the node"
    if len(nodes) > 1:
        title = f"The part of the model up to {whole} is wrong by itself"
        parts = f"{len(nodes):,} nodes, whose outputs but the last were not compared"
    return f"""# {title}

This folder holds {parts}, the weights, the right inputs and the right output.
`python check.py` needs onnxruntime and numpy. It exits with 1 while the failure is there.

| | |
|---|---|
| nodes | {", ".join(nodes)} |
| tensor | {step.pair.candidate} |
| cause | {found.cause}: {why_text(found)} |
| side | {found.side} on {plan.job.backend} |
| reference | {found.reference} |
| RMSE ÷ spread of this part alone | {error} |
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
