"""The library's front door: the verbs as functions, runs with their figures as results."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from enginescope.analysis.run_view import RunView
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.model.build import BuildReport
from enginescope.model.job import Limits, Workload
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.telemetry_rule import Depth, TelemetryRule
from enginescope.shown_run import ShownRun

if TYPE_CHECKING:
    from enginescope.analysis.comparison import Comparison
    from enginescope.analysis.plan_view import PlanView
    from enginescope.analysis.validation import Validation
    from enginescope.render.report import WrittenReport


def bench(
    model: str | PathLike[str],
    *,
    on: str = "ort-cpu",
    workload: Workload | None = None,
    layer_profile: bool = True,
    limits: Limits | None = None,
    data: str = "auto",
    telemetry: TelemetryRule | Depth = "clock",
    commit: str | None = None,
    store: str | PathLike[str] | None = None,
) -> RunView:
    """Measure one model in a fresh process.

    Parameters
    ----------
    model : path
        An ONNX model, or a TensorRT engine.
    on : str
        Backend specification, such as ``"ort-cpu?intra_op_num_threads=1"`` or ``"trt:fp16"``.
    workload : Workload, optional
        Shapes, feeds, warm-up and stop rule. By default: seeded random inputs, 200 ms of warm-up,
        and samples until the 95 % interval of the median is within ±0.5 % or 10 s are over.
    layer_profile : bool
        Whether to time the nodes too, in a pass of their own.
    limits : Limits, optional
        Timeout in seconds and memory in bytes of the process.
    data : str
        ``"auto"``: a ``test_data_set_*`` folder beside the model; ``"none"``; or a folder.
    telemetry : {"clock", "full", "off"} or TelemetryRule
        What is asked of the GPU: its clock around the timed loop; power, energy, memory and the
        rest too, in a pass of their own; nothing.
    commit : str, optional
        What the run is of, where that is not the commit of the working directory.
    store : path, optional
        Folder or database of runs to keep the run in; by default it is not stored. Engines that are
        built are kept there too, by default in the store that the command line uses.

    Returns
    -------
    RunView
        ``run.latency.median_ms`` and the rest, computed from the samples when asked.

    Raises
    ------
    UsageError
        The model or backend is not there, or the request contradicts the model.
    UnsupportedError
        This machine or build cannot run it on that backend.
    BackendError
        It failed, crashed, timed out or ran out of memory; the message says which.
    """
    from enginescope.runner.jobs import make_jobs, watched
    from enginescope.runner.session import run_jobs

    rule = TelemetryRule(depth=telemetry) if isinstance(telemetry, str) else telemetry
    jobs = make_jobs(
        [Path(model)],
        [on],
        workload or Workload(),
        limits=limits,
        layer_profile=layer_profile,
        data=data,
        engine_cache=_engines(store),
    )

    def keep(run: Run) -> None:
        if store is not None:
            from enginescope.store.archive import Store
            from enginescope.store.location import parse_place

            Store(parse_place(str(store))).save(run.of_commit(commit))

    # the program's own command line: what repeats a call from Python
    (run,) = run_jobs(watched(jobs, rule), keep, command=shlex.join(sys.orig_argv))
    _raise_unless_ok(run)
    return ShownRun(run.of_commit(commit))


def build(
    model: str | PathLike[str],
    engine: str | PathLike[str] | None = None,
    *,
    on: str = "trt",
    workload: Workload | None = None,
    limits: Limits | None = None,
    rebuild: bool = False,
    store: str | PathLike[str] | None = None,
) -> BuildReport:
    """Build a TensorRT engine in a process of its own, or take the one that was built before.

    Parameters
    ----------
    model : path
        An ONNX model.
    engine : path, optional
        Where to copy the engine; by default it stays in the engine cache alone.
    on : str
        Backend specification with precision and options: ``"trt:fp16?workspace=4GiB"``.
    workload : Workload, optional
        Batch and shapes of dynamic inputs, where the options name none.
    rebuild : bool
        Build even if the cache has it.
    store : path, optional
        Folder whose engine cache is used; by default the one the command line uses.

    Returns
    -------
    BuildReport
        ``report.engine`` is the path.

    Raises
    ------
    UsageError
        The model is not there, or the backend builds nothing.
    UnsupportedError, BackendError
        It cannot be built, or building failed.
    """
    from enginescope.runner.jobs import make_jobs
    from enginescope.runner.session import build_engines

    jobs = make_jobs(
        [Path(model)],
        [on],
        workload or Workload(),
        limits=limits,
        data="none",
        engine_cache=_engines(store),
        rebuild=rebuild,
    )
    (run,) = build_engines(jobs, lambda _run: None, command=shlex.join(sys.orig_argv))
    _raise_unless_ok(run)
    if run.build is None:
        raise UsageError(f"{on} builds no engine of {model}", hint='on="trt:fp16"')
    if engine is None:
        return run.build
    shutil.copyfile(run.build.engine, engine)
    return msgspec.structs.replace(run.build, engine=str(engine))


def load_run(path: str | PathLike[str]) -> RunView:
    """Return a stored run from its folder or its ``run.json``.

    Raises
    ------
    StoreError, FormatError
        There is no run, or it is damaged; the message names the file.
    """
    from enginescope.store.archive import load_path

    return ShownRun(load_path(Path(path)))


def import_artifacts(*paths: str | PathLike[str]) -> tuple[RunView, ...]:
    """Return the runs in files that other tools left, one for each engine.

    Parameters
    ----------
    *paths : path
        Files or folders: trtexec's times, profile, layer information and logs, trex's metadata,
        ONNX Runtime profiles. They are known by content.

    Raises
    ------
    UsageError
        A path is not there, or nothing in it was recognised.
    """
    from enginescope.formats.importer import import_artifacts as read

    return tuple(ShownRun(run) for run in read([Path(path) for path in paths]).runs)


def write_report(
    runs: RunView | Sequence[RunView],
    folder: str | PathLike[str],
    *,
    topk: int = 30,
    answers: Validation | None = None,
) -> WrittenReport:
    """Write the report of `runs` into `folder`.

    Parameters
    ----------
    topk : int
        Layers drawn in the per-layer plot; tables hold all.
    answers : Validation, optional
        What `validate` found of the same models, to be carried by the report.
    """
    from enginescope.render.report import write_report as write
    from enginescope.render.report_answers import ReportedAnswers

    views = [runs] if isinstance(runs, RunView) else list(runs)
    carried = (ReportedAnswers(source="es.validate", validation=answers),) if answers else ()
    return write(views, Path(folder), topk=topk, answers=carried)


def compare_plans(
    *plans: str | PathLike[str] | RunView | PlanView,
    names: Sequence[str] | None = None,
    plan_profile: int = 0,
    store: str | PathLike[str] | None = None,
) -> Comparison:
    """Compare plans; of two also layer by layer, with what explains the difference.

    Parameters
    ----------
    *plans : path, name, RunView or PlanView
        What ``enginescope explore`` takes: a plan's JSON, with the files beside it that are named
        like it; an engine, where TensorRT is installed; a folder or an archive of one engine's
        files; a stored run: its folder, the beginning of its id, a tag, ``latest``. The first is
        the base.
    names : sequence of str, optional
        What to call them, in their order.
    plan_profile : int
        Optimisation profile to look at, of plans that have several.
    store : path or database URL, optional
        Where runs are looked for by name; by default where the command line does.

    Returns
    -------
    Comparison
        ``found.overview`` has each plan; of two, ``found.layers`` every layer with its
        counterpart and ``found.layers.explanations`` the reasons for the difference in ms;
        ``found.to_pandas()`` is a row per pair.

    Raises
    ------
    UsageError
        Fewer than two plans, or something that has none.
    FormatError
        A file cannot be used.
    """
    from enginescope.analysis.comparison import compare
    from enginescope.planned_run import planned_run
    from enginescope.shown_comparison import ShownComparison

    runs = [planned_run(one, store=store) for one in plans]
    return ShownComparison.of(compare(runs, names=names, plan_profile=plan_profile))


def _engines(store: str | PathLike[str] | None) -> Path:
    from enginescope.store.archive import Store
    from enginescope.store.location import parse_place

    return Store(parse_place(str(store)) if store is not None else None).path / "engines"


def _raise_unless_ok(run: Run) -> None:
    outcome = run.outcome
    if outcome.kind is OutcomeKind.OK:
        return
    kind = UnsupportedError if outcome.kind is OutcomeKind.UNSUPPORTED else BackendError
    what = f"{run.job.subject.name} on {run.job.backend}: {outcome.kind.value}"
    raise kind(what, why=outcome.message, hint=outcome.hint)
