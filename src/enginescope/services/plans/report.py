"""Report: runs, plans and comparisons of outputs, as files in one folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.validation.validation import Validation, stored_validation
from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.jsonio import read_bytes
from enginescope.core.record import replace
from enginescope.formats.lenient_json import read_json
from enginescope.formats.tensors.output_diff_file import foreign_differences, is_ours
from enginescope.judge.units import counted
from enginescope.render.html.answer_page import slide_png
from enginescope.render.page.report import TOPK, WrittenReport, subject_slide
from enginescope.render.page.report import write_report as write_files
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.validation.validate_answer import ReportedAnswers
from enginescope.services.declared import path_of
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import write_file
from enginescope.services.plans import plan_input
from enginescope.services.plans.explore_request import ContextRequest
from enginescope.services.plans.plan_input import PlanName
from enginescope.services.plans.resolve_plan import is_archive, resolve_inputs
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.run_names import is_tag

#: A report lays so many runs of a tag over each other.
_MOST_RUNS = 12
#: Of the folder's name: a file system allows 255 bytes.
_MOST_LETTERS = 60


class ReportRequest(ContextRequest, frozen=True, kw_only=True):
    """What a report is about, and where it goes (``report/<run>``); see `write_report`.

    There is at least one of `subjects`, as for `resolve_inputs`; a tag means all of its runs, up to
    twelve. `card` is a 16:9 PNG for a slide, in addition; `compared` are comparisons in memory.
    """

    subjects: tuple[PlanName, ...]
    folder: Path | None = None
    card: Path | None = None
    topk: int = TOPK
    outputs: tuple[Path, ...] = ()
    compared: tuple[ReportedAnswers, ...] = ()
    store: StorePlace | None = None


def report_runs(request: ReportRequest, observer: PlanObserver) -> WrittenReport:
    inputs = [
        each
        for subject in request.subjects
        for name in _named_runs(subject, request.store, observer)
        for each in resolve_inputs(name, store=request.store, observer=observer)
    ]
    names = [str(name) for name in request.subjects if isinstance(name, str | PathLike)]
    folder = request.folder or Path("report") / "+".join(map(short_name, inputs))[:_MOST_LETTERS]
    compared = (
        *request.compared,
        *named_outputs(request.outputs),
        *stored_outputs(inputs, request.store, observer),
        *archived_outputs(names, observer),
    )
    about = _subjects(inputs, request, observer)
    try:
        written = write_files(about, folder, topk=request.topk, answers=compared)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        why = error.strerror or str(error)
        raise UsageError(f"report {folder}", why=why, hint="`output` names a folder") from error
    if request.card is not None:
        write_file(request.card, slide_png(subject_slide(about)))
        written = replace(written, files=(*written.files, request.card))
    reasons: dict[str, list[str]] = {}
    for name, reason in written.skipped:
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():  # the same package is missing for every plot
        observer.warn(f"not written: {', '.join(names)}: {reason}")
    return written


def write_report(
    runs: PlanName | Sequence[PlanName],
    folder: str | PathLike[str],
    *,
    topk: int = TOPK,
    answers: Validation | None = None,
    outputs: Sequence[str | PathLike[str]] = (),
    card: str | PathLike[str] | None = None,
    gpu: str | None = None,
    onnx: str | PathLike[str] | None = None,
    build_log: str | PathLike[str] | None = None,
    overlay: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
) -> WrittenReport:
    """Write the report of `runs` into `folder`.

    Args:
        runs: Runs; or what ``enginescope explore`` takes, for every engine in it.
        topk: Layers drawn in the per-layer plot; tables have all.
        answers: Result of `validate` of the same models, for the report to carry.
        outputs: Comparisons of outputs in files: ``output_diff.json``, or folders that validate
            wrote.
        card: Write one 16:9 PNG for a slide to this file, too.
        gpu: Compare each layer with this GPU's limits.
        onnx, build_log, overlay: Of the only engine: its model, the verbose log of its build, and
            your own figures of its layers.
        store: Store of the runs; by default the command line's.

    Raises:
        UsageError: There is nothing of a name, a comparison is missing, or the folder cannot be
            written.
        FormatError, StoreError: A file cannot be used, or there is no such run.
    """
    compared = (ReportedAnswers(source="es.validate", validation=answers),) if answers else ()
    request = ReportRequest(
        subjects=(runs,) if isinstance(runs, str | PathLike | RunView | PlanView) else tuple(runs),
        folder=Path(folder),
        card=path_of(card),
        topk=topk,
        outputs=tuple(map(Path, outputs)),
        compared=compared,
        gpu=gpu,
        onnx=onnx,
        build_log=build_log,
        overlay=overlay,
        store=place_of(store),
    )
    return report_runs(request, PlanObserver())


def short_name(source: plan_input.PlanInput) -> str:
    """Return a stored run's id, shortened; of files the engine's name, the same each time."""
    if source.kind == "run":
        return source.where[:6]
    return re.sub(r"[^\w.-]+", "_", source.name).strip(".") or "plan"


def _named_runs(
    subject: PlanName, store: StorePlace | None, observer: PlanObserver
) -> tuple[PlanName, ...]:
    """Return the runs of a tag, the oldest first, or the newest of too many; or `subject`."""
    if not isinstance(subject, str) or not is_tag(subject) or Path(subject).is_file():
        return (subject,)
    is_folder = Path(subject).is_dir()
    try:
        rows = Store(store).rows(tag=subject)
    except StoreError:
        if is_folder:  # needs no store
            return (subject,)
        raise
    if is_folder:
        if rows:
            observer.warn(
                f"{subject} is a tag of {counted(len(rows), 'run')} and a folder here: enginescope "
                f"reports the folder; for the runs: runs list --tag {subject}, then their ids"
            )
        return (subject,)
    if len(rows) <= _MOST_RUNS:
        return tuple(row.id for row in reversed(rows)) or (subject,)
    observer.warn(
        f"tag {subject}: {len(rows):,} runs have it, too many for one report: the newest is taken; "
        f"runs list --tag {subject}"
    )
    return (subject,)


def _subjects(
    inputs: Sequence[plan_input.PlanInput], files: ContextRequest, observer: PlanObserver
) -> list[PageSubject]:
    for name in ("onnx", "build_log", "overlay"):
        value = getattr(files, name)
        if value and len(inputs) > 1:
            why = f"it is of one engine, and {len(inputs)} were given"
            raise UsageError(f"`{name}` {value}", why=why, hint="one report for each engine")
    subjects = []
    for each in inputs:
        run = each.as_run()
        context = plan_input.read_context(each, files, RunView(run).plan_view)
        for notice in context.notices:
            observer.notice(notice)
        subjects.append(plan_input.page_subject(run, context))
    return subjects


_NAME = "output_diff.json"
_KIND = "output_diff"


def named_outputs(paths: Sequence[Path]) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in files, or in folders that ``validate --output`` wrote."""
    found = []
    for path in paths:
        file = path / _NAME if path.is_dir() else path
        if not file.is_file():
            why = f"it holds no {_NAME}" if path.is_dir() else "no such file or folder"
            raise UsageError(f"outputs {path}", why=why, hint="a folder of validate --output")
        found.append(_read(file, str(path)))
    return tuple(found)


def stored_outputs(
    sources: Sequence[plan_input.PlanInput], store: StorePlace | None, observer: PlanObserver
) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons that were imported with runs, or lie beside their files, each once."""
    found: dict[str, ReportedAnswers] = {}
    for source in sources:
        run = source.run if source.kind != "archive" else None
        for artifact in run.artifacts if run else ():
            if artifact.kind != _KIND or (artifact.sha256 or artifact.path) in found:
                continue
            path = _place(source, artifact.path, store)
            if path is None:
                observer.warn(
                    f"{source.label}: its comparison of outputs, {artifact.path}, does not exist"
                )
                continue
            try:
                named = f"{path.name} of {source.label}" if source.kind == "run" else str(path)
                found[artifact.sha256 or artifact.path] = _read(path, named)
            except FormatError as error:
                observer.warn(f"{source.label}: {error}")
    return tuple(found.values())


def archived_outputs(names: Sequence[str], observer: PlanObserver) -> tuple[ReportedAnswers, ...]:
    """Return the comparisons in those of the names that are archives; each once."""
    found: dict[bytes, ReportedAnswers] = {}
    for archive in (Path(name) for name in names if is_archive(Path(name))):
        with plan_input.unpacked(archive, observer) as held:
            for entry in held.contents.entries:
                path = held.folder / entry.name
                if path.name != _NAME and entry.kind != _KIND:
                    continue
                try:
                    found[path.read_bytes()] = _read(path, f"{archive}/{entry.name}")
                except (OSError, FormatError) as error:
                    observer.warn(f"{archive}/{entry.name}: {error}")
    return tuple(found.values())


def _place(source: plan_input.PlanInput, path: str, store: StorePlace | None) -> Path | None:
    if source.kind in ("run", "view"):
        try:
            files = Store(store).artifact_paths(source.where)
        except StoreError:  # a view of a run that is not stored
            files = ()
        stored = next((file for file in files if file.name == Path(path).name), None)
        if stored is not None or source.kind == "run":
            return stored
    return Path(path) if Path(path).is_file() else None


def _read(path: Path, source: str) -> ReportedAnswers:
    value = read_json(read_bytes(path), str(path)).value
    if is_ours(value):
        return ReportedAnswers(source=source, validation=stored_validation(value, str(path)))
    foreign = foreign_differences(value)
    if not foreign:
        why = "not a comparison of outputs"
        raise FormatError(str(path), why=why, expected=f"{_NAME} of validate")
    return ReportedAnswers(source=source, foreign=foreign)
