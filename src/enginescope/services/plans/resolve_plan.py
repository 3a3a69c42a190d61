"""Resolve what a user names: a plan, an engine, a folder, an archive, or a run; open a plan."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import GpuLimits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.packed_files import PACKED_SUFFIXES, ZIP_TAGS, is_tar, plain_head
from enginescope.core.record import Record
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.lenient_json import decode_text
from enginescope.formats.plan.engine_file import is_engine_file
from enginescope.records.environment import Device
from enginescope.services.declared import File
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.explore_request import ContextRequest
from enginescope.services.plans.plan_input import (
    NO_COMPANIONS,
    CompanionFiles,
    PlanInput,
    PlanName,
    archive_inputs,
    engine_input,
    input_of_run,
    read_context,
)
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace

_RUN_DOCUMENT = "run.json"
_SHOWN_NAMES = 8
#: Bytes of a file that tell a plan's JSON from an engine.
_HEAD_BYTES = 4096
#: Endings of names that are never looked up in the store.
_FILES = frozenset(
    {".json", ".tar", ".tea", ".tgz", ".zip", ".engine", ".plan", ".trt", *PACKED_SUFFIXES}
)
_SILENT = PlanObserver()


def resolve_plan(
    what: PlanName,
    companions: CompanionFiles = NO_COMPANIONS,
    *,
    store: StorePlace | None = None,
    observer: PlanObserver = _SILENT,
) -> PlanInput:
    """Resolve `what` to one engine; see `resolve_inputs`."""
    return only_plan(what, resolve_plans(what, companions, store=store, observer=observer))


def only_plan(what: PlanName, inputs: Sequence[PlanInput]) -> PlanInput:
    """Return the only input of several."""
    if len(inputs) == 1:
        return inputs[0]
    names = ", ".join(sorted(each.name for each in inputs)[:_SHOWN_NAMES])
    if len(inputs) > _SHOWN_NAMES:
        names += f" and {len(inputs) - _SHOWN_NAMES} more"
    hint = "give the plan's JSON file"
    if inputs[0].kind == "archive":
        hint = f"enginescope archive extract {what}, then give the plan's JSON file"
    raise UsageError(f"{what} holds {len(inputs)} plans", why=names, hint=hint)


def resolve_plans(
    what: PlanName,
    companions: CompanionFiles = NO_COMPANIONS,
    *,
    store: StorePlace | None = None,
    observer: PlanObserver = _SILENT,
) -> tuple[PlanInput, ...]:
    """Resolve `what` to the engines that have a plan; see `resolve_inputs`.

    A run is returned whether it has a plan or not, and so is an archive without any.
    """
    inputs = resolve_inputs(what, companions, store=store, observer=observer)
    planned = tuple(each for each in inputs if each.plan is not None)
    if planned or inputs[0].kind != "folder":
        return planned or inputs
    hint = "give a folder with what trtexec --exportLayerInfo wrote"
    raise UsageError(f"{what} holds no plans", hint=hint)


def resolve_inputs(
    what: PlanName,
    companions: CompanionFiles = NO_COMPANIONS,
    *,
    store: StorePlace | None = None,
    observer: PlanObserver = _SILENT,
) -> tuple[PlanInput, ...]:
    """Resolve `what` to engines; a path goes before a run of the same name.

    Args:
        what: A plan's JSON, with the files that are named like it; an engine, where TensorRT is
            installed; a folder or an archive of files, for every engine in it; a run: its folder,
            its ``run.json``, the beginning of its id, a tag, ``latest``, ``latest~2``; or a view.
        companions: Files to read in place of those named like a plan file.

    Raises:
        UsageError: There is nothing of that name, or nothing in the folder; or companions are named
            for something else than a plan file.
        FormatError: A file cannot be used.
        StoreError: There is no such run, or several.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here.
    """
    if isinstance(what, (RunView, PlanView)):
        if any(companions):
            raise UsageError("a profile can only be named with a plan file", hint="name the plan's")
        if isinstance(what, RunView):
            return (input_of_run(what.given, kind="view"),)
        name, plan, profile = what.plan.name, what.plan, what.profile
        gpus = (Device(name=what.gpu.name),) if what.gpu else ()
        return (
            PlanInput(kind="view", where=name, name=name, plan=plan, profile=profile, devices=gpus),
        )
    path = Path(what)
    is_run = path.name == _RUN_DOCUMENT or (path / _RUN_DOCUMENT).is_file()
    if path.is_file() and not is_run:
        return _of_any_file(path, companions, observer)
    if any(companions):
        raise _no_plan_file(path)
    if path.is_dir() and not is_run:
        return tuple(_of_folder(path))
    if path.suffix.lower() in _FILES and not path.exists():
        raise UsageError(f"{what} does not exist", hint="give a plan's JSON file, or a run")

    return (input_of_run(Store(store).load(str(what))),)


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive: a zip or tar file, or named like one."""
    if not path.is_file():
        return False
    return path.suffix.lower() == ".tea" or _head(path).startswith(ZIP_TAGS) or is_tar(path)


def _of_any_file(
    path: Path, companions: CompanionFiles, observer: PlanObserver
) -> tuple[PlanInput, ...]:
    if is_archive(path):
        if any(companions):
            raise _no_plan_file(path)
        return archive_inputs(path, observer)
    head = _head(path)
    text, _ = decode_text(head, path.name)
    if not text.lstrip().startswith(("{", "[")) and is_engine_file(head, path.suffix):
        return (engine_input(path, companions, observer),)
    return (_of_plan_file(path, companions),)


def _no_plan_file(path: Path) -> UsageError:
    why = f"{path} is not a plan file"
    return UsageError("companion files need a plan file", why=why, hint="give the plan's JSON file")


def _head(path: Path) -> bytes:
    return plain_head(path, _HEAD_BYTES)


def _of_plan_file(path: Path, companions: CompanionFiles) -> PlanInput:
    read = read_plan_files(PlanFiles(plan=path, **companions._asdict()))
    names = ("plan", "profile", "times", "report", "notices", "artifacts")
    return PlanInput(
        kind="file",
        where=str(path),
        name=read.plan.name,
        devices=(read.report.device,) if read.report and read.report.device else (),
        **{name: getattr(read, name) for name in names},
    )


def _of_folder(folder: Path) -> Iterator[PlanInput]:
    for run in import_artifacts([folder]).runs:
        plan = next((each.path for each in run.artifacts if each.kind == "plan"), str(folder))
        yield input_of_run(run, kind="folder", where=plan)


V = TypeVar("V", bound=PlanView)


class OpenPlanRequest(Record, frozen=True, kw_only=True):
    """Which plan, and what it is compared with; see `enginescope.open_plan`."""

    plan: PlanName
    companions: CompanionFiles = NO_COMPANIONS
    plan_profile: int = 0
    gpu: str | GpuLimits | None = None
    onnx: File | None = None
    store: StorePlace | None = None


def open_plan_as(view_type: type[V], request: OpenPlanRequest, observer: PlanObserver) -> V:
    """Open a plan as a view of some type."""
    source = resolve_plan(request.plan, request.companions, store=request.store, observer=observer)
    source.needed_plan()
    own = source.with_own_times()
    chosen = own.of_profile(request.plan_profile)
    gpu, onnx = request.gpu, None
    if isinstance(request.plan, PlanView):
        gpu, onnx = gpu or request.plan.gpu, request.plan.onnx
    view = view_type(chosen.needed_plan(), chosen.profile, onnx=onnx, whole=own.whole)
    name, limits = (gpu, None) if isinstance(gpu, str) else (None, gpu)
    context = read_context(own, ContextRequest(gpu=name, onnx=request.onnx), view, limits)
    added = [notice for notice in own.notices if notice not in source.notices]
    for notice in (*source.own_notices, *added, *context.notices):
        observer.notice(notice)
    return context.view or view
