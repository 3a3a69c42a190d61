"""What each node of a side adds to the error by itself: given the reference's values."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.error_growth import Bisected
from enginescope.analysis.tensor_errors import TensorErrors
from enginescope.analysis.tensor_pairs import TensorPair
from enginescope.bisect_run import BisectPlan, BisectRun
from enginescope.core.errors import BackendError
from enginescope.formats.answer_files import answer_file, read_answers, write_answers
from enginescope.formats.onnx_marks import GIVEN, severed_onnx
from enginescope.model.job import Workload
from enginescope.model.notice import Notice
from enginescope.model.sample_set import Sample, SampleFile
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues

_NUMPY = {DataType.FP64: np.float64, DataType.FP32: np.float32, DataType.FP16: np.float16}
#: Samples that are enough to tell nodes apart.
_SAMPLES = 1


def with_own_errors(found: Bisected, plan: BisectPlan, run: BisectRun) -> Bisected:
    """Return what was found with each node's own error: RMSE ÷ spread given right inputs.

    Where the copy cannot be run (a runtime that wants constants where it would get values) the
    errors stay unknown, and a notice says so.
    """
    try:
        own = _Own(plan, run).measured([one.pair for one in found.steps])
    except BackendError as error:
        notice = Notice(
            code="I-NO-OWN-ERRORS",
            message=f"what each node adds by itself could not be measured: {error}",
            level="info",
        )
        return msgspec.structs.replace(found, notices=(*found.notices, notice))
    steps = tuple(
        msgspec.structs.replace(one, own_error=own.get(one.tensor)) for one in found.steps
    )
    return msgspec.structs.replace(found, steps=steps)


class _Own:
    """Cuts a side's nodes apart and feeds them."""

    def __init__(self, plan: BisectPlan, run: BisectRun) -> None:
        self._plan, self._run = plan, run
        self._folder = run.answers.folder / "own"
        self._given = {name: one for name, one in run.looks.items() if one.dtype in _NUMPY}

    def measured(self, pairs: Sequence[TensorPair]) -> dict[str, float]:
        wanted = [one for one in pairs if one.candidate in self._given]
        own: dict[str, float] = {}
        for part in self._run.parts([one.reference for one in wanted]):
            own |= self._measured(part)
        return own

    def _measured(self, pairs: Sequence[TensorPair]) -> dict[str, float]:
        plan, folder = self._plan, self._folder
        try:
            copy, asked = severed_onnx(
                Path(plan.job.subject.path or ""),
                {one.candidate: self._run.looks[one.candidate] for one in pairs},
                self._given,
                folder / "side",
            )
            values = self._reference_values(pairs, asked)
            samples = [self._fed(number, asked, held) for number, held in enumerate(values)]
            plain = msgspec.structs.replace(plan.job, workload=Workload())
            self._run.answers.copied(plain, copy, folder / "answers", tuple(samples))
            return self._errors(pairs, values)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _reference_values(
        self, pairs: Sequence[TensorPair], asked: Sequence[str]
    ) -> list[dict[str, TensorValues]]:
        """Return the reference's values of what is given and of what is wanted, and the inputs."""
        plan, folder, flow = self._plan, self._folder, self._run.reference_flow
        partner = {one.candidate: one.reference for one in self._run.paired.pairs}
        names = [one.reference for one in pairs]
        names += [partner[one.removesuffix(GIVEN)] for one in asked if one.endswith(GIVEN)]
        marks = {name: flow.tensor(name) for name in names}
        chosen = plan.samples[:_SAMPLES]
        inputs = folder / "inputs"
        self._run.answers.marked(
            plan.reference, flow, marks, folder / "values", chosen, inputs_folder=str(inputs)
        )
        found = []
        for number in range(len(chosen)):
            held = (
                *read_answers(answer_file(folder / "values", number)),
                *read_answers(answer_file(inputs, number)),
            )
            found.append({one.name: one for one in held})
        return found

    def _fed(self, number: int, asked: Sequence[str], held: Mapping[str, TensorValues]) -> Sample:
        partner = {one.candidate: one.reference for one in self._run.paired.pairs}
        flow = self._run.flow
        fed = []
        for name in asked:
            plain = name.removesuffix(GIVEN)
            source = held[plain if plain == name else partner[plain]]
            dtype = flow.tensor(name).dtype if plain == name else self._given[plain].dtype
            fed.append(_as(name, source, dtype))
        path = answer_file(self._folder, number)
        write_answers(path, fed)
        files = tuple(SampleFile(input=one.name, path=str(path)) for one in fed)
        return Sample(name=f"given {number}", files=files)

    def _errors(
        self, pairs: Sequence[TensorPair], values: Sequence[Mapping[str, TensorValues]]
    ) -> dict[str, float]:
        sums = {one.reference: TensorErrors(one.reference, self._plan.tolerance) for one in pairs}
        for number, held in enumerate(values):
            answers = {
                one.name: one for one in read_answers(answer_file(self._folder / "answers", number))
            }
            for one in pairs:
                if one.candidate in answers and one.reference in held:
                    sums[one.reference].add(held[one.reference], answers[one.candidate])
        found = {name: one.result() for name, one in sums.items() if one.is_compared}
        return {
            name: one.error if one.error is not None else 0.0
            for name, one in found.items()
            if not one.odd
        } | {name: float("inf") for name, one in found.items() if one.odd}


def _as(name: str, values: TensorValues, dtype: DataType | None) -> TensorValues:
    """Return values under another name, in the type that the side has them in."""
    kind = _NUMPY.get(dtype) if dtype is not None else None
    data: Any = values.data
    if kind is not None and values.dtype in _NUMPY:
        with np.errstate(over="ignore"):
            data = np.asarray(values.data).astype(kind)
    else:
        dtype = values.dtype
    return TensorValues(name=name, dtype=dtype or values.dtype, shape=values.shape, data=data)
