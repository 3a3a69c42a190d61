"""``reproduce``: check a bundle of evidence, and run its upgrade again."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from enginescope.analysis.upgrade.reproduced import environment_changes, reproduced_models
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.core.record import Record, copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.verdict.upgrade import Reproduction, Stack, UpgradeReport
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import made_now, own_command, place_of
from enginescope.services.upgrade.evidence import (
    Evidence,
    KeptOutputs,
    check_inside,
    compare_with_bundle,
    places_of,
    read_evidence,
)
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.stacks import parse_stack, with_versions
from enginescope.services.upgrade.upgrade import checked_upgrade, compare_recorded, pairs_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


class ReproduceRequest(Record, frozen=True, kw_only=True):
    """A bundle of evidence, and where its stacks are on this machine, if not where they were.

    `check_only` compares the files with the manifest, and runs nothing.
    """

    folder: Path
    check_only: bool = False
    old: str | None = None
    new: str | None = None
    store: StorePlace | None = None
    command: str | None = None


def reproduce_upgrade(request: ReproduceRequest, observer: MeasurementObserver) -> Reproduction:
    """Check a bundle of evidence, run its upgrade again, and compare outputs and verdicts."""
    evidence = read_evidence(request.folder)
    manifest, recorded = evidence.archive.manifest, evidence.bundle.report
    checked = Reproduction(
        folder=str(request.folder),
        files=len(manifest.files),
        size_bytes=sum(entry.size_bytes for entry in manifest.files),
        sha256=evidence.archive.sha256,
        enginescope=manifest.enginescope,
        recorded=recorded,
    )
    if request.check_only:
        return checked
    if not evidence.bundle.settings.models:
        again = _recomputed(evidence, request, observer)
        models = reproduced_models(recorded, again)
    else:
        with temporary_folder() as folder:
            kept = KeptOutputs(folder)
            again = _measured(evidence, request, observer, kept)
            outputs = compare_with_bundle(evidence, kept)
        models = tuple(
            replace(model, outputs=found)
            for model, found in zip(reproduced_models(recorded, again), outputs, strict=True)
        )
    environment = environment_changes(recorded, again)
    return replace(checked, again=again, models=models, environment=environment)


def _recomputed(
    evidence: Evidence, request: ReproduceRequest, observer: MeasurementObserver
) -> UpgradeReport:
    if request.old is not None or request.new is not None:
        why = "its runs were recorded earlier: it has no stacks that can run again"
        raise UsageError("`old` and `new`", why=why)
    report = evidence.bundle.report
    pairs = pairs_of(*evidence.sides())
    models = compare_recorded(pairs, report.limits, Store(request.store), observer)
    return replace(report, models=models, **made_now(request.command))


def _measured(
    evidence: Evidence, request: ReproduceRequest, observer: MeasurementObserver, kept: KeptOutputs
) -> UpgradeReport:
    settings, report = evidence.bundle.settings, evidence.bundle.report
    places, missing = places_of(evidence)
    old, new = _stack(request.old, report.old), _stack(request.new, report.new)
    for stack in (old, new):
        if stack.container is None:  # a Python that came with the bundle is not run
            check_inside(Path(stack.python or ""), request.folder, is_inside=False)
    missing = (*filter(None, map(_absence, (old, new))), *missing)
    if missing:
        why = "; ".join(missing)
        hint = "`old` and `new` name other Pythons; `check_only` runs nothing"
        raise UsageError(f"{request.folder} cannot run again here", why=why, hint=hint)
    files = tuple(replace(one, path=places[one.path]) for one in settings.workload.files)
    reference = settings.reference
    upgrade = copied(
        UpgradeRequest,
        settings,
        models=tuple(Path(places[model]) for model in settings.models),
        old=f"{old.name}={old.python}",
        new=f"{new.name}={new.python}",
        reference=None if reference is None else places.get(reference, reference),
        on=settings.backends,
        data=tuple(places[path] for path in settings.data),
        workload=replace(settings.workload, files=files),
        max_regression_pct={limit.metric: limit.regression_pct for limit in report.limits},
        limits=settings.process_limits,
        inconclusive=report.inconclusive,
        store=request.store,
        command=request.command,
    )
    return checked_upgrade(upgrade, observer, kept)[0]


def _stack(chosen: str | None, recorded: Stack) -> Stack:
    python = parse_stack(chosen or recorded.python or "", recorded.name).python
    return Stack(name=recorded.name, python=python)


def _absence(stack: Stack) -> str | None:
    """Return why a stack cannot run here; ``None``: it can."""
    try:
        with_versions(stack)
    except (UsageError, MissingDependencyError, UnsupportedError) as error:
        return str(error)
    return None


def reproduce(
    folder: str | PathLike[str],
    *,
    check_only: bool = False,
    old: str | PathLike[str] | None = None,
    new: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
) -> Reproduction:
    """Check a bundle of evidence, run its upgrade again, and compare the verdicts.

    Args:
        folder: What ``upgrade(…, evidence=folder)`` wrote.
        check_only: Compare the files with their SHA-256, and run nothing.
        old, new: Python of each stack here, or ``docker:IMAGE``; by default the recorded one.
        store: Where the new runs are stored.

    Returns:
        ``result.is_reproduced``, ``result.models[0].rows``, ``result.models[0].outputs``,
        ``result.environment``.

    Raises:
        FormatError: It is not a bundle; or a file was changed, is missing or was added.
        UsageError: A stack or an input is not at hand; names all that are missing.
        StoreError: The store cannot be written.
    """
    request = ReproduceRequest(
        folder=Path(folder),
        check_only=check_only,
        old=None if old is None else fspath(old),
        new=None if new is None else fspath(new),
        store=place_of(store),
        command=own_command(),
    )
    return reproduce_upgrade(request, MeasurementObserver())
