"""Lint: what may cost time in plans."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from enginescope.analysis.roofline.roofline import limits_of, other_gpu
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, replace
from enginescope.core.toml import parse_toml
from enginescope.records.environment import Device
from enginescope.render.plans.findings import Linted, findings_sarif
from enginescope.rules.catalogue import Level, LintConfig, broken_rules, checked, config_of
from enginescope.rules.engine import LintReport
from enginescope.rules.engine import lint as find
from enginescope.rules.view import LintInput
from enginescope.services.declared import path_of
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import check_outputs, write_file
from enginescope.services.plans.plan_input import CompanionFiles, PlanInput, PlanName
from enginescope.services.plans.resolve_plan import only_plan, resolve_plans
from enginescope.services.store_access import place_of
from enginescope.store.location import StorePlace


class LintRequest(Record, frozen=True, kw_only=True):
    """Which plans, and which rules; see `lint`.

    Several plans in a folder or an archive are an error if `is_single`. `select` replaces the
    selection of `config`; `ignore` adds to it. `level` is the least severity of a finding that
    fails, by default that of `config`, else a warning. `sarif` is SARIF 2.1.0.
    """

    plans: tuple[PlanName, ...]
    is_single: bool = False
    profile: Path | None = None
    gpu: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: Level | None = None
    config: Path | None = None
    sarif: Path | None = None
    store: StorePlace | None = None


class LintResult(Record, frozen=True, kw_only=True):
    """Findings of each plan; it fails where a finding is at the level or above it."""

    plans: tuple[Linted, ...]
    is_failed: bool


def lint_plans(request: LintRequest, observer: PlanObserver) -> LintResult:
    if request.profile is not None and len(request.plans) > 1:
        raise UsageError("one profile for several plans", hint="give one plan with `profile`")
    paths = [plan for plan in request.plans if isinstance(plan, str | PathLike)]
    check_outputs([request.sarif], [*map(Path, paths), request.profile])
    config = _configuration(request)
    with gc_paused():
        inputs: list[PlanInput] = []
        companions = CompanionFiles(profile=request.profile)
        for name in request.plans:
            found = resolve_plans(name, companions, store=request.store, observer=observer)
            inputs += [only_plan(name, found)] if request.is_single else found
        linted = tuple(_linted(each, config, request.gpu) for each in inputs)
    for text in broken_rules().values():
        observer.warn(text)
    for each in inputs:
        differs = other_gpu(request.gpu, each.devices)
        for notice in (*each.own_notices, *((differs,) if differs else ())):
            observer.notice(notice)
    if request.sarif is not None:
        write_file(request.sarif, findings_sarif(linted))
        observer.file_written(request.sarif)
    findings = (finding for each in linted for finding in each.report.findings)
    return LintResult(plans=linted, is_failed=any(map(config.is_bad, findings)))


def lint(
    what: PlanName,
    *,
    profile: str | PathLike[str] | None = None,
    gpu: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    config: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
) -> LintReport:
    """Check a plan for what may cost time; see ``docs/reference/rules.md``.

    Args:
        what: What ``enginescope explore`` takes: a plan's JSON, with the files beside it that are
            named like it; an engine, where TensorRT is installed; a folder or an archive of one
            engine's files; a stored run: its folder, the beginning of its id, a tag, ``latest``.
        profile: Layer times, where they are not beside the plan's file.
        gpu: The GPU that the times are of; by default the run's or the view's.
        select, ignore: Rules by code (``"PLAN104"``), by the beginning of one, or by name.
        config: TOML with a ``[lint]`` table; the command line also reads ``enginescope.toml``.
        store: Store of the runs; by default the command line's.

    Returns:
        ``found.findings``, most time at stake first; ``found.groups``, those that say the same of
        repeated blocks as one; ``found.to_pandas()``.

    Raises:
        UsageError: There is no plan, or no such rule or GPU.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here.

    Examples:
        >>> es.lint("net.graph.json", ignore=["TIME2"]).findings[0]   # doctest: +SKIP
    """
    request = LintRequest(
        plans=(what,),
        is_single=True,
        profile=path_of(profile),
        gpu=gpu,
        select=tuple(select),
        ignore=tuple(ignore),
        config=path_of(config),
        store=place_of(store),
    )
    (linted,) = lint_plans(request, PlanObserver()).plans
    return linted.report


def lint_input(source: PlanInput) -> LintInput:
    """Return what the rules look at."""
    source.needed_plan()
    found = LintInput.of_run(RunView(source.as_run()), next(iter(source.devices), None))
    assert found is not None  # it has a plan
    return found


def _linted(source: PlanInput, config: LintConfig, gpu: str | None) -> Linted:
    subject = lint_input(source)
    if gpu is not None:
        subject = replace(subject, device=Device(name=limits_of(gpu, source.devices).name))
    report = find(subject, config)
    is_file = source.kind not in ("run", "view")
    return Linted(source=source.where, plan=subject.plan, report=report, is_file=is_file)


def _configuration(request: LintRequest) -> LintConfig:
    path = request.config
    base = config_of(_lint_table(path), str(path)) if path else LintConfig()
    select = checked(request.select) or base.select
    ignore = (*base.ignore, *checked(request.ignore))
    return replace(base, select=select, ignore=ignore, level=request.level or base.level)


def _lint_table(path: Path) -> dict[str, Any]:
    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror) from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise FormatError(str(path), why=str(error), expected="TOML") from None
    table = document.get("lint", {})
    if not isinstance(table, dict):
        raise FormatError(str(path), where="lint", why="no table", expected="[lint]")
    return table
