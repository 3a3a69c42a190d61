"""Copies of models: with marked tensors, or without If and Loop, as the reference decides."""

import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_copies import (
    DECISION,
    Decision,
    asking_onnx,
    marked_onnx,
    unfolded_onnx,
)
from enginescope.formats.onnx.onnx_graph import FlowTensor, OnnxFlow, read_onnx_flow
from enginescope.formats.tensors.tensor_files import answer_file, read_answers
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.records.tensor import DataType
from enginescope.services.accuracy.validation_run import RunSamples, Watch


class IntermediateOutputs:
    """Lets models answer samples, with tensors marked or not.

    `folder` is for copies, answers, and the engines that marked copies become.
    """

    def __init__(
        self, folder: Path, preprocessing: Preprocessing, watch: Watch, run_samples: RunSamples
    ) -> None:
        self.folder, self._run_samples = folder, run_samples
        self._preprocessing, self._watch = preprocessing, watch

    def marked(
        self,
        job: Job,
        flow: OnnxFlow,
        marks: Mapping[str, FlowTensor],
        folder: Path,
        samples: tuple[Sample, ...],
        **more: Any,
    ) -> None:
        """Answer with a copy of the job's model that gives some tensors too."""
        if job.backend.name == "trt" or job.backend.precision:  # parsers and checkers want both
            marks = {
                name: one
                for name, one in marks.items()
                if one.dtype is not None and one.shape is not None
            }
        if job.backend.name == "trt":
            job = _typed(job, flow, marks)
        copy = marked_onnx(Path(job.subject.path or ""), marks, folder / "model")
        self.copied(job, copy, folder, samples, **more)

    def copied(
        self, job: Job, model: Path, folder: Path, samples: tuple[Sample, ...], **more: Any
    ) -> None:
        """Answer with a copy of the job's model; what it is built into is not kept."""
        own = replace(_with_model(job, model), engine_cache=str(self.folder / "engines"))
        self.plain(own, folder, samples, **more)

    def plain(self, job: Job, folder: Path, samples: tuple[Sample, ...], **more: Any) -> None:
        """Answer as the job says; the outputs go into `folder`."""
        request = AnswerRequest(
            samples=samples, folder=str(folder), preprocessing=self._preprocessing, **more
        )
        self._run_samples(job, request, self._watch)

    def input_shapes(self, job: Job, sample: Sample) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the inputs in a sample, where the model leaves some open."""
        flow = read_onnx_flow(Path(job.subject.path or ""))
        if all(None not in (flow.tensor(one).shape or (None,)) for one in flow.inputs):
            return {}
        folder = self.folder / "inputs"
        self.plain(job, folder / "answers", (sample,), inputs_folder=str(folder / "values"))
        found = read_answers(answer_file(folder / "values", 0))
        shutil.rmtree(folder, ignore_errors=True)
        return {one.name: one.shape for one in found}


def outputs_by_name(folder: Path, number: int) -> dict[str, TensorValues]:
    """Return the outputs to a sample by name."""
    return {answer.name: answer for answer in read_answers(answer_file(folder, number))}


def _typed(job: Job, flow: OnnxFlow, marks: Mapping[str, FlowTensor]) -> Job:
    """Return the job whose engine gives marked tensors in the type it would have them in.

    Given in FP32, TensorRT would compute what is around them in FP32 too.
    """
    spec, own = job.backend, flow.outputs
    parts = {*(spec.precision or "").lower().split("+")}
    if not parts & {"fp16", "best"} or "output_formats" in spec.options:
        return job
    kept = spec.options.get("keep_fp32", "").split(",")
    makers = {name: node.name for node in flow.nodes for name in node.outputs}
    formats = ["chw"] * len(own)
    for name, tensor in marks.items():
        if name not in own:
            stays = any(fnmatchcase(makers.get(name, ""), one) for one in kept)
            narrow = tensor.dtype is DataType.FP32 and not stays
            formats.append("fp16:chw" if narrow else "chw")
    options = {**spec.options, "output_formats": ",".join(formats)}
    return replace(job, backend=replace(spec, options=options))


#: A body that ran more often is not entered: the copy would grow too large.
_MOST_ROUNDS = 32
#: Branches within branches that are entered.
_DEEPEST = 6


class Unfolded(Record, frozen=True, kw_only=True):
    """Both sides without If and Loop, and the samples that take the same branches."""

    job: Job
    reference: Job
    samples: tuple[Sample, ...]
    notices: tuple[Notice, ...] = ()


def unfolded(
    job: Job, reference: Job, samples: tuple[Sample, ...], answers: IntermediateOutputs
) -> Unfolded:
    """Return both sides with the branches that the reference takes, and notices on the others."""
    found = Unfolded(job=job, reference=reference, samples=samples)
    stays: set[str] = set()
    for depth in range(_DEEPEST):
        deeper = _one_level(found, answers, answers.folder / f"unfolded-{depth}", stays)
        if deeper is None:
            break
        found = deeper
    return found


def _one_level(
    found: Unfolded, answers: IntermediateOutputs, folder: Path, stays: set[str]
) -> Unfolded | None:
    """Return both sides one level deeper; ``None``: there is nothing to enter."""
    by_sample = _decisions(found.reference, found.samples, answers, folder / "reference")
    first = by_sample[0]
    values = {
        number: one.value
        for number, one in enumerate(first)
        if one.node not in stays and (one.operator == "If" or 0 < one.value <= _MOST_ROUNDS)
    }
    if not values:
        return None
    notices = [*found.notices, *_on_branches(first, values)]
    stays.update(one.node for number, one in enumerate(first) if number not in values)
    kept = [sample for sample, one in zip(found.samples, by_sample, strict=True) if one == first]
    if len(kept) < len(found.samples):
        count = len(found.samples)
        message = (
            f"{count - len(kept)} of {count} samples take other branches than the first one, and "
            "were skipped"
        )
        notices.append(Notice(code="W-OTHER-BRANCH", message=message))
    if found.job.backend.name.startswith("ort"):
        (own, *_) = _decisions(found.job, kept[:1], answers, folder / "side")
        if len(own) != len(first):
            return None
        notices += _on_departures(first, own)
    jobs = [
        _with_model(job, unfolded_onnx(Path(job.subject.path or ""), values, folder / name))
        for job, name in ((found.job, "side-model"), (found.reference, "reference-model"))
    ]
    return Unfolded(job=jobs[0], reference=jobs[1], samples=tuple(kept), notices=tuple(notices))


def _decisions(
    job: Job, samples: Sequence[Sample], answers: IntermediateOutputs, folder: Path
) -> list[tuple[Decision, ...]]:
    copy, nodes = asking_onnx(Path(job.subject.path or ""), folder / "asking")
    if not nodes:
        return [() for _ in samples]
    answers.copied(job, copy, folder / "answers", tuple(samples))
    found = []
    for at in range(len(samples)):
        held = outputs_by_name(folder / "answers", at)
        found.append(
            tuple(
                Decision(
                    node=name,
                    operator=operator,
                    value=int(held[f"{DECISION}{number}"].data.reshape(-1)[0]),
                )
                for number, (name, operator) in enumerate(nodes)
            )
        )
    return found


def _with_model(job: Job, model: Path) -> Job:
    return replace(job, subject=replace(job.subject, path=str(model), sha256=None))


def _on_branches(decisions: Sequence[Decision], values: dict[int, int]) -> list[Notice]:
    notices = []
    for number, one in enumerate(decisions):
        if one.operator == "If":
            taken, other = ("then", "else") if one.value else ("else", "then")
            message = (
                f"{one.node} takes its {taken}-branch in these samples; its {other}-branch did not "
                "run and was not compared"
            )
        elif number in values:
            message = f"{one.node} was compared round by round: {one.value:,}"
        else:
            message = f"{one.node} was not entered: it runs {one.value:,} rounds"
        code = "I-BRANCH" if number in values else "W-NOT-ENTERED"
        notices.append(Notice(code=code, message=message))
    return notices


def _on_departures(reference: Sequence[Decision], side: Sequence[Decision]) -> list[Notice]:
    return [
        Notice(
            code="W-OTHER-BRANCH",
            message=f"{ours.node} decides otherwise in the side: {theirs.value}, and "
            f"{ours.value} in the reference; both were compared as the reference decides",
        )
        for ours, theirs in zip(reference, side, strict=True)
        if ours.value != theirs.value
    ]
