"""The steps of a comparison of answers: bindings first, then answers, then their differences."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from enginescope.analysis.accuracy.binding_check import (
    BindingDifference,
    Bindings,
    OutputPairing,
    binding_differences,
    renamed,
)
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import SideDiff
from enginescope.analysis.errors.output_tolerance import (
    Tolerance,
    ToleranceRequest,
    tolerance_for,
    tolerance_named,
)
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.core.units import format_bytes
from enginescope.formats.tensors.tensor_files import (
    answer_file,
    expected_answers,
    read_answers,
    read_skipped,
    stored_answers,
)
from enginescope.judge.notice import Notice
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run, TensorValues
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample, SkippedSample
from enginescope.records.tensor import Tensor
from enginescope.runner.inputs.collect_outputs import answered
from enginescope.runner.inputs.sample_feeds import check_names_among
from enginescope.services.accuracy.sides import RoundedReference, Side, Sides, tolerance_name

#: Gets the job that runs and its progress; ``None``: its process starts.
Watch = Callable[[Job, Progress | None], None]
#: Runs a job on samples in a fresh process; the outputs go into the folder of the request.
RunSamples = Callable[[Job, AnswerRequest, Watch], Run]
#: Gets a side, what is asked of it, and a function that collects its outputs in a fresh process.
Collect = Callable[[Side, AnswerRequest, Callable[[], Run]], Run]


def collect_outputs(job: Job, request: AnswerRequest, watch: Watch) -> Run:
    """Run a job on samples in a fresh process; its outputs go into ``request.folder``."""
    asked = replace(job, answering=request)
    watch(asked, None)
    return answered(asked, lambda progress: watch(asked, progress))


def compare_folders(
    label: str,
    samples: Sequence[Sample],
    folders: tuple[Path, Path],
    base: Tolerance,
    asked: ToleranceRequest = ToleranceRequest(),  # noqa: B008 - it is immutable
    names: Mapping[str, str] | None = None,
) -> SideDiff:
    """Compare a side's outputs with a reference's, sample by sample; `names`: side -> reference."""
    comparison = SideComparison(label, partial(tolerance_for, base=base, asked=asked))
    for number, sample in enumerate(samples):
        ours, theirs = (read_answers(answer_file(folder, number)) for folder in folders)
        comparison.add(number, sample.name, ours, renamed(theirs, names or {}))
    return comparison.result()


class Plan(Record, frozen=True, kw_only=True):
    """What is to be done.

    Attributes:
        folder: For outputs and inputs.
        tolerance: A row's name; ``None``: by the precision.
        output_names: Outputs of sides -> outputs of the reference that they are compared with.
        fail_fast: End with the first sample or target that cannot be read, instead of skipping it.
        allow_nothing_compared: Whether an output passes of which no element could be compared.
        run_samples: Runs jobs of intermediate tensors.
    """

    sides: Sides
    samples: tuple[Sample, ...]
    folder: str
    preprocessing: Preprocessing = Preprocessing()
    keeps_inputs: bool = False
    tolerance: str | None = None
    asked: ToleranceRequest = ToleranceRequest()
    output_names: dict[str, str] = msgspec.field(default_factory=dict)
    fail_fast: bool = False
    allow_nothing_compared: bool = False
    run_samples: RunSamples = collect_outputs


class ValidationRun:
    """Executes a plan.

    `collect` wraps the collection of each side's outputs: it may put stored ones into
    ``request.folder``. Sides of one key, `alike`, are asked once for their inputs and outputs.
    """

    def __init__(
        self,
        plan: Plan,
        watch: Watch = lambda _job, _progress: None,
        collect: Collect | None = None,
        alike: Callable[[Side], object] = lambda side: side.label,
    ) -> None:
        labels = [side.label for side in plan.sides.every]
        if len(set(labels)) < len(labels):  # their outputs would lie in one folder
            raise ValueError(f"sides of one name: {labels}")
        self._plan, self._watch = plan, watch
        self._collect = collect or (lambda _side, _request, run: run())
        self._alike = alike
        self._notices: dict[tuple[str, str], Notice] = {}
        self._runs: dict[str, Run] = {}
        self._failures: dict[str, BackendError] = {}
        self._skipped: dict[int, SkippedSample] = {}
        self._rows: dict[str, tuple[str, str]] = {}
        self._rounded: RoundedReference | None = None

    def bindings(self, *, reference_last: bool = False) -> None:
        """Open every model and ask what it takes and gives."""
        sides = self._plan.sides
        self._rows = {other.label: tolerance_name(other, sides.reference) for other in sides.others}
        known: dict[object, Run] = {}
        for one in sides.every[::-1] if reference_last else sides.every:
            if one.job is None:
                continue
            try:
                run = known.get(self._alike(one)) or self._answered(one.job, one, ())
                self._runs[one.label] = known[self._alike(one)] = run
            except BackendError as error:
                if one is sides.reference:
                    raise
                self._failures[one.label] = error
        self._check_names()

    def answers(self) -> None:
        """Let everyone answer the samples whose bindings allow it."""
        sides, plan = self._plan.sides, self._plan
        keeper = next((one for one in sides.every if one.job), None)
        asked = [
            (one, one.job)
            for one in sides.every
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
                self._failures[one.label] = error
                continue
            skipped = read_skipped(self._folder(one.label))
            self._skipped |= {each.sample: each for each in skipped}
            for notice in run.notices:
                if notice.code in _ABOUT_INPUTS or notice.level == "warning":
                    self._notices.setdefault((notice.code, notice.message), notice)
        self._round([one for one, _ in asked])

    def _round(self, answered: Sequence[Side]) -> None:
        plan = self._plan
        rows = [self._row(one) for one in answered if one.label in self._rows]
        if plan.asked.in_place_of_rows() is not None or not rows:
            return  # the user's limits for all outputs leave nothing to the rows
        self._rounded = RoundedReference(plan.sides.reference, rows, Path(plan.folder))
        self._rounded.run(
            lambda job, folder: collect_outputs(
                job, self._request(folder, plan.samples), self._watch
            )
        )

    def _row(self, side: Side) -> str:
        return self._plan.tolerance or self._rows[side.label][0]

    def compared(self, progress: Callable[[int], None]) -> Validation:
        """Return what the outputs come to, reading one sample at a time."""
        plan, sides = self._plan, self._plan.sides
        outputs = self._outputs()
        comparisons: dict[str, SideComparison] = {}
        pairings: dict[str, OutputPairing] = {}
        for other in sides.others:
            if other.label in self._failures or self._blocked(other):
                continue
            base = tolerance_named(self._row(other))
            comparisons[other.label] = SideComparison(
                other.label,
                partial(tolerance_for, base=base, asked=plan.asked),
                allow_nothing=plan.allow_nothing_compared,
            )
            pairings[other.label] = OutputPairing()
        for number, sample in enumerate(plan.samples if comparisons else ()):
            progress(number)
            if number in self._skipped:
                continue
            reference = self._reference_answers(number)
            rounded = {
                row: self._rounded.outputs(row, number) if self._rounded else []
                for row in {self._row(side) for side in sides.others}
            }
            for side in sides.others:
                if side.label not in comparisons:
                    continue
                answers = self._side_answers(side.label, number)
                comparison = comparisons[side.label]
                comparison.add(number, sample.name, reference, answers, rounded[self._row(side)])
                pairings[side.label].add(reference, answers)
        if self._rounded is not None:
            self._rounded.close()
            self._notices |= {(one.code, one.message): one for one in self._rounded.notices}
        described = self._runs.get(sides.reference.label) or next(iter(self._runs.values()), None)
        judged = tuple(
            self._side(other, comparisons.get(other.label), pairings.get(other.label))
            for other in sides.others
        )
        return Validation(
            reference=sides.reference.label,
            reference_note=sides.note,
            samples=tuple(one.name for one in plan.samples),
            inputs=tuple(one.name for one in described.inputs) if described else (),
            outputs=outputs,
            sides=judged,
            notices=(
                *self._notices.values(),
                *_on_skipped(self.skipped, len(plan.samples)),
                *_on_random(judged, self._drawn()),
            ),
            skipped=self.skipped,
        )

    @property
    def fails_fast(self) -> bool:
        """Whether the first sample or target that cannot be read ends the comparison."""
        return self._plan.fail_fast

    @property
    def skipped(self) -> tuple[SkippedSample, ...]:
        """The samples whose files cannot be read, in order."""
        return tuple(self._skipped[number] for number in sorted(self._skipped))

    def values_of(self, label: str, number: int, output: str) -> tuple[TensorValues, TensorValues]:
        """Return a sample's output, the reference's and a side's, while the outputs are kept."""
        both = self._reference_answers(number), self._side_answers(label, number)
        first, second = (next(one for one in held if one.name == output) for held in both)
        return first, second

    def has_answers(self, label: str) -> bool:
        one = next(side for side in self._plan.sides.every if side.label == label)
        return one.job is not None and label not in self._failures and not self._blocked(one)

    def answers_of(self, label: str, number: int) -> tuple[TensorValues, ...]:
        """Return what a side, or the reference, gave for a sample, while the outputs are kept."""
        if label == self._plan.sides.reference.label:
            return self._reference_answers(number)
        return self._side_answers(label, number)

    def _side_answers(self, label: str, number: int) -> tuple[TensorValues, ...]:
        """Return a side's outputs of a sample, under the names that the plan maps them to."""
        answers = read_answers(answer_file(self._folder(label), number))
        return renamed(answers, self._plan.output_names)

    def _drawn(self) -> int:
        if any(side.job.workload.files for side in self._plan.sides.every if side.job):
            return 0
        return sum(not (one.data_set or one.files or one.images) for one in self._plan.samples)

    def _side(
        self, one: Side, comparison: SideComparison | None, pairing: OutputPairing | None
    ) -> ValidatedSide:
        name, why = self._rows[one.label]
        if self._plan.tolerance is not None:
            name, why = self._plan.tolerance, "requested"
        failure = self._failures.get(one.label)
        return ValidatedSide(
            label=one.label,
            tolerance=name,
            tolerance_why=why,
            bindings=self._differences(one),
            diff=comparison.result() if comparison else None,
            failure=str(failure) if failure else None,
            hint=failure.hint if failure else None,
            suggested_pairs=pairing.pairs() if pairing else (),
        )

    def _answered(
        self, job: Job, side: Side, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> Run:
        request = self._request(self._folder(side.label), samples, keeps_inputs=keeps_inputs)
        return self._collect(side, request, lambda: collect_outputs(job, request, self._watch))

    def _request(
        self, folder: Path, samples: Sequence[Sample], *, keeps_inputs: bool = False
    ) -> AnswerRequest:
        return AnswerRequest(
            samples=tuple(samples),
            folder=str(folder),
            inputs_folder=str(folder.parent / "inputs") if keeps_inputs else None,
            skips_unreadable=not self._plan.fail_fast,
            preprocessing=self._plan.preprocessing,
        )

    def _folder(self, label: str) -> Path:
        sides = self._plan.sides
        labels = [other.label for other in sides.others]
        name = "reference" if label == sides.reference.label else f"side-{labels.index(label) + 1}"
        return Path(self._plan.folder) / name

    def _differences(self, side: Side) -> tuple[BindingDifference, ...]:
        reference = self._runs.get(self._plan.sides.reference.label)
        run = self._runs.get(side.label)
        if reference is None or run is None:
            return ()
        return binding_differences(
            bindings_of(reference), bindings_of(run, self._plan.output_names)
        )

    def _blocked(self, side: Side) -> bool:
        return any(difference.blocks for difference in self._differences(side))

    def _outputs(self) -> tuple[str, ...]:
        run = self._runs.get(self._plan.sides.reference.label)
        if run is not None:
            return tuple(output.name for output in run.outputs)
        first = next(iter(self._runs.values()), None)
        names = self._plan.output_names
        return tuple(output.name for output in bindings_of(first, names).outputs) if first else ()

    def _check_names(self) -> None:
        plan, label = self._plan, self._plan.sides.reference.label
        sides = [run for name, run in self._runs.items() if name != label]
        if sides and not self._failures:
            check_output_names(plan.output_names, sides, self._runs.get(label))
        renamed_sides = [bindings_of(one, plan.output_names) for one in sides]
        given = [output.name for side in renamed_sides for output in side.outputs]
        check_tolerance_names(plan.asked, (*self._outputs(), *given))
        known = {one.name for run in self._runs.values() for one in run.inputs}
        if known and not self._failures:
            jobs = [side.job for side in plan.sides.every if side.job is not None]
            check_names_among(known, jobs, plan.samples)

    def _reference_answers(self, number: int) -> tuple[TensorValues, ...]:
        reference = self._plan.sides.reference
        if reference.job is not None:
            return read_answers(answer_file(self._folder(reference.label), number))
        sample, outputs = self._plan.samples[number], self._outputs()
        if reference.folder is None:
            return expected_answers(sample, outputs)
        return stored_answers(Path(reference.folder), number, sample, outputs)


def _on_skipped(skipped: Sequence[SkippedSample], count: int) -> Iterator[Notice]:
    if not skipped:
        return
    shown = "; ".join(f"{one.name} ({one.why})" for one in skipped[:_MOST_NAMED])
    more = f"; and {len(skipped) - _MOST_NAMED:,} more" if len(skipped) > _MOST_NAMED else ""
    yield Notice(
        code="W-SKIPPED-SAMPLES",
        message=f"{len(skipped):,} of {count:,} samples cannot be read and were skipped: "
        f"{shown}{more}",
        evidence={"skipped": len(skipped), "samples": count},
    )


def _on_random(sides: Sequence[ValidatedSide], random: int) -> Iterator[Notice]:
    """Yield that a quantized model fails on inputs that it was not calibrated for."""
    failing = [side.label for side in sides if side.tolerance in _CALIBRATED and not side.passes]
    if failing and random:
        yield Notice(
            code="W-RANDOM-SAMPLES",
            message=f"{random:,} samples are random, and a quantized model is calibrated for other "
            f"data; use --data with real samples for {', '.join(failing)}",
            evidence={"random": random, "sides": failing},
        )


#: Skipped samples that a notice names.
_MOST_NAMED = 3
#: Rows of precisions whose ranges come from data.
_CALIBRATED = frozenset({"int8", "fp8", "fp4"})
#: Notices of a worker that are of use here.
_ABOUT_INPUTS = frozenset({"I-DYNAMIC-SHAPE", "W-DYNAMIC-SHAPE"})


def bindings_of(run: Run, names: Mapping[str, str] | None = None) -> Bindings:
    """Return what a model takes and gives, its outputs under the names they are mapped to."""
    mapped = names or {}
    outputs = (replace(one, name=mapped.get(one.name, one.name)) for one in run.outputs)
    return Bindings(inputs=run.inputs, outputs=tuple(outputs))


def check_output_names(
    names: Mapping[str, str], sides: Sequence[Run], reference: Run | None
) -> None:
    """Raise where `names` (side -> reference) has an output that does not exist, or one twice.

    The names of a reference in files (``None``) are not known yet.
    """
    known = [output.name for run in sides for output in run.outputs]
    wanted = [output.name for output in reference.outputs] if reference else list(names.values())
    for name, target in names.items():
        for one, there, who in ((name, known, "no side"), (target, wanted, "the reference")):
            if one not in there:
                raise UsageError(
                    f"map {name}={target}",
                    why=f"{who} has {'an' if who == 'no side' else 'no'} output called {one!r}",
                    hint=did_you_mean(one, dict.fromkeys(there)),
                )
    for run in sides:
        outputs = [output.name for output in bindings_of(run, names).outputs]
        twice = next((output for output in outputs if outputs.count(output) > 1), None)
        if twice is not None:
            why = f"{run.job.subject.name} would have {outputs.count(twice)} outputs of that name"
            raise UsageError(f"map of outputs to {twice}", why=why)


def check_tolerance_names(asked: ToleranceRequest, known: Sequence[str]) -> None:
    """Raise where a tolerance names an output that nobody gives."""
    for name in asked.outputs():
        parts = tuple(f"{one}{mark}" for one in known for mark in "[.")  # of sequences, maps
        if name not in known and not name.startswith(parts):
            hint = did_you_mean(name, dict.fromkeys(known))
            raise UsageError(f"no output is called {name!r}", hint=hint)


def check_space(folder: Path, sides: Iterable[Iterable[Tensor]], samples: int) -> None:
    """Raise if the outputs to so many samples do not fit on the disk of `folder`.

    A dimension that is not known counts as 1, a type or shape that is not known as nothing: the
    outputs need no less.
    """
    known = [
        replace(output, shape=tuple(1 if dim is None else dim for dim in output.shape))
        for outputs in sides
        for output in outputs
        if output.shape is not None
    ]
    needed = samples * sum(output.nbytes or 0 for output in known)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UsageError(
            f"outputs for {samples:,} samples",
            why=f"they need {format_bytes(needed)} or more in {folder}, "
            f"{format_bytes(free)} are free",
            hint="TMPDIR or `output` on another disk, or fewer `samples`",
        )
