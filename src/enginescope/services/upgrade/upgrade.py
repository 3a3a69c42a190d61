"""``upgrade``: may a new stack of software below the models be used?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.upgrade.layer_differences import layer_differences
from enginescope.analysis.upgrade.metric_rows import (
    failed_row,
    is_settled,
    latency_limit_pct,
    look_confidence,
    metric_rows,
    untimed_row,
    without_wins,
)
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.backends.base import Answering
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.experiment import Ended
from enginescope.records.run.job import Limits, Workload
from enginescope.records.verdict.gate import InconclusivePolicy, Limit
from enginescope.records.verdict.upgrade import (
    UPGRADE_LIMITS,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReason,
    UpgradeReport,
)
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.accuracy.request import SIDE_LIMITS, SampleRequest, ValidateRequest
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import jobs_of
from enginescope.services.measurement.rounds import Pacing, looks_up_to, run_rounds
from enginescope.services.own_command import stored_fields
from enginescope.services.upgrade.evidence import (
    check_evidence_folder,
    side_of_bundle,
    write_evidence,
)
from enginescope.services.upgrade.kept_outputs import MOST_BYTES, KeptOutputs
from enginescope.services.upgrade.library_memory import library_memory
from enginescope.services.upgrade.outputs import compare_outputs, no_outputs, on_stack
from enginescope.services.upgrade.recorded import compare_recorded, recorded_pairs, runs_of
from enginescope.services.upgrade.request import (
    REPEATS,
    UpgradeObserver,
    UpgradeRequest,
    check_upgrade_request,
    specs_of,
)
from enginescope.services.upgrade.stacks import (
    NEW,
    OLD,
    StackRunner,
    is_own,
    parse_stack,
    with_versions,
)
from enginescope.store.machine_records import SPREADS

if TYPE_CHECKING:
    from enginescope.analysis.upgrade.memory_rows import LibraryMemory
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
    from enginescope.judge.notice import Notice
    from enginescope.records.run.run import Run
    from enginescope.services.measurement.rounds import InterleavedResult
    from enginescope.services.upgrade.outputs import ComparedOutputs
    from enginescope.store.archive import Store


def check_upgrade(request: UpgradeRequest, observer: UpgradeObserver) -> UpgradeReport:
    """Check an upgrade: outputs first, then figures, model by model.

    Raises:
        UsageError: The request contradicts itself, a stack is not usable, a file is not a model, or
            the folder of the evidence has files in it.
        StoreError: The store cannot be written; nothing is measured then.
    """
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
    request: UpgradeRequest, observer: UpgradeObserver, kept: KeptOutputs | None = None
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    """Return the report of an upgrade and the runs of both stacks; writes no evidence.

    Args:
        kept: Gets the outputs of each model.

    Raises:
        UsageError, StoreError: As `check_upgrade`.
    """
    from enginescope.store.archive import Store

    check_upgrade_request(request)
    store = Store(request.store)
    runs: tuple[Run, ...] = ()
    if not request.models:
        old, new = Stack(name=request.old), Stack(name=request.new or "")
        pairs = recorded_pairs(old.name, new.name, store, observer)
        models = compare_recorded(pairs, request.limits, store, observer)
        runs = runs_of(pairs)
    else:
        _check_stacks(request)
        store.check_writable()
        stacks = parse_stack(request.old, OLD), parse_stack(request.new or sys.executable, NEW)
        if stacks[0].name == stacks[1].name:
            raise UsageError(f"two stacks of one name: {stacks[0].name}", hint="`new` b=PYTHON")
        old, new = map(with_versions, stacks)
        checks = _Checks(request, (old, new), store, observer, kept)
        models = tuple(checks.all_checked())
        runs = tuple(store.load_id(run) for one in models for run in (*one.old, *one.new))
    report = UpgradeReport(
        old=old,
        new=new,
        models=models,
        limits=request.limits,
        inconclusive=request.inconclusive,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command,
    )
    return report, runs


def _check_stacks(request: UpgradeRequest) -> None:
    """Raise `UsageError` if a side of models to be measured is a bundle of evidence."""
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
        observer: UpgradeObserver,
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
                yield self.checked(model)
            except (KeyboardInterrupt, SystemExit) as error:
                if not number:
                    raise
                self._observer.interrupted(error)
            if self._observer.interruption is not None:
                return

    def checked(self, model: Path) -> UpgradedModel:
        """Return what both stacks make of a model."""
        self._observer.check_cancelled()
        self._observer.model_started(model)
        if self._kept is not None:
            self._kept.start_model()
        outputs = self._outputs(model)
        row = outputs.row
        limit_pct = latency_limit_pct(self._request.limits)
        result = UpgradedModel(
            model=subject_of(model).name,
            backend=" and ".join(dict.fromkeys(self._specs_of(model))),
            rows=(row, untimed_row(row, limit_pct)),
            reference=outputs.reference,
            repeats=self._request.repeats if outputs.reference else 0,
            notices=outputs.notices,
        )
        is_fit = row.kind is UpgradeKind.SAFE or row.reason == UpgradeReason.NO_OUTPUTS.value
        if is_fit:
            result = self._timed(model, result)
        self._observer.model_ended(result)
        return result

    def _specs_of(self, model: Path) -> tuple[str, str]:
        return self._specs or (usual_backend(model), usual_backend(model))

    def _outputs(self, model: Path) -> ComparedOutputs:
        request, specs = self._request, self._specs_of(model)
        for text in specs:
            spec = read_spec(text)
            if not isinstance(load_backend(spec.name), Answering):
                return no_outputs(spec)
        first, second = (
            ValidateRequest(
                models=(model,),
                on=(spec,),
                reference=request.reference,
                samples=request.samples,
                workload=request.workload,
                tolerance=request.tolerance,
                is_elsewhere=not is_own(stack),
                limits=request.process_limits or SIDE_LIMITS,
                store=request.store,
                command=request.command,
            )
            for spec, stack in zip(specs, self._stacks, strict=True)
        )
        return compare_outputs(
            (first, second),
            self._stacks,
            request.repeats,
            self._runner,
            self._observer.outputs_progressed,
            self._kept,
        )

    def _timed(self, model: Path, untimed: UpgradedModel) -> UpgradedModel:
        """Return the model with figures of interleaved processes."""
        from enginescope.judge.comparison.ratio import LOOKS

        request = self._request
        job_request = request.jobs(model, rebuild=request.builds is not None)
        jobs = tuple(
            on_stack(job, stack)
            for spec, stack in zip(self._specs_of(model), self._stacks, strict=True)
            for job in jobs_of(
                replace(job_request, backends=(spec,), is_elsewhere=not is_own(stack)), self._store
            )
        )
        terms = CompareConfig(
            threshold_pct=latency_limit_pct(request.limits),
            confidence=look_confidence(len(request.models)),
            spreads=SPREADS.usable(self._store.path, self._observer.warn),
        )
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
        return _with_figures(untimed, result, request.limits, terms, lambda: self._library(model))

    def _library(self, model: Path) -> LibraryMemory:
        """Return the memory of processes with an empty model; nothing for an engine."""
        if subject_of(model).kind != "onnx":
            return {}
        self._observer.outputs_progressed("memory of the runtimes by themselves")
        specs = self._specs_of(model)
        return library_memory(self._request, specs, self._stacks, self._runner, self._store)


def _with_figures(
    model: UpgradedModel,
    result: InterleavedResult,
    limits: tuple[Limit, ...],
    terms: CompareConfig,
    library: Callable[[], LibraryMemory],
) -> UpgradedModel:
    from enginescope.analysis.verdicts.measured_notices import measured_notices

    comparison, sides = result.comparison, result.sides
    runs = [tuple(run.id for run in side.runs) for side in sides]
    turn = sides[0].runs[0].turn
    rows = model.rows[:1]
    notices: tuple[Notice, ...] = ()
    if comparison is not None:
        notices = measured_notices(_labeled(comparison))
    if comparison is None or result.ended is Ended.GIVEN_UP:
        rows += (failed_row(sides, terms.threshold_pct),)
    else:
        figures = metric_rows(comparison, limits, terms, library)
        is_compared = rows[0].kind is UpgradeKind.SAFE
        rows += figures if is_compared else without_wins(figures)
    return replace(
        model,
        rows=rows,
        evidence=evidence_level(*(side.runs for side in result.sides)),
        comparison=turn.comparison if turn else None,
        old=runs[0],
        new=runs[1],
        layers=layer_differences(*(side.runs for side in sides)),
        notices=(*model.notices, *notices),
    )


def _labeled(comparison: MeasuredComparison) -> MeasuredComparison:
    """Return the comparison with stacks in place of letters, for its notices."""
    pair = replace(comparison.pairs[0], a=OLD, b=NEW)
    sides = tuple(
        replace(side, label=label) for label, side in zip((OLD, NEW), comparison.sides, strict=True)
    )
    return replace(comparison, sides=sides, pairs=(pair,))


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
        workload=paced_workload(workload),
        rounds=rounds,
        builds=builds,
        limits=tuple(Limit(metric=name, regression_pct=pct) for name, pct in limit_of.items()),
        inconclusive=inconclusive,
        process_limits=limits,
        evidence=None if evidence is None else Path(evidence),
        without_inputs=without_inputs,
        **stored_fields(tags, store),
    )
    return check_upgrade(request, UpgradeObserver())
