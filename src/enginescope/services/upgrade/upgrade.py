"""``upgrade``: may a new stack of software below the models be used?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.upgrade.rows import (
    LibraryMemory,
    failed_row,
    is_settled,
    latency_limit_pct,
    layer_differences,
    look_confidence,
    metric_rows,
    open_row,
    untimed_row,
    without_wins,
)
from enginescope.analysis.verdicts import job_identity
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import process_value
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredSide,
    compare_sides,
)
from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.experiment import Ended
from enginescope.records.run.job import Job, Limits, StopRule, Workload
from enginescope.records.run.rounds import comparison_id
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import InconclusivePolicy, Limit
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    UPGRADE_LIMITS,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReason,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.accuracy.request import SIDE_LIMITS, SampleRequest, ValidateRequest
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import JobRequest, jobs_of
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, looks_up_to, run_rounds
from enginescope.services.store_access import made_now, place_of, stored_fields
from enginescope.services.upgrade.evidence import (
    MOST_BYTES,
    KeptOutputs,
    check_evidence_folder,
    recorded_side,
    side_of_bundle,
    write_evidence,
)
from enginescope.services.upgrade.request import (
    REPEATS,
    UpgradeRequest,
    check_upgrade_request,
    specs_of,
)
from enginescope.services.upgrade.stacks import (
    NEW,
    OLD,
    ComparedOutputs,
    StackRunner,
    compare_outputs,
    is_own,
    no_outputs,
    on_stack,
    parse_stack,
    with_versions,
)
from enginescope.services.verdicts.run_selection import resolve_runs
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS, SPREADS


def check_upgrade(request: UpgradeRequest, observer: MeasurementObserver) -> UpgradeReport:
    """Check an upgrade: outputs first, then figures, model by model; it raises as `upgrade`."""
    request = replace(request, workload=paced_workload(request.workload))
    if request.evidence is None:
        return checked_upgrade(request, observer)[0]
    check_upgrade_request(request)
    check_evidence_folder(request.evidence)
    with temporary_folder() as folder:
        kept = KeptOutputs(folder, 0 if request.without_inputs else MOST_BYTES)
        report, runs = checked_upgrade(request, observer, kept)
        write_evidence(request, report, runs, (folder, kept.models))
    return report


def checked_upgrade(
    request: UpgradeRequest, observer: MeasurementObserver, kept: KeptOutputs | None = None
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    """Return the report of an upgrade and the runs of both stacks; writes no evidence.

    Args:
        kept: Gets the outputs of each model.
    """
    check_upgrade_request(request)
    store = Store(place_of(request.store))
    if request.models:
        _check_stacks(request)
        store.check_writable()
        stacks = parse_stack(request.old, OLD), parse_stack(request.new or sys.executable, NEW)
        if stacks[0].name == stacks[1].name:
            raise UsageError(f"two stacks of one name: {stacks[0].name}", hint="`new` b=PYTHON")
        old, new = map(with_versions, stacks)
        checks = _Checks(request, (old, new), store, observer, kept)
        models = tuple(checks.all_checked())
        runs = tuple(store.load_id(run) for model in models for run in (*model.old, *model.new))
    else:
        old, new = Stack(name=request.old), Stack(name=request.new or "")
        pairs = _recorded_pairs(old.name, new.name, store, observer)
        models = compare_recorded(pairs, request.regressions, store, observer)
        both = (run for pair in pairs for job in (pair.a, pair.b) if job for run in job.runs)
        runs = tuple({run.id: run for run in both}.values())
    report = copied(
        UpgradeReport,
        request,
        old=old,
        new=new,
        models=models,
        limits=request.regressions,
        **made_now(request.command),
    )
    return report, runs


def _check_stacks(request: UpgradeRequest) -> None:
    for name in (request.old, request.new or ""):
        if side_of_bundle(name):
            raise UsageError(
                f"side {name}",
                why="its runs are recorded, and models are measured on two stacks",
                hint="enginescope bench MODEL --tag today, then upgrade without models",
            )


class _Checks:
    """Checks models one after another."""

    def __init__(
        self,
        request: UpgradeRequest,
        stacks: tuple[Stack, Stack],
        store: Store,
        observer: MeasurementObserver,
        kept: KeptOutputs | None,
    ) -> None:
        self._request, self._stacks = request, stacks
        self._store, self._observer, self._kept = store, observer, kept
        self._runner = StackRunner(stacks, request.command)
        self._specs = specs_of(request.backends, stacks)

    def all_checked(self) -> Iterator[UpgradedModel]:
        """Yield every model; after an interrupt those before it, if there is any."""
        for number, model in enumerate(self._request.models):
            try:
                yield self._checked(model)
            except (KeyboardInterrupt, SystemExit) as error:
                if not number:
                    raise
                self._observer.interrupted(error)
            if self._observer.interruption is not None:
                return

    def _checked(self, model: Path) -> UpgradedModel:
        request = self._request
        self._observer.check_cancelled()
        self._observer.stands(f"{model.name} …")
        if self._kept is not None:
            self._kept.start_model()
        specs = self._specs or (usual_backend(model), usual_backend(model))
        outputs = self._outputs(model, specs)
        row = outputs.row
        result = UpgradedModel(
            model=subject_of(model).name,
            backend=" and ".join(dict.fromkeys(specs)),
            rows=(row, untimed_row(row, latency_limit_pct(request.regressions))),
            reference=outputs.reference,
            repeats=request.repeats if outputs.reference else 0,
            notices=outputs.notices,
        )
        if row.kind is UpgradeKind.SAFE or row.reason == UpgradeReason.NO_OUTPUTS.value:
            result = self._timed(model, specs, result)
        self._observer.stands(f"{result.model}: {result.kind.value}")
        return result

    def _outputs(self, model: Path, specs: tuple[str, str]) -> ComparedOutputs:
        request = self._request
        for backend in map(read_spec, specs):
            if not isinstance(load_backend(backend.name), Answering):
                return no_outputs(backend)
        first, second = (
            copied(
                ValidateRequest,
                request,
                models=(model,),
                on=(spec,),
                is_elsewhere=not is_own(stack),
                limits=request.limits or SIDE_LIMITS,
            )
            for spec, stack in zip(specs, self._stacks, strict=True)
        )
        return compare_outputs(
            (first, second),
            self._stacks,
            request.repeats,
            self._runner,
            self._observer.process_started,
            self._kept,
        )

    def _timed(self, model: Path, specs: tuple[str, str], untimed: UpgradedModel) -> UpgradedModel:
        request = self._request
        job_request = request.jobs(model, rebuild=request.builds is not None)
        jobs = _stacked(job_request, specs, self._stacks, self._store)
        terms = _terms(request.regressions, len(request.models), self._store, self._observer)
        result = run_rounds(
            jobs,
            looks_up_to(request.builds or request.rounds or LOOKS[-1]),
            terms,
            job_request,
            self._store,
            self._observer,
            pacing=Pacing(builds_each=request.builds is not None, run=self._runner.run_jobs),
            is_decided=is_settled,
        )
        comparison = None if result.ended is Ended.GIVEN_UP else result.comparison

        def library() -> LibraryMemory:
            if subject_of(model).kind != "onnx":
                return {}
            self._observer.process_started("memory of the runtimes by themselves")
            return library_memory(request, specs, self._stacks, self._runner, self._store)

        timed = _with_figures(
            untimed, result.sides, comparison, request.regressions, terms, library
        )
        return replace(timed, comparison=comparison_id([side.runs for side in result.sides]))


def _stacked(
    request: JobRequest, specs: tuple[str, str], stacks: tuple[Stack, Stack], store: Store
) -> tuple[Job, ...]:
    return tuple(
        on_stack(job, stack)
        for spec, stack in zip(specs, stacks, strict=True)
        for job in jobs_of(replace(request, on=spec, is_elsewhere=not is_own(stack)), store)
    )


def library_memory(
    request: UpgradeRequest,
    specs: tuple[str, str],
    stacks: tuple[Stack, Stack],
    runner: StackRunner,
    store: Store,
) -> LibraryMemory:
    """Measure the memory of a process with an empty model on each stack; no run is stored."""
    from enginescope.runner.inputs.sample_models import EMPTY_MODEL, sample_models

    models = sample_models(store.path / "samples", EMPTY_MODEL)
    workload = Workload(stop=StopRule(iterations=10), mode=request.workload.mode)
    jobs = _stacked(replace(request.jobs(*models), workload=workload), specs, stacks, store)
    views = list(map(RunView, runner.run_jobs(jobs, lambda _run: None)))
    shares = {}
    for metric in ("peak_memory", "device_memory"):
        old, new = (process_value(view, metric) for view in views)
        if old is not None and new is not None:
            shares[metric] = (old, new)
    return shares


def _terms(
    limits: Sequence[Limit], models: int, store: Store, observer: MeasurementObserver
) -> CompareConfig:
    return CompareConfig(
        threshold_pct=latency_limit_pct(limits),
        confidence=look_confidence(models),
        spreads=SPREADS.usable(store.path, observer.warn),
    )


def _with_figures(
    model: UpgradedModel,
    sides: Sequence[MeasuredSide],
    comparison: MeasuredComparison | None,
    limits: Sequence[Limit],
    terms: CompareConfig,
    library: Callable[[], LibraryMemory] = dict,
) -> UpgradedModel:
    """Return a model whose outputs are judged with its figures; no win without these outputs.

    Args:
        comparison: ``None``: the processes of a side failed.
    """
    outputs, notices = model.rows[0], model.notices
    if comparison is None:
        rows: Sequence[UpgradeRow] = (failed_row(sides, terms.threshold_pct),)
    else:
        figures = metric_rows(comparison, limits, terms, library)
        rows = figures if outputs.kind is UpgradeKind.SAFE else without_wins(figures)
        notices += measured_notices(_of_stacks(comparison))
    old, new = (side.runs for side in sides)
    return replace(
        model,
        rows=(outputs, *rows),
        evidence=evidence_level(old, new),
        old=tuple(run.id for run in old),
        new=tuple(run.id for run in new),
        layers=layer_differences(old, new),
        notices=notices,
    )


def _of_stacks(comparison: MeasuredComparison) -> MeasuredComparison:
    """Return the comparison with stacks in place of letters, for its notices."""
    sides = tuple(
        replace(side, label=label) for label, side in zip((OLD, NEW), comparison.sides, strict=True)
    )
    return replace(comparison, sides=sides, pairs=(replace(comparison.pairs[0], a=OLD, b=NEW),))


def _recorded_pairs(
    old: str, new: str, store: Store, observer: MeasurementObserver
) -> tuple[JobPair, ...]:
    old_runs, new_runs = (
        recorded_side(name) or resolve_runs((name,), store, observer.warn) for name in (old, new)
    )
    pairs = pairs_of(old_runs, new_runs)
    if not pairs:
        raise UsageError(
            f"{old} and {new} have nothing in common",
            why="no job of one has a counterpart in the other",
            hint="name models and two Pythons, to measure both",
        )
    return pairs


def pairs_of(old: Sequence[Run], new: Sequence[Run]) -> tuple[JobPair, ...]:
    sets = job_identity.jobs_of(old), job_identity.jobs_of(new)
    pairs = pair_jobs(sets[0], sets[1], ())
    if len(sets[0]) == len(sets[1]) == 1:  # two logs of one job may name their model differently
        pairs = (JobPair(a=sets[0][0], b=sets[1][0], how="altered"),)
    return tuple(pair for pair in pairs if pair.a and pair.b)


def compare_recorded(
    pairs: Sequence[JobPair], limits: Sequence[Limit], store: Store, observer: MeasurementObserver
) -> tuple[UpgradedModel, ...]:
    """Compare both sides of each job, at the evidence level that they have."""
    floors = FLOORS.usable(store.path, observer.warn)
    terms = _terms(limits, len(pairs), store, observer)
    models = []
    for pair in pairs:
        assert pair.a is not None
        assert pair.b is not None
        sides = tuple(
            MeasuredSide(label=name, name=name, runs=job.runs)
            for name, job in ((OLD, pair.a), (NEW, pair.b))
        )
        is_measured = all(side.measured for side in sides)
        comparison = compare_sides(sides, terms, floors) if is_measured else None
        job, why = pair.b.runs[0].job, "recorded runs have no outputs to compare"
        row = open_row(OUTPUTS, UpgradeReason.NO_OUTPUTS, why)
        untimed = UpgradedModel(model=job.subject.name, backend=str(job.backend), rows=(row,))
        models.append(_with_figures(untimed, sides, comparison, limits, terms))
    return tuple(models)


def upgrade(
    *models: str | PathLike[str],
    old: str | PathLike[str],
    new: str | PathLike[str] | None = None,
    on: str | Sequence[str] = (),
    reference: str | PathLike[str] | None = None,
    data: Sequence[str | PathLike[str]] = (),
    samples: int | None = None,
    tolerance: str | None = None,
    repeats: int = REPEATS,
    workload: Workload | None = None,
    rounds: int | None = None,
    builds: int | None = None,
    max_regression_pct: Mapping[str, float] | None = None,
    inconclusive: InconclusivePolicy = "fail",
    limits: Limits | None = None,
    evidence: str | PathLike[str] | None = None,
    without_inputs: bool = False,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> UpgradeReport:
    """Check whether models give the same outputs, as fast as before, on a new stack.

    Outputs come first: a model whose outputs do not pass is not timed.

    Args:
        *models: ONNX models or engines. Without models, `old` and `new` are recorded runs.
        old, new: A Python with enginescope of this version in it, as ``"PYTHON"`` or
            ``"NAME=PYTHON"``; or an image, as ``"docker:IMAGE"`` or ``"podman:IMAGE"``. By default
            the new one is this Python.
        on: Backend of both stacks, or one of each: ``("trt:fp16@old", "trt@new")``.
        reference: As for `validate`. ``"ort-cpu@old"`` names the stack that computes it; else it is
            this Python.
        data: Samples, as for `validate`.
        samples: So many random ones (8), or the first of the data (all).
        tolerance: A row of limits, as for `validate`.
        repeats: Fresh processes of each stack whose outputs are compared; at least 2.
        workload: As for `bench_interleaved`.
        rounds: Maximum number of rounds, 8 to 1,000; 60 by default.
        builds: Build both engines anew in each of so many rounds.
        max_regression_pct: Largest increase of each metric that counts: ``{"latency": 2}``.
        inconclusive: How to treat an inconclusive result.
        limits: Of each process.
        evidence: New folder for a bundle that `reproduce` checks and runs again.
        without_inputs: Hashes of models, samples and outputs in the bundle, not the files.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.kind``, ``report.models[0].rows``, ``report.is_passed``.

    Raises:
        UsageError: A stack is not usable, or a request contradicts a model.
        StoreError: The store cannot be written.
    """
    limit_of = {limit.metric: limit.regression_pct for limit in UPGRADE_LIMITS}
    limit_of |= max_regression_pct or {}
    request = UpgradeRequest(
        models=tuple(map(Path, models)),
        old=fspath(old),
        new=None if new is None else fspath(new),
        backends=(on,) if isinstance(on, str) else tuple(on),
        reference=None if reference is None else fspath(reference),
        samples=SampleRequest(data=tuple(map(Path, data)), count=samples),
        tolerance=tolerance,
        repeats=repeats,
        workload=workload or Workload(),
        rounds=rounds,
        builds=builds,
        regressions=tuple(Limit(metric=name, regression_pct=pct) for name, pct in limit_of.items()),
        inconclusive=inconclusive,
        limits=limits,
        evidence=None if evidence is None else Path(evidence),
        without_inputs=without_inputs,
        **stored_fields(tags, store),
    )
    return check_upgrade(request, MeasurementObserver())
