"""``upgrade``: may a new stack of software below the models be used?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
from enginescope.analysis.upgrade.rows import look_confidence, open_row
from enginescope.analysis.verdicts import job_identity
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import Limit
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    Stack,
    UpgradedModel,
    UpgradeReason,
    UpgradeReport,
)
from enginescope.services.declared import File, documented
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import made_now, own_command, place_of
from enginescope.services.upgrade import evidence
from enginescope.services.upgrade.checks import Checks, Effort, effort_of, terms_of, with_figures
from enginescope.services.upgrade.request import UpgradeRequest, check_upgrade_request
from enginescope.services.upgrade.stacks import NEW, OLD, parse_stack, with_versions
from enginescope.services.verdicts.run_selection import resolve_runs
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from enginescope.services.keywords import UpgradeKeywords


def check_upgrade(request: UpgradeRequest, observer: MeasurementObserver) -> UpgradeReport:
    """Check an upgrade: outputs of all models first, then figures; it raises as `upgrade`."""
    request = replace(request, workload=paced_workload(request.workload))
    if request.evidence is None:
        return checked_upgrade(request, observer)[0]
    check_upgrade_request(request)
    evidence.check_evidence_folder(request.evidence, continues=request.continues)
    return with_evidence(request, observer)


def with_evidence(
    request: UpgradeRequest, observer: MeasurementObserver, effort: Effort | None = None
) -> UpgradeReport:
    """Return the report of an upgrade, and write its bundle, which grows as the upgrade does."""
    writer = evidence.EvidenceWriter(request)
    report, runs = checked_upgrade(request, observer, writer.kept, writer.write, effort)
    with observer.answering():
        writer.finish(report, runs)
    return report


def checked_upgrade(
    request: UpgradeRequest,
    observer: MeasurementObserver,
    kept: evidence.KeptOutputs | None = None,
    tell: Callable[[UpgradeReport], None] = lambda _report: None,
    effort: Effort | None = None,
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    """Return the report of an upgrade and the runs of both stacks; writes no evidence.

    `kept` gets the outputs of each model, `tell` the report so far, each time a model has come
    further.
    """
    check_upgrade_request(request)
    store = Store(place_of(request.store))
    if not request.models:
        return _of_recorded(request, store, observer)
    for name in (fspath(side or "") for side in (request.old, request.new)):
        if evidence.side_of_bundle(name):
            why = "its runs are recorded, and models are measured on two stacks"
            hint = "enginescope bench MODEL --tag today, then upgrade without models"
            raise UsageError(f"side {name}", why=why, hint=hint)
    store.check_writable()
    new = fspath(request.new or sys.executable)
    stacks = parse_stack(fspath(request.old), OLD), parse_stack(new, NEW)
    if stacks[0].name == stacks[1].name:
        raise UsageError(f"two stacks of one name: {stacks[0].name}", hint="`new` b=PYTHON")
    try:
        stacks = with_versions(stacks[0]), with_versions(stacks[1])
    except (KeyboardInterrupt, SystemExit) as error:
        observer.interrupted(error)
    checks = Checks(request, stacks, store, observer, kept, effort or effort_of(request))

    def report() -> UpgradeReport:
        return copied(
            UpgradeReport,
            request,
            old=stacks[0],
            new=stacks[1],
            models=tuple(checks.models),
            limits=request.regressions,
            **made_now(request.command) | {"notices": checks.notices},
        )

    checks.run(lambda: tell(report()))
    with observer.answering():
        ids = (run for model in checks.models for run in (*model.old, *model.new))
        return report(), tuple(map(store.load_id, ids))


def _of_recorded(
    request: UpgradeRequest, store: Store, observer: MeasurementObserver
) -> tuple[UpgradeReport, tuple[Run, ...]]:
    old, new = (Stack(name=fspath(side or "")) for side in (request.old, request.new))
    pairs = _recorded_pairs(old.name, new.name, store, observer)
    models = compare_recorded(pairs, request.regressions, store, observer)
    both = (run for pair in pairs for job in (pair.a, pair.b) if job for run in job.runs)
    runs = tuple({run.id: run for run in both}.values())
    made = made_now(request.command)
    report = copied(
        UpgradeReport, request, old=old, new=new, models=models, limits=request.regressions, **made
    )
    return report, runs


def _recorded_pairs(
    old: str, new: str, store: Store, observer: MeasurementObserver
) -> tuple[JobPair, ...]:
    old_runs, new_runs = (
        evidence.recorded_side(name) or resolve_runs((name,), store, observer.warn)
        for name in (old, new)
    )
    pairs = pairs_of(old_runs, new_runs)
    if not pairs:
        why = "no job of one has a counterpart in the other"
        hint = "name models and two Pythons, to measure both"
        raise UsageError(f"{old} and {new} have nothing in common", why=why, hint=hint)
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


@documented(UpgradeRequest)
def upgrade(*models: File, **options: Unpack[UpgradeKeywords]) -> UpgradeReport:
    """Check whether models give the same outputs, as fast as before, on a new stack.

    Outputs come first: a model whose outputs do not pass is not timed.

    Returns:
        ``report.kind``, ``report.models[0].rows``, ``report.is_passed``.

    Raises:
        UsageError: A stack is not usable, or a request contradicts a model.
        StoreError: The store cannot be written.
    """
    request = UpgradeRequest(models=tuple(map(Path, models)), command=own_command(), **options)
    return check_upgrade(request, MeasurementObserver())
