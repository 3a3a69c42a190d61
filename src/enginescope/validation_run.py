"""The steps of a comparison of answers: bindings first, then answers, then their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from enginescope.analysis.binding_check import BindingDifference, Bindings, binding_differences
from enginescope.analysis.output_comparison import SideComparison
from enginescope.analysis.output_tolerance import (
    ToleranceRequest,
    tolerance_for,
    tolerance_named,
)
from enginescope.analysis.validation import ValidatedSide, Validation
from enginescope.backends.base import Progress
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.formats.answer_files import answer_file, read_answers
from enginescope.formats.stored_answers import expected_answers, stored_answers
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import Run
from enginescope.model.sample_set import AnswerRequest, Preprocessing, Sample
from enginescope.model.tensor_values import TensorValues
from enginescope.runner.answering import answered
from enginescope.runner.input_names import check_names_among
from enginescope.validation_sides import Side, Sides, tolerance_name
from enginescope.validation_space import check_space


class Plan(Record, frozen=True, kw_only=True):
    """What is to be done.

    Attributes
    ----------
    folder : str
        For answers and inputs.
    keeps_inputs : bool
    tolerance : str or None
        A row's name; ``None``: by the precision.
    """

    sides: Sides
    samples: tuple[Sample, ...]
    preprocessing: Preprocessing
    folder: str
    keeps_inputs: bool
    tolerance: str | None
    asked: ToleranceRequest


#: Told who answers, and how far that is.
Watch = Callable[[Job, Progress | None], None]


class ValidationRun:
    """Does a plan."""

    def __init__(self, plan: Plan, watch: Watch) -> None:
        labels = [plan.sides.reference.label, *(one.label for one in plan.sides.others)]
        if len(set(labels)) < len(labels):  # their answers would lie in one folder
            raise ValueError(f"sides of one name: {labels}")
        self._plan = plan
        self._watch = watch
        self._notices: dict[tuple[str, str], Notice] = {}
        self._runs: dict[str, Run] = {}
        self._failures: dict[str, str] = {}
        self._rows: dict[str, tuple[str, str]] = {}

    @property
    def failed(self) -> bool:
        """Whether a side could not answer."""
        return bool(self._failures)

    def bindings(self) -> None:
        """Open every model and ask what it takes and gives.

        Raises
        ------
        UsageError
            A tolerance names an output that nobody gives, or a sample an input that nobody takes.
        FormatError
            A file is no model: said before anybody answers.
        """
        sides = self._plan.sides
        self._rows = {one.label: tolerance_name(one, sides.reference) for one in sides.others}
        for one in (sides.reference, *sides.others):
            if one.job is None:
                continue
            try:
                self._runs[one.label] = self._answered(one.job, one, ())
            except BackendError as error:
                if one is sides.reference:
                    raise
                self._failures[one.label] = str(error)
        self._check_names(self._outputs())
        self._check_inputs()

    def answers(self) -> None:
        """Let everyone answer the samples whose bindings allow it."""
        sides, plan = self._plan.sides, self._plan
        keeper = next((one for one in (sides.reference, *sides.others) if one.job), None)
        asked = [
            (one, one.job)
            for one in (sides.reference, *sides.others)
            if one.job and one.label not in self._failures and not self._blocked(one)
        ]
        given = [self._runs[one.label].outputs for one, _ in asked]
        check_space(Path(plan.folder), given, len(plan.samples))
        for one, job in asked:
            keeps = plan.keeps_inputs and one is keeper
            try:
                run = self._answered(job, one, plan.samples, keeps_inputs=keeps)
            except BackendError as error:
                if one is sides.reference:
                    raise
                self._failures[one.label] = str(error)
                continue
            for notice in run.notices:
                if notice.code in _ABOUT_INPUTS or notice.level == "warning":
                    self._notices.setdefault((notice.code, notice.message), notice)

    def compared(self, progress: Callable[[int], None]) -> Validation:
        """Return what the answers come to, reading one sample at a time."""
        plan, sides = self._plan, self._plan.sides
        outputs = self._outputs()
        comparisons = {}
        for one in sides.others:
            if one.label in self._failures or self._blocked(one):
                continue
            base = tolerance_named(plan.tolerance or self._rows[one.label][0])
            comparisons[one.label] = SideComparison(
                one.label, partial(tolerance_for, base=base, asked=plan.asked)
            )
        for number, sample in enumerate(plan.samples if comparisons else ()):
            progress(number)
            reference = self._reference_answers(number, sample, outputs)
            for label, comparison in comparisons.items():
                held = read_answers(answer_file(self._folder(label), number))
                comparison.add(number, sample.name, reference, held)
        described = self._runs.get(sides.reference.label) or next(iter(self._runs.values()), None)
        judged = tuple(self._side(one, comparisons.get(one.label)) for one in sides.others)
        return Validation(
            reference=sides.reference.label,
            reference_note=sides.note,
            samples=tuple(one.name for one in plan.samples),
            inputs=tuple(one.name for one in described.inputs) if described else (),
            outputs=outputs,
            sides=judged,
            notices=(*self._notices.values(), *_on_random(judged, self._drawn())),
        )

    def values_of(self, label: str, number: int, output: str) -> tuple[TensorValues, TensorValues]:
        """Return a sample's output, the reference's and a side's, while the answers are kept."""
        sample = self._plan.samples[number]
        both = (
            self._reference_answers(number, sample, self._outputs()),
            read_answers(answer_file(self._folder(label), number)),
        )
        first, second = (next(one for one in held if one.name == output) for held in both)
        return first, second

    def has_answers(self, label: str) -> bool:
        """Whether a side of this label has answered."""
        sides = (self._plan.sides.reference, *self._plan.sides.others)
        one = next(side for side in sides if side.label == label)
        return one.job is not None and label not in self._failures and not self._blocked(one)

    def answers_of(self, label: str, number: int) -> tuple[TensorValues, ...]:
        """Return what a side, or the reference, gave for a sample, while the answers are kept."""
        if label == self._plan.sides.reference.label:
            sample = self._plan.samples[number]
            return self._reference_answers(number, sample, self._outputs())
        return read_answers(answer_file(self._folder(label), number))

    def _drawn(self) -> int:
        """Return how many samples are random throughout."""
        jobs = [one.job for one in (self._plan.sides.reference, *self._plan.sides.others)]
        if any(job.workload.files for job in jobs if job is not None):
            return 0
        return sum(not (one.data_set or one.files or one.images) for one in self._plan.samples)

    def _side(self, one: Side, comparison: SideComparison | None) -> ValidatedSide:
        name, why = self._rows[one.label]
        if self._plan.tolerance is not None:
            name, why = self._plan.tolerance, "--tolerance"
        return ValidatedSide(
            label=one.label,
            tolerance=name,
            tolerance_why=why,
            bindings=self._differences(one),
            diff=comparison.result() if comparison else None,
            failure=self._failures.get(one.label),
        )

    def _answered(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> Run:
        folder = self._folder(side.label)
        request = AnswerRequest(
            samples=tuple(samples),
            folder=str(folder),
            inputs_folder=str(folder.parent / "inputs") if keeps_inputs else None,
            preprocessing=self._plan.preprocessing,
        )
        asked = msgspec.structs.replace(job, answering=request)
        self._watch(asked, None)
        return answered(asked, lambda progress: self._watch(asked, progress))

    def _folder(self, label: str) -> Path:
        """Return where a side's answers go: ``reference``, ``side-1``, …"""
        sides = self._plan.sides
        labels = [one.label for one in sides.others]
        name = "reference" if label == sides.reference.label else f"side-{labels.index(label) + 1}"
        return Path(self._plan.folder) / name

    def _differences(self, side: Side) -> tuple[BindingDifference, ...]:
        reference = self._runs.get(self._plan.sides.reference.label)
        run = self._runs.get(side.label)
        if reference is None or run is None:
            return ()
        return binding_differences(_bindings(reference), _bindings(run))

    def _blocked(self, side: Side) -> bool:
        return any(one.blocks for one in self._differences(side))

    def _outputs(self) -> tuple[str, ...]:
        run = self._runs.get(self._plan.sides.reference.label)
        run = run or next(iter(self._runs.values()), None)
        return tuple(one.name for one in run.outputs) if run else ()

    def _check_names(self, outputs: Sequence[str]) -> None:
        """Raise where a tolerance names an output that nobody gives."""
        for name in self._plan.asked.outputs():
            known = (*outputs, *(out.name for run in self._runs.values() for out in run.outputs))
            parts = tuple(f"{one}{mark}" for one in known for mark in "[.")  # of sequences, maps
            if name not in known and not name.startswith(parts):
                raise UsageError(
                    f"no output is called {name!r}", hint=did_you_mean(name, dict.fromkeys(known))
                )

    def _check_inputs(self) -> None:
        """Raise where an input is named that nobody takes: an engine had to be asked first."""
        every = (self._plan.sides.reference, *self._plan.sides.others)
        known = {one.name for run in self._runs.values() for one in run.inputs}
        if known and not self._failures:
            jobs = [one.job for one in every if one.job is not None]
            check_names_among(known, jobs, self._plan.samples)

    def _reference_answers(
        self, number: int, sample: Sample, outputs: Sequence[str]
    ) -> tuple[TensorValues, ...]:
        reference = self._plan.sides.reference
        if reference.job is not None:
            return read_answers(answer_file(self._folder(reference.label), number))
        if reference.folder is None:
            return expected_answers(sample, outputs)
        return stored_answers(Path(reference.folder), number, sample, outputs)


def _on_random(sides: Sequence[ValidatedSide], random: int) -> Iterator[Notice]:
    """Yield that a quantised model fails on inputs that it was not calibrated for."""
    failing = [one.label for one in sides if one.tolerance in _CALIBRATED and not one.passes]
    if failing and random:
        yield Notice(
            code="W-RANDOM-SAMPLES",
            message=f"{random:,} samples are random, which is not what a quantised model was "
            f"calibrated for; --data with real ones says more of {', '.join(failing)}",
            evidence={"random": random, "sides": failing},
        )


#: Rows of precisions whose ranges come from data.
_CALIBRATED = frozenset({"int8", "fp8", "fp4"})
#: Notices of a worker that are of use here.
_ABOUT_INPUTS = frozenset({"I-DYNAMIC-SHAPE", "W-DYNAMIC-SHAPE"})


def _bindings(run: Run) -> Bindings:
    return Bindings(inputs=run.inputs, outputs=run.outputs)
