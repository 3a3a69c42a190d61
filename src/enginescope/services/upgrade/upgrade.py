"""``upgrade``: may a new stack of software below the models be used?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
from enginescope.analysis.upgrade.rows import look_confidence, open_row
from enginescope.analysis.verdicts import job_identity
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import copied, replace
from enginescope.records.run.job import Limits, Workload
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import InconclusivePolicy, Limit
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    UPGRADE_LIMITS,
    Stack,
    UpgradedModel,
    UpgradeReason,
    UpgradeReport,
)
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import made_now, place_of, stored_fields
from enginescope.services.upgrade.checks import Checks, Effort, effort_of, terms_of, with_figures
from enginescope.services.upgrade.evidence import (
    EvidenceWriter,
    KeptOutputs,
    check_evidence_folder,
    recorded_side,
    side_of_bundle,
)
from enginescope.services.upgrade.request import REPEATS, UpgradeRequest, check_upgrade_request
from enginescope.services.upgrade.stacks import NEW, OLD, parse_stack, with_versions
from enginescope.services.verdicts.run_selection import resolve_runs
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS


def check_upgrade(request: UpgradeRequest, observer: MeasurementObserver) -> UpgradeReport:
    """Check an upgrade: outputs of all models first, then figures; it raises as `upgrade`."""
    request = replace(request, workload=paced_workload(request.workload))
    if request.evidence is None:
        return checked_upgrade(request, observer)[0]
    check_upgrade_request(request)
    check_evidence_folder(request.evidence, continues=request.continues)
    return with_evidence(request, observer)


def with_evidence(
    request: UpgradeRequest, observer: MeasurementObserver, effort: Effort | None = None
) -> UpgradeReport:
    """Return the report of an upgrade, and write its bundle, which grows as the upgrade does."""
    writer = EvidenceWriter(request)
    report, runs = checked_upgrade(request, observer, writer.kept, writer.write, effort)
    with deferred_signals():
        writer.finish(report, runs)
    return report


def checked_upgrade(
    request: UpgradeRequest,
    observer: MeasurementObserver,
    kept: KeptOutputs | None = None,
    tell: Callable[[UpgradeReport], None] = lambda _report: None,
    effort: Effort | None = None,
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    """Return the report of an upgrade and the runs of both stacks; writes no evidence.

    Args:
        kept: Gets the outputs of each model.
        tell: Gets the report so far, each time a model has come further.
        effort: By default that of the request.
    """
    check_upgrade_request(request)
    store = Store(place_of(request.store))
    if not request.models:
        return _of_recorded(request, store, observer)
    _check_stacks(request)
    store.check_writable()
    stacks = parse_stack(request.old, OLD), parse_stack(request.new or sys.executable, NEW)
    if stacks[0].name == stacks[1].name:
        raise UsageError(f"two stacks of one name: {stacks[0].name}", hint="`new` b=PYTHON")
    old, new = stacks
    try:
        old, new = map(with_versions, stacks)
    except (KeyboardInterrupt, SystemExit) as error:
        observer.interrupted(error)
    checks = Checks(request, (old, new), store, observer, kept, effort or effort_of(request))

    def report() -> UpgradeReport:
        return copied(
            UpgradeReport,
            request,
            old=old,
            new=new,
            models=tuple(checks.models),
            limits=request.regressions,
            **made_now(request.command) | {"notices": checks.notices},
        )

    checks.run(lambda: tell(report()))
    ids = (run for model in checks.models for run in (*model.old, *model.new))
    return report(), tuple(map(store.load_id, ids))


def _of_recorded(
    request: UpgradeRequest, store: Store, observer: MeasurementObserver
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    old, new = Stack(name=request.old), Stack(name=request.new or "")
    pairs = _recorded_pairs(old.name, new.name, store, observer)
    models = compare_recorded(pairs, request.regressions, store, observer)
    both = (run for pair in pairs for job in (pair.a, pair.b) if job for run in job.runs)
    runs = tuple({run.id: run for run in both}.values())
    made = made_now(request.command)
    report = copied(
        UpgradeReport, request, old=old, new=new, models=models, limits=request.regressions, **made
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
    terms = terms_of(limits, look_confidence(len(pairs)), store, observer)
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
        models.append(with_figures(untimed, sides, comparison, limits, terms))
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
