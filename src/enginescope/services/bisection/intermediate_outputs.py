"""Answers of models whose inside is shown: marked copies, each in a fresh process."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from enginescope.formats.onnx.onnx_flow import FlowTensor, OnnxFlow, read_onnx_flow
from enginescope.formats.onnx.onnx_marks import marked_onnx
from enginescope.formats.tensors.answer_files import answer_file, read_answers
from enginescope.records.run.job import Job
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.records.run.tensor_values import TensorValues
from enginescope.records.tensor import DataType
from enginescope.services.accuracy.validation_run import Watch, collect_outputs


class IntermediateOutputs:
    """Lets models answer samples, with tensors marked or not.

    Args:
        folder: For copies, answers, and the engines that marked copies become.
        watch: Told who answers, and how far that is.
    """

    def __init__(self, folder: Path, preprocessing: Preprocessing, watch: Watch) -> None:
        self.folder = folder
        self._preprocessing = preprocessing
        self._watch = watch

    def marked(
        self,
        job: Job,
        flow: OnnxFlow,
        marks: Mapping[str, FlowTensor],
        folder: Path,
        samples: tuple[Sample, ...],
        **more: Any,
    ) -> None:
        """Answer with a copy that gives some tensors too.

        Args:
            flow: Of the job's model.
        """
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
        subject = msgspec.structs.replace(job.subject, path=str(model), sha256=None)
        cache = str(self.folder / "engines")
        own = msgspec.structs.replace(job, subject=subject, engine_cache=cache)
        self.plain(own, folder, samples, **more)

    def plain(self, job: Job, folder: Path, samples: tuple[Sample, ...], **more: Any) -> None:
        """Answer as the job says; the answers go into `folder`."""
        request = AnswerRequest(
            samples=samples, folder=str(folder), preprocessing=self._preprocessing, **more
        )
        collect_outputs(job, request, self._watch)

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
    """Return the answers to a sample by name."""
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
    return msgspec.structs.replace(job, backend=msgspec.structs.replace(spec, options=options))
