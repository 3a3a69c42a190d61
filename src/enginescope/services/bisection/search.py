"""The steps of a search for where an error starts: marked copies, answers, their differences."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import field

from enginescope.analysis.accuracy.binding_check import renamed
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.bisection import error_growth
from enginescope.analysis.bisection.tensor_pairs import (
    TensorError,
    TensorErrors,
    TensorPair,
    TensorPairs,
    paired_tensors,
)
from enginescope.analysis.bisection.tensor_ranges import KnownTensor, beyond_range, known_tensor
from enginescope.analysis.errors.output_tolerance import Tolerance, ToleranceRequest, tolerance_for
from enginescope.core.errors import BackendError, DiskFullError
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_copies import GivenTensor
from enginescope.formats.onnx.onnx_graph import FlowTensor, read_onnx_flow
from enginescope.formats.onnx.onnx_precision import large_weights
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.sample_set import Preprocessing, Sample
from enginescope.services.accuracy.validation_run import RunSamples, Watch, collect_outputs
from enginescope.services.bisection.branches import IntermediateOutputs, outputs_by_name, unfolded

#: Taken for a tensor whose size cannot be told.
_GUESSED_BYTES = 1 << 20
#: Tensors marked at once where every one marked changes what is built.
FEW_MARKS = 32
#: Marked at once where the error went away with more.
_FEWEST_MARKS = 6
#: Tensors that a runtime may refuse to give before all is taken to be in vain.
_MOST_REFUSALS = 3
#: Names that a notice lists.
_SHOWN = 3
#: Bytes of one sample's tensors that one marked copy gives.
_MOST_BYTES = 128 << 20


class BisectPlan(Record, frozen=True, kw_only=True):
    """What is to be searched.

    Attributes:
        job, reference: Of models; the side's backend is the one that is searched.
        tolerance: The row whose limits hold inside the model.
        asked: What holds for the outputs in its place.
        output_names: Outputs of the side -> outputs of the reference.
        fails: Whether the side's outputs are over their limits.
        folder: For copies, outputs and engines.
        most: Tensors marked at once; ``None``: all.
        largest: The largest finite number of the side's type.
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
    output_names: dict[str, str] = field(default_factory=dict)
    run_samples: RunSamples = collect_outputs


class BisectRun:
    """Does a plan."""

    def __init__(self, plan: BisectPlan, watch: Watch) -> None:
        self._plan = plan
        self.answers = IntermediateOutputs(
            Path(plan.folder), plan.preprocessing, watch, plan.run_samples
        )
        self._rounds = 0
        self._refusals: dict[str, str] = {}
        #: Type and rank of the side's tensors, as far as they were looked at.
        self.looks: dict[str, GivenTensor] = {}
        self.sides = unfolded(plan.job, plan.reference, plan.samples, self.answers)
        shapes = self.answers.input_shapes(self.sides.reference, self.sides.samples[0])
        self.reference_flow = read_onnx_flow(_model(self.sides.reference), shapes)
        self.flow = read_onnx_flow(_model(self.sides.job), shapes)
        self.paired: TensorPairs = paired_tensors(self.reference_flow, self.flow)
        self._pairs = {pair.tensor: pair for pair in self.paired.pairs}
        self._known: dict[str, KnownTensor] = {}
        self.beyond: tuple[error_growth.BeyondRange, ...] = ()

    def find(self) -> error_growth.Bisected:
        """Search, with fewer marks where the error goes away under many."""
        most, notices = self._plan.most, [*self.sides.notices]
        if self._plan.job.backend.is_cpu and self._plan.tolerance.name == "fp16":
            notices.insert(0, FP16_ON_CPU)
        if not self._pairs:
            return self._result({}, tuple(notices), gone=False)
        self._survey()
        errors, shows = self._searched(most or len(self._pairs) or 1)
        if self._plan.fails and not shows and len(self._pairs) > _FEWEST_MARKS:
            marks = f"{most:,} tensors" if most else "all tensors"
            notices.append(_gone(f"with {marks} marked; a second search marked few at a time"))
            few, shows = self._searched(_FEWEST_MARKS)
            errors = few if shows else errors
        if shows and not self._plan.fails:
            notices.append(_BY_MARKS)
        gone = self._plan.fails and not shows
        if gone:
            notices.append(_gone("with any tensors marked: marks keep the runtime from fusing"))
        notices += [
            Notice(code="W-NOT-MARKED", message=f"{name} could not be compared: {why}")
            for name, why in self._refusals.items()
        ]
        return self._result(errors, tuple(notices), gone=gone)

    def _survey(self) -> None:
        """Run the reference alone: types, shapes, and what the side's type cannot hold.

        What ONNX cannot infer is known from here on. Tensors that turn out to be integers leave.
        """
        plan, sides = self._plan, self.sides
        known: dict[str, KnownTensor] = {}
        for at, part in enumerate(self.parts(list(self._pairs))):
            folder = self.answers.folder / f"survey-{at}"
            marks = {pair.reference: self.reference_flow.tensor(pair.reference) for pair in part}
            self.answers.marked(sides.reference, self.reference_flow, marks, folder, sides.samples)
            for number in range(len(sides.samples)):
                for values in outputs_by_name(folder, number).values():
                    known[values.name] = known_tensor(values, known.get(values.name))
            shutil.rmtree(folder, ignore_errors=True)
        self._known = known
        self._pairs = {
            name: pair
            for name, pair in self._pairs.items()
            if pair.reference not in known or known[pair.reference].is_float
        }
        if plan.largest is not None:
            weights = large_weights(_model(sides.job), plan.largest)
            self.beyond = beyond_range(tuple(self._pairs.values()), known, weights, plan.largest)

    def _searched(self, most: int) -> tuple[dict[str, TensorError | None], bool]:
        search = error_growth.Bisection(self.paired.pairs, most)
        errors: dict[str, TensorError | None] = {}
        shows = False
        while True:
            seen = {name: error.share if error else None for name, error in errors.items()}
            wanted = [name for name in search.next(seen) if name in self._pairs]
            if not wanted:
                break
            for part in self.parts(wanted):
                found, fails = self._looked_at(part)
                errors |= found
                shows = shows or fails
            for name in wanted:
                errors.setdefault(name, None)
            if self._plan.fails and not shows:
                break
        return errors, shows

    def parts(self, wanted: Sequence[str]) -> Iterator[tuple[TensorPair, ...]]:
        """Yield what fits into one copy's answers."""
        part: list[TensorPair] = []
        size = 0
        for name in wanted:
            pair = self._pairs[name]
            surveyed = self._known.get(pair.reference)
            own = surveyed.bytes if surveyed else self.reference_flow.tensor(pair.reference).bytes()
            own = own or _GUESSED_BYTES
            if part and size + own > _MOST_BYTES:
                yield tuple(part)
                part, size = [], 0
            part.append(pair)
            size += own
        if part:
            yield tuple(part)

    def _looked_at(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
        try:
            return self._compared(pairs)
        except BackendError as error:
            if isinstance(error, DiskFullError) or len(self._refusals) >= _MOST_REFUSALS:
                raise
            if len(pairs) == 1:
                self._refusals[pairs[0].tensor] = str(error)
                return {}, False
        half = len(pairs) // 2
        first, second = self._looked_at(pairs[:half]), self._looked_at(pairs[half:])
        return first[0] | second[0], first[1] or second[1]

    def _compared(self, pairs: Sequence[TensorPair]) -> tuple[dict[str, TensorError], bool]:
        plan, sides = self._plan, self.sides
        self._rounds += 1
        folder = self.answers.folder / f"round-{self._rounds}"
        ours = {pair.reference: self.reference_flow.tensor(pair.reference) for pair in pairs}
        theirs = {pair.candidate: self.typed(pair) for pair in pairs}
        copies = (
            (sides.reference, self.reference_flow, ours, folder / "reference"),
            (sides.job, self.flow, theirs, folder / "side"),
        )
        for job, flow, marks, place in copies:
            self.answers.marked(job, flow, marks, place, sides.samples)
        sums = {pair.tensor: TensorErrors(pair.tensor, plan.tolerance) for pair in pairs}
        limits = partial(tolerance_for, base=plan.tolerance, asked=plan.asked)
        outputs = SideComparison(plan.label, limits)
        for number, sample in enumerate(sides.samples):
            both = [outputs_by_name(place, number) for *_, place in copies]
            for pair in pairs:
                a, b = both[0].get(pair.reference), both[1].get(pair.candidate)
                if a is not None and b is not None:
                    sums[pair.tensor].add(a, b)
                    self.looks[pair.candidate] = GivenTensor(dtype=b.dtype, rank=len(b.shape))
            known = [
                [of for name, of in values.items() if name in flow.outputs or name not in marks]
                for values, (_, flow, marks, _) in zip(both, copies, strict=True)
            ]
            outputs.add(number, sample.name, known[0], renamed(known[1], plan.output_names))
        shutil.rmtree(folder, ignore_errors=True)
        found = {name: each.result() for name, each in sums.items() if each.is_compared}
        return found, not outputs.result().passes

    def typed(self, pair: TensorPair) -> FlowTensor:
        """Return a tensor of the side, with what the reference's run says of its type and shape."""
        own = self.flow.tensor(pair.candidate)
        known = self._known.get(pair.reference)
        if known is None:
            return own
        shape = own.shape if own.shape is not None else known.shape
        return FlowTensor(dtype=own.dtype or known.dtype, shape=shape)

    def _result(
        self, looked: Mapping[str, TensorError | None], notices: tuple[Notice, ...], *, gone: bool
    ) -> error_growth.Bisected:
        plan = self._plan
        errors = {name: error for name, error in looked.items() if error is not None}
        missing = tuple(name for name, error in looked.items() if error is None)
        silent = [name for name in missing if name not in self._refusals]
        if silent:
            shown = ", ".join(silent[:_SHOWN]) + (" …" if len(silent) > _SHOWN else "")
            notice = Notice(
                code="W-NOT-COMPARED",
                message=f"{len(silent):,} tensors were not compared, because a marked copy did not "
                f"return them or they are empty: {shown}; the error can start there too",
                evidence={"tensors": silent},
            )
            notices = (*notices, notice)
        found = error_growth.Bisected(
            side=plan.label,
            reference=plan.reference_label,
            tolerance=plan.tolerance.name,
            limit=plan.tolerance.error_to_spread,
            peak_limit=plan.tolerance.peak_to_spread,
            largest=plan.largest,
            samples=tuple(sample.name for sample in self.sides.samples),
            steps=error_growth.growth_of(self.paired.pairs, errors),
            tensors=len(self._pairs),
            alone=self.paired.candidate_alone,
            rounds=self._rounds,
            cause="gone" if gone else "within",
            beyond=self.beyond,
            not_compared=missing,
            optimisation=optimisation_text(plan.job),
            notices=notices,
        )
        return error_growth.started(found)


def _model(job: Job) -> Path:
    return Path(job.subject.path or "")


def optimisation_text(job: Job) -> str:
    """Return how a marked copy is optimized, in words."""
    if job.backend.name.startswith("ort"):
        level = job.backend.options.get("graph_optimization_level", "all")
        return f"graph optimization {level}, as without marks; nothing is fused across a mark"
    return "built as without marks; nothing is fused across a mark"


_BY_MARKS = Notice(
    code="W-ERROR-BY-MARKS",
    message="with tensors marked the outputs exceed their limits, and without marks they do not: "
    "marks keep the runtime from fusing layers, and make it store more tensors",
)


#: ONNX Runtime's CPU provider is not a judge of FP16.
FP16_ON_CPU = Notice(
    code="I-FP16-ON-CPU",
    message="ONNX Runtime's CPU provider computes FP16 nodes in FP32 and skips casts between them: "
    "a GPU rounds more often and can overflow where the CPU does not",
)


def _gone(when: str) -> Notice:
    return Notice(code="W-ERROR-GONE", message=f"the error disappears {when}")
