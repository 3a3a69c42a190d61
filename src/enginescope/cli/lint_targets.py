"""Plans to lint: in files, folders and stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from enginescope.core.errors import UsageError
from enginescope.formats.importer import import_artifacts
from enginescope.formats.plan_files import PlanFiles, read_plan_files
from enginescope.model.notice import Notice
from enginescope.model.plan import Plan
from enginescope.model.run import Run
from enginescope.rules.base import LintInput
from enginescope.store.archive import Store
from enginescope.store.run_folder import DOCUMENT


class LintTarget(NamedTuple):
    """A plan with what is known of it, and where it came from."""

    source: str
    given: LintInput
    is_file: bool
    notices: tuple[Notice, ...] = ()


def lint_targets(
    name: str, *, profile: Path | None = None, store_folder: Path | None = None
) -> tuple[LintTarget, ...]:
    """Return the plans that `name` stands for.

    A plan file comes with the profile and metadata beside it that are named like it, a folder with
    every engine in it.

    Parameters
    ----------
    name : str
        A file, a folder of files, a run's folder, or a run of the store.
    profile : Path, optional
        Layer times, in place of those beside the plan.
    store_folder : Path, optional

    Raises
    ------
    UsageError
        There is no plan, or a profile was given for something else than a plan file.
    FormatError
        A file cannot be used.
    StoreError
        There is no such run.
    """
    path = Path(name)
    is_run = path.name == DOCUMENT or not path.exists() or (path / DOCUMENT).is_file()
    if path.is_file() and not is_run:
        return (_of_file(path, profile),)
    if profile is not None:
        raise UsageError(f"{name} is no plan file", hint="--profile goes with one plan's JSON")
    if is_run:
        return (_of_run(name, Store(store_folder).load(name)),)
    return _in_folder(path)


def _of_file(path: Path, profile: Path | None) -> LintTarget:
    read = read_plan_files(PlanFiles(plan=path, profile=profile))
    device = read.report.device if read.report else None
    given = LintInput(plan=read.plan, profile=read.profile, device=device)
    return LintTarget(str(path), given, is_file=True, notices=read.notices)


def _in_folder(folder: Path) -> tuple[LintTarget, ...]:
    found = []
    for run in import_artifacts([folder]).runs:
        file = next((one.path for one in run.artifacts if one.kind == "plan"), None)
        if run.plan is not None and file is not None:
            given = _input(run, run.plan)
            found.append(LintTarget(file, given, is_file=True, notices=run.notices))
    if not found:
        raise UsageError(
            f"{folder} holds no plan",
            hint="give a folder with what trtexec --exportLayerInfo wrote",
        )
    return tuple(found)


def _of_run(name: str, run: Run) -> LintTarget:
    if run.plan is None:
        raise UsageError(
            f"run {name} has no plan",
            hint="measure with a backend that inspects its engine, as trt and trtexec do",
        )
    return LintTarget(run.id, _input(run, run.plan), is_file=False)


def _input(run: Run, plan: Plan) -> LintInput:
    devices = run.environment.devices
    index = run.job.backend.options.get("profile_index", "")
    return LintInput(
        plan=plan,
        profile=run.profile,
        device=devices[0] if devices else None,
        fed=run.inputs,
        profile_index=int(index) if index.isdecimal() else None,
    )
