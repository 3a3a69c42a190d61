"""Passport: what is known of an engine without loading it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from enginescope.analysis.plans.plan_view import explore
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import encode, sha256_of
from enginescope.core.packed_files import plain_head
from enginescope.core.record import Record, replace
from enginescope.formats.importing.import_options import merge_reports
from enginescope.formats.importing.plan_files import PlanFiles, build_report, read_beside_engine
from enginescope.formats.plan import engine_file
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.passport import Passport, PassportRun, PrecisionShare
from enginescope.records.run.run import Artifact, OutcomeKind
from enginescope.services.declared import path_of
from enginescope.services.output_files import check_outputs, write_file
from enginescope.services.plans.plan_input import PlanInput, written_plan
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.machine_records import VALIDATIONS
from enginescope.store.row import Filter, RunRow

_HEAD_BYTES = 4096
_GRAPH = ".graph.json"


class PassportRequest(Record, frozen=True, kw_only=True):
    """Which engine, and how it was built, by default as its passport file says; see `passport`."""

    file: Path
    output: Path | None = None
    build: BuildReport | None = None
    store: StorePlace | None = None
    with_runs: bool = True


def write_passport(request: PassportRequest) -> Passport:
    """Make a passport, and write it to ``request.output``."""
    check_outputs([request.output], [request.file])
    made = make_passport(request)
    if request.output is not None:
        write_file(request.output, encode(made))
    return made


def make_passport(request: PassportRequest) -> Passport:
    """Gather what is known of an engine from its header, the files beside it and the store."""
    path = request.file
    if not path.is_file():
        raise UsageError(f"{path} does not exist", hint="give an engine or a plan's JSON file")
    is_engine = engine_file.is_engine_file(plain_head(path, _HEAD_BYTES), path.suffix)
    engine = path if is_engine else _engine_of(path)
    plan = written_plan(path) if is_engine else path
    beside = resolve_plan(plan) if plan else read_beside_engine(path, PlanFiles(plan=path))
    header, digest, written, mismatch = None, None, None, None
    if engine is not None:
        header, digest = engine_file.header_of(engine), sha256_of(engine)
    if engine is not None and request.build is None:  # a build replaces the one of its last
        written, mismatch = engine_file.read_passport(engine, digest)
    build = request.build or (written.build if written else None)
    of_build = build_report(plan or path.with_name(path.name + _GRAPH))
    reports = [each for each in (beside.report, of_build) if each is not None]
    report = merge_reports(reports)
    device = report.device if report else None
    if build is not None and build.device is not None:
        device = Device(name=build.device, driver=build.driver)
    known = Passport(
        file=(engine or path).name,
        engine=_file("engine", engine, digest) if engine is not None else None,
        tensorrt=(header.version if header else None)
        or (build.tensorrt if build else None)
        or (report.tool_version if report else None),
        is_rtx=header.is_rtx if header else None,
        compute_capabilities=header.compute_capabilities if header else (),
        device=device,
        build=build,
        tool=report,
        artifacts=tuple(_file(each.kind, Path(each.path)) for each in beside.artifacts),
        notices=(
            *((mismatch,) if mismatch else ()),
            *(notice for notice in beside.notices if notice.level != "info"),
        ),
    )
    if request.with_runs and digest:
        known = _with_evidence(known, Store(request.store), digest)
    return _with_plan(known, beside) if isinstance(beside, PlanInput) else known


def passport(
    file: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    store: str | PathLike[str] | None = None,
) -> Passport:
    """Return what is known of an engine, without loading it.

    Args:
        file: An engine, or the plan's JSON that was written of one.
        output: Write the passport to this file, as JSON.
        store: Where runs of the engine are looked up; by default the command line's.

    Raises:
        UsageError: The file does not exist or is neither an engine nor a plan; or the output cannot
            be written.
        FormatError: The plan cannot be read.
    """
    written = path_of(output)
    return write_passport(PassportRequest(file=Path(file), output=written, store=place_of(store)))


def with_passport_of(source: PlanInput) -> PlanInput:
    """Return a plan's or an engine's input with the build of its passport, as `bench` does.

    If the engine has other bytes than its passport says, the input has a notice in place of it.
    """
    path = Path(source.where)
    by_kind = {"engine": path, "file": _engine_of(path), "folder": _engine_of(path)}
    engine = by_kind.get(source.kind)
    if engine is None:
        return source
    if not engine.with_name(engine.name + engine_file.PASSPORT_ENDING).is_file():
        return source
    return dataclasses.replace(
        source, run=engine_file.with_passport(source.as_run(), engine, sha256_of(engine))
    )


def _engine_of(plan: Path) -> Path | None:
    """Return the engine that lies beside a plan: ``net.engine`` of ``net.engine.graph.json``."""
    stem = plan.with_name(plan.name.removesuffix(_GRAPH))
    names = (
        stem,
        *(stem.with_name(stem.name + ending) for ending in sorted(engine_file.ENGINE_SUFFIXES)),
    )
    return next((each for each in names if each != plan and each.is_file()), None)


def _file(kind: str, path: Path, sha256: str | None = None) -> Artifact:
    digest = sha256 or sha256_of(path)
    return Artifact(kind=kind, path=path.name, sha256=digest, size_bytes=path.stat().st_size)


def _with_plan(known: Passport, source: PlanInput) -> Passport:
    own = source.with_own_times()
    plan = own.needed_plan()
    explored = explore(own.name, plan, own.profile)
    times = {share.key: share.time_ms for share in explored.by_precision if own.profile}
    totals = explored.totals
    assert totals is not None  # there is a plan
    counts = sorted(totals.layers_by_precision.items(), key=lambda item: -item[1])
    return replace(
        known,
        plan_schema=plan.source_schema,
        layers=totals.active_layers,
        precisions=tuple(
            PrecisionShare(precision=name, layers=count, time_ms=times.get(name))
            for name, count in counts
        ),
        io=plan.io,
        weights_bytes=totals.weights_bytes,
        activation_bytes=totals.activation_bytes,
        notices=(*known.notices, *(each for each in own.notices if each not in source.notices)),
    )


def _with_evidence(known: Passport, store: Store, sha256: str) -> Passport:
    names = ("id", "created", "outcome", "gpu", "metric", "median_ms")
    rows = [row for row in store.select(Filter()) if row.model_sha256 == sha256]
    validations = VALIDATIONS.usable(store.path, lambda _text: None)
    return replace(
        known,
        runs=tuple(PassportRun(**{name: getattr(row, name) for name in names}) for row in rows),
        evidence=_level(rows),
        validations=tuple(one for one in validations[::-1] if one.engine_sha256 == sha256),
    )


def _level(rows: Sequence[RunRow]) -> str | None:
    """Return the evidence level of an engine's runs; they are of one build."""
    good = [row for row in rows if row.outcome == OutcomeKind.OK.value]
    if not good:
        return None
    tags = [{tag for tag in row.tags if tag.startswith(COMPARISON_TAG)} for row in good]
    level = EvidenceLevel.PROCESSES
    if len(good) == 1:
        level = EvidenceLevel.SAMPLES
    elif set.intersection(*tags):
        level = EvidenceLevel.INTERLEAVED
    return str(level.value)
