"""The steps of a search for where an error starts: marked copies, answers, their differences."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from enginescope.analysis.bisection import Bisection
from enginescope.analysis.error_growth import Bisected, cause_of, growth_of
from enginescope.analysis.output_comparison import SideComparison
from enginescope.analysis.output_tolerance import (
    Tolerance,
    ToleranceRequest,
    tolerance_for,
)
from enginescope.analysis.tensor_errors import TensorError, TensorErrors
from enginescope.analysis.tensor_pairs import TensorPair, TensorPairs, paired_tensors
from enginescope.core.errors import BackendError
from enginescope.core.record import Record
from enginescope.formats.onnx_flow import read_onnx_flow
from enginescope.formats.onnx_marks import GivenTensor
from enginescope.marked_answers import MarkedAnswers, answers_held
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.sample_set import Preprocessing, Sample
from enginescope.validation_run import Watch

#: Taken for a tensor whose size cannot be told.
_GUESSED_BYTES = 1 << 20
#: Tensors marked at once where every one marked changes what is built.
FEW_MARKS = 32
#: Marked at once where the error went away with more.
_FEWEST_MARKS = 6
#: Tensors that a runtime may refuse to give before all is taken to be in vain.
_MOST_REFUSALS = 3
#: Bytes of one sample's tensors that one marked copy gives.
_MOST_BYTES = 128 << 20


class BisectPlan(Record, frozen=True, kw_only=True):
    """What is to be searched.

    Attributes
    ----------
    label, reference_label : str
    job, reference : Job
        Of models; the side's backend is the one that is searched.
    tolerance : Tolerance
        The row whose limits hold inside the model.
    asked : ToleranceRequest
        What holds for the outputs in its place.
    fails : bool
        Whether the side's outputs are over their limits.
    folder : str
        For copies, answers and engines.
    most : int or None
        Tensors marked at once; ``None``: all.
    largest : float or None
        The largest finite number of the side's type.
    """

    label: str
    reference_label: str
    job: Job
    reference: Job
    samples: tuple[Sample, ...]
    preprocessing: Preprocessing
    tolerance: Tolerance
    asked: ToleranceRequest
    fails: bool
    folder: str
    most: int | None
    largest: float | None = None


class BisectRun:
    """Does a plan."""

    def __init__(self, plan: BisectPlan, watch: Watch) -> None:
        self._plan = plan
        self.answers = MarkedAnswers(Path(plan.folder), plan.preprocessing, watch)
        self._rounds = 0
        self._refusals: dict[str, str] = {}
        self._looks: dict[str, GivenTensor] = {}
        shapes = self.answers.input_shapes(plan.reference, plan.samples[0])
        self.reference_flow = read_onnx_flow(Path(plan.reference.subject.path or ""), shapes)
        self.flow = read_onnx_flow(Path(plan.job.subject.path or ""), shapes)
        self.paired: TensorPairs = paired_tensors(self.reference_flow, self.flow)
        self._pairs = {one.reference: one for one in self.paired.pairs}

    def find(self) -> Bisected:
        """Search, with fewer marks where the error goes away under many."""
        most, notices = self._plan.most, [*_of_cpu(self._plan)]
        if not self._pairs:
            return self._result({}, tuple(notices), gone=False)
        errors, shows = self._searched(most or len(self._pairs) or 1)
        if self._plan.fails and not shows and len(self._pairs) > _FEWEST_MARKS:
            marks = f"{most:,} tensors" if most else "all tensors"
            notices.append(_gone(f"with {marks} marked; it was looked for with few"))
            errors, shows = self._searched(_FEWEST_MARKS)
        if shows and not self._plan.fails:
            notices.append(_BY_MARKS)
        gone = self._plan.fails and not shows
        if gone:
            notices.append(_gone("with any tensors marked: marks keep the runtime from fusing"))
        notices += [_refused(name, why) for name, why in self._refusals.items()]
        return self._result(errors, tuple(notices), gone=gone)

    def _searched(self, most: int) -> tuple[dict[str, TensorError], bool]:
        search = Bisection(self.paired.pairs, most)
        errors: dict[str, TensorError] = {}
        shows = False
        while wanted := search.next({name: one.level for name, one in errors.items()}):
            before = len(errors)
            for part in self.parts(wanted):
                found, fails = self._looked_at(part)
                errors |= found
                shows = shows or fails
            for name in wanted:  # what a runtime does not give is taken for within its limits
                errors.setdefault(name, _unknown(name))
            if self._plan.fails and not shows:
                break
            if len(errors) == before:
                break
        return errors, shows

    def parts(self, wanted: Sequence[str]) -> Iterator[tuple[TensorPair, ...]]:
        """Yield what fits into one copy's answers."""
        part: list[TensorPair] = []
        size = 0
        for name in wanted:
            own = self.reference_flow.tensor(name).bytes() or _GUESSED_BYTES
            if part and size + own > _MOST_BYTES:
                yield tuple(part)
                part, size = [], 0
            part.append(self._pairs[name])
            size += own
        if part:
            yield tuple(part)

    def _looked_at(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
        """Return what `_compared` does, without the tensors that a runtime refuses to give."""
        try:
            return self._compared(pairs)
        except BackendError as error:
            if len(self._refusals) >= _MOST_REFUSALS:
                raise
            if len(pairs) == 1:
                self._refusals[pairs[0].reference] = str(error)
                return {}, False
        half = len(pairs) // 2
        first, second = self._looked_at(pairs[:half]), self._looked_at(pairs[half:])
        return first[0] | second[0], first[1] or second[1]

    def _compared(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
        """Return the errors of some tensors, and whether the outputs are over their limits."""
        plan = self._plan
        self._rounds += 1
        folder = self.answers.folder / f"round-{self._rounds}"
        ours = {one.reference: self.reference_flow.tensor(one.reference) for one in pairs}
        theirs = {one.candidate: self.flow.tensor(one.candidate) for one in pairs}
        for job, flow, marks, name in (
            (plan.reference, self.reference_flow, ours, "reference"),
            (plan.job, self.flow, theirs, "side"),
        ):
            self.answers.marked(job, flow, marks, folder / name, plan.samples)
        sums = {one.reference: TensorErrors(one.reference, plan.tolerance) for one in pairs}
        limits = partial(tolerance_for, base=plan.tolerance, asked=plan.asked)
        outputs = SideComparison(plan.label, limits)
        for number, sample in enumerate(plan.samples):
            both = [answers_held(folder / one, number) for one in ("reference", "side")]
            for one in pairs:
                a, b = both[0].get(one.reference), both[1].get(one.candidate)
                if a is not None and b is not None:
                    sums[one.reference].add(a, b)
                    self._looks[one.candidate] = GivenTensor(dtype=b.dtype, rank=len(b.shape))
            known = [
                [values for values in held.values() if values.name in flow.outputs]
                for held, flow in zip(both, (self.reference_flow, self.flow), strict=True)
            ]
            outputs.add(number, sample.name, known[0], known[1])
        shutil.rmtree(folder, ignore_errors=True)
        found = {name: one.result() for name, one in sums.items() if one.is_compared}
        return found, not outputs.result().passes

    def _result(
        self, errors: Mapping[str, TensorError], notices: tuple[Notice, ...], *, gone: bool
    ) -> Bisected:
        plan = self._plan
        steps = growth_of(self.paired.pairs, errors)
        seen = {name: one.level for name, one in errors.items()}
        first = None if gone else Bisection(self.paired.pairs, 1).first(seen)
        cause, overflowing = cause_of(steps, first, plan.largest)
        return Bisected(
            side=plan.label,
            reference=plan.reference_label,
            tolerance=plan.tolerance.name,
            limit=plan.tolerance.error_to_spread,
            peak_limit=plan.tolerance.peak_to_spread,
            largest=plan.largest,
            samples=tuple(one.name for one in plan.samples),
            steps=steps,
            tensors=len(self.paired.pairs),
            alone=self.paired.candidate_alone,
            rounds=self._rounds,
            first=first,
            cause="gone" if gone else cause,
            overflowing=overflowing,
            optimisation=optimisation_text(plan.job),
            notices=notices,
        )

    @property
    def looks(self) -> Mapping[str, GivenTensor]:
        """Type and rank of the side's tensors, as far as they were looked at."""
        return self._looks


def optimisation_text(job: Job) -> str:
    """Return how a marked copy is optimised, in words."""
    if job.backend.name.startswith("ort"):
        level = job.backend.options.get("graph_optimization_level", "all")
        return f"graph optimisation {level}, as without marks; nothing is fused across a mark"
    return "built as without marks; nothing is fused across a mark"


_BY_MARKS = Notice(
    code="W-ERROR-BY-MARKS",
    message="with tensors marked the outputs are over their limits, and without marks they are "
    "not: marks keep the runtime from fusing, and make it store what it would not",
)


def _of_cpu(plan: BisectPlan) -> tuple[Notice, ...]:
    """Say that ONNX Runtime's CPU provider is no judge of FP16."""
    if plan.job.backend.name != "ort-cpu" or plan.tolerance.name != "fp16":
        return ()
    return (
        Notice(
            code="I-FP16-ON-CPU",
            message="ONNX Runtime's CPU provider computes FP16 nodes in FP32 and leaves out casts "
            "between them: a GPU rounds more often, and overflows where this does not",
            level="info",
        ),
    )


def _gone(when: str) -> Notice:
    return Notice(code="W-ERROR-GONE", message=f"the error goes away {when}")


def _refused(name: str, why: str) -> Notice:
    return Notice(code="W-NOT-MARKED", message=f"{name} could not be looked at: {why}")


def _unknown(name: str) -> TensorError:
    return TensorError(
        tensor=name, elements=0, error=None, peak=None, max_abs_error=None, reference_peak=None
    )
