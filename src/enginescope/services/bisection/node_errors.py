"""What each node of a side adds to the error by itself: given the reference's values."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.analysis.bisection.error_growth import Bisected, started
from enginescope.analysis.bisection.tensor_pairs import LARGEST, TensorErrors, TensorPair
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_copies import GIVEN, split_model_at
from enginescope.formats.tensors.tensor_files import answer_file, write_answers
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Workload
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample, SampleFile
from enginescope.records.tensor import DataType
from enginescope.services.accuracy.sides import REFERENCE
from enginescope.services.bisection.branches import outputs_by_name
from enginescope.services.bisection.search import BisectPlan, BisectRun

_NUMPY = {DataType.FP64: np.float64, DataType.FP32: np.float32, DataType.FP16: np.float16}
#: Samples that are enough to tell nodes apart.
_SAMPLES = 1


def add_node_errors(found: Bisected, plan: BisectPlan, run: BisectRun, *, own: bool) -> Bisected:
    """Return what was found with each node's own error: RMSE ÷ spread given right inputs.

    Where the copy cannot be run (a runtime that wants constants where it would get values) the
    errors stay unknown, and a notice says so. The start is chosen anew by them. They are measured
    in the side's precision (`own`), and in FP32 where another model than the reference's was
    converted.
    """
    ours, theirs = plan.reference.subject, plan.job.subject
    # whether the side is converted to a narrow type from another model than the reference's
    in_fp32 = (
        plan.largest is not None
        and plan.job.backend.precision is not None
        and ours.path != theirs.path
        and (ours.sha256 is None or ours.sha256 != theirs.sha256)
    )
    if not own and not in_fp32:
        return found
    pairs = [step.pair for step in found.steps]
    measured = NodeErrors(plan, run, pairs), NodeErrors(plan, run, pairs, in_fp32=True)
    for errors, wanted in zip(measured, (own, in_fp32), strict=True):
        try:
            if wanted:
                errors.measure()
        except BackendError as error:
            message = f"the own error of each node{errors.where} could not be measured: {error}"
            notice = Notice(code="I-NO-OWN-ERRORS", message=message)
            errors.added, errors.stored = {}, {}
            found = replace(found, notices=(*found.notices, notice))
    steps = tuple(
        replace(
            step,
            own_error=measured[0].added.get(step.tensor),
            stored_error=measured[0].stored.get(step.tensor),
            model_error=measured[1].added.get(step.tensor),
        )
        for step in found.steps
    )
    return started(replace(found, steps=steps))


class NodeErrors:
    """Cuts a side's nodes apart and feeds them; `in_fp32` runs its model as it is, on the CPU."""

    def __init__(
        self,
        plan: BisectPlan,
        run: BisectRun,
        pairs: Sequence[TensorPair],
        *,
        in_fp32: bool = False,
    ) -> None:
        self._plan, self._run, self._pairs = plan, run, pairs
        self._folder = run.answers.folder / "own"
        self.added: dict[str, float] = {}
        self.stored: dict[str, float] = {}
        self._job, self.where = run.sides.job, " in FP32" if in_fp32 else ""
        looks = {pair.candidate: run.looks[pair.candidate] for pair in pairs}
        if in_fp32:
            self._job = replace(self._job, backend=parse_backend(REFERENCE), engine=None)
            types = {pair.candidate: run.typed(pair).dtype for pair in pairs}
            looks = {
                name: replace(look, dtype=types[name] or look.dtype) for name, look in looks.items()
            }
        self._given = {name: look for name, look in looks.items() if look.dtype in _NUMPY}
        #: Whether the side stores values in FP16.
        self.is_half = plan.largest == LARGEST[DataType.FP16] and not in_fp32

    def measure(self) -> None:
        """Fill `added`, what each node adds, and `stored`, what its type's storage adds."""
        wanted = [pair for pair in self._pairs if pair.candidate in self._given]
        for part in self._run.parts([one.tensor for one in wanted]):
            self._measure(part)

    def case(self, pair: TensorPair) -> tuple[Path, list[TensorValues], TensorValues]:
        """Return a model of one node, its right inputs, and its right output."""
        copy, asked = self._severed([pair])
        (held, *_) = self._reference_values([pair], asked)
        return copy, self._inputs(asked, held), held[pair.reference]

    def _severed(self, pairs: Sequence[TensorPair]) -> tuple[Path, tuple[str, ...]]:
        wanted = {pair.candidate: self._given[pair.candidate] for pair in pairs}
        source = Path(self._job.subject.path or "")
        return split_model_at(source, wanted, self._given, self._folder / "side")

    def _measure(self, pairs: Sequence[TensorPair]) -> None:
        folder = self._folder
        try:
            copy, asked = self._severed(pairs)
            values = self._reference_values(pairs, asked)
            samples = [self._fed(number, asked, held) for number, held in enumerate(values)]
            plain = replace(self._job, workload=Workload())
            self._run.answers.copied(plain, copy, folder / "answers", tuple(samples))
            self._compare(pairs, values)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _reference_values(
        self, pairs: Sequence[TensorPair], asked: Sequence[str]
    ) -> list[dict[str, TensorValues]]:
        """Return the reference's values of what is given and of what is wanted, and the inputs."""
        sides, folder, flow = self._run.sides, self._folder, self._run.reference_flow
        partner = {pair.candidate: pair.reference for pair in self._run.paired.pairs}
        names = [pair.reference for pair in pairs]
        names += [partner[one.removesuffix(GIVEN)] for one in asked if one.endswith(GIVEN)]
        marks = {name: flow.tensor(name) for name in names}
        chosen = sides.samples[:_SAMPLES]
        inputs = folder / "inputs"
        self._run.answers.marked(
            sides.reference, flow, marks, folder / "values", chosen, inputs_folder=str(inputs)
        )
        found = []
        for number in range(len(chosen)):
            values = outputs_by_name(folder / "values", number)
            found.append(values | outputs_by_name(inputs, number))
        return found

    def _fed(self, number: int, asked: Sequence[str], held: Mapping[str, TensorValues]) -> Sample:
        fed = self._inputs(asked, held)
        path = answer_file(self._folder, number)
        write_answers(path, fed)
        files = tuple(SampleFile(input=one.name, path=str(path)) for one in fed)
        return Sample(name=f"given {number}", files=files)

    def _inputs(self, asked: Sequence[str], held: Mapping[str, TensorValues]) -> list[TensorValues]:
        partner = {pair.candidate: pair.reference for pair in self._run.paired.pairs}
        fed = []
        for name in asked:
            plain = name.removesuffix(GIVEN)
            source = held[plain if plain == name else partner[plain]]
            own = self._run.flow.tensor(name).dtype
            dtype = own if plain == name else self._given[plain].dtype
            fed.append(_as(name, source if plain == name else self._stored(source), dtype))
        return fed

    def _stored(self, values: TensorValues) -> TensorValues:
        """Return values as the side's type holds them, whatever a runtime computes in.

        ONNX Runtime's CPU provider computes FP16 nodes in FP32 and stores only weights in FP16.
        """
        if not self.is_half or values.dtype not in _NUMPY:
            return values
        return _as(values.name, _as(values.name, values, DataType.FP16), values.dtype)

    def _compare(
        self, pairs: Sequence[TensorPair], values: Sequence[Mapping[str, TensorValues]]
    ) -> None:
        rows = dict.fromkeys((pair.tensor for pair in pairs), self._plan.tolerance)
        added = {name: TensorErrors(name, row) for name, row in rows.items()}
        stored = {name: TensorErrors(name, row) for name, row in rows.items()}
        for number, held in enumerate(values):
            answers = outputs_by_name(self._folder / "answers", number)
            for pair in pairs:
                right = held.get(pair.reference)
                if right is not None and pair.candidate in answers:
                    added[pair.tensor].add(right, self._stored(answers[pair.candidate]))
                    stored[pair.tensor].add(right, self._stored(right))
        self.added |= _figures(added)
        self.stored |= _figures(stored)


def _figures(sums: Mapping[str, TensorErrors]) -> dict[str, float]:
    """Return RMSE ÷ spread; infinite with NaN or infinities, and nothing where it is unknown."""
    found = {name: each.result() for name, each in sums.items() if each.is_compared}
    return {
        name: math.inf if one.odd else one.error or 0.0
        for name, one in found.items()
        if one.odd or one.error is not None or not one.max_abs_error
    }


def _as(name: str, values: TensorValues, dtype: DataType | None) -> TensorValues:
    """Return values under another name, in the type that the side has them in."""
    kind = _NUMPY.get(dtype) if dtype is not None else None
    data: Any = values.data
    if dtype is not None and kind is not None and values.dtype in _NUMPY:
        with np.errstate(over="ignore"):
            data = np.asarray(values.data).astype(kind)
    else:
        dtype = values.dtype
    return TensorValues(name=name, dtype=dtype or values.dtype, shape=values.shape, data=data)
