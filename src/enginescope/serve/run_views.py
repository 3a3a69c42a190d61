"""The pages on a run: its report, its files, its history, it beside another one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.comparison import compare as compare_plans
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.history import RunFigure, histories_of
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredSide,
    compare_sides,
)
from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.record import Record
from enginescope.core.temporary_folder import temporary_folder
from enginescope.core.units import format_bytes
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.render.base.facts import subject_line
from enginescope.render.verdicts.verdict_phrases import side_names
from enginescope.serve.assets import script_address
from enginescope.serve.kept_runs import KeptFigures, KeptRuns
from enginescope.serve.list_views import framed, page
from enginescope.store.machine_records import FLOORS, SPREADS
from enginescope.store.row import Filter, RunRow

#: The newest runs that a history is made of: each is read whole.
MOST_HISTORY_RUNS = 500
_HOUR_S = 3600.0
_HISTORY_THRESHOLD_PCT = 2.0


class FileLine(Record, frozen=True, kw_only=True):
    """A file of a run; `is_there` where it can be had."""

    path: str
    kind: str
    size: str
    is_there: bool


def run(request: Request) -> Response:
    """Answer with the report of a run."""
    from enginescope.render.page.page import report_page

    kept: KeptRuns = request.app.state.kept
    found = kept.run(request.path_params["run_id"])
    model = found.job.subject.name
    links = (
        ("/runs", "Runs"),
        (f"/history?{urlencode({'model': model})}", "History of this model"),
        (f"/runs?{urlencode({'model': model, 'with': found.id})}", "Compare with …"),
        (f"/runs/{found.id}/files", "Files"),
    )
    return framed(report_page([RunView(found)], script_address=script_address()), links)


def files(request: Request) -> Response:
    """Answer with the list of a run's files."""
    kept: KeptRuns = request.app.state.kept
    found = kept.run(request.path_params["run_id"])
    lines = [
        FileLine(
            path=artifact.path,
            kind=artifact.kind,
            size=format_bytes(artifact.size_bytes) if artifact.size_bytes is not None else "",
            is_there=kept.has_file(found, artifact.path) is not False,
        )
        for artifact in found.artifacts
    ]
    return page(request, "files", here="runs", run=found, subject=subject_line(found), lines=lines)


def file(request: Request) -> Response:
    """Answer with one file of a run, to be saved and not shown."""
    kept: KeptRuns = request.app.state.kept
    _, path = kept.artifact(request.path_params["run_id"], request.path_params["path"])
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


def archive(request: Request) -> Response:
    """Answer with a run as a zip file that ``enginescope runs import-zip`` takes."""
    kept: KeptRuns = request.app.state.kept
    found = kept.run(request.path_params["run_id"])
    held = ExitStack()
    folder = held.enter_context(temporary_folder())
    try:
        made = kept.store.export(found.id, folder / f"{found.id}.zip")
    except BaseException:  # whatever ends it: no temporary folder stays
        held.close()
        raise
    return FileResponse(
        made,
        media_type="application/zip",
        filename=made.name,
        background=BackgroundTask(held.close),
    )


def history(request: Request) -> Response:
    """Answer with a figure over the runs of a model."""
    from enginescope.analysis.verdicts.compared_figures import check_metric
    from enginescope.render.verdicts.history_page import history_page

    model = request.query_params.get("model", "")
    metric = check_metric(request.query_params.get("metric", "latency"))
    chosen = history_rows(request)
    if not model or not chosen:
        raise UsageError("no runs of this model", hint="choose a model from the list")
    figures: KeptFigures = request.app.state.figures
    read = figures.read(chosen[::-1], metric)
    if not read.figures:
        why = f"none can be read; {read.notices[-1].message}"
        raise FormatError(f"the runs of {model}", why=why)
    found = histories_in(read.figures, metric)
    if not found:
        why = f"{len(read.figures)} runs have none"
        raise UsageError(f"no {metric} in the runs of {model}", why=why)
    data = history_page(found, model=model, notices=read.notices, script_address=script_address())
    links = (("/models", "Models"), (f"/runs?{urlencode({'model': model})}", "Its runs"))
    return framed(data, links, problems=read.notices)


def history_rows(request: Request) -> tuple[RunRow, ...]:
    """Return the runs that a history is asked of, the newest first."""
    model = request.query_params.get("model", "")
    wanted = Filter(model=model, backend=request.query_params.get("on") or None)
    rows: tuple[RunRow, ...] = request.app.state.rows.select(wanted)
    return tuple(row for row in rows if row.model == model)[:MOST_HISTORY_RUNS]


def histories_in(figures: Sequence[RunFigure], metric: str) -> tuple[JobHistory, ...]:
    """Return histories as the server shows them and watches them."""
    return histories_of(figures, metric, threshold_pct=_HISTORY_THRESHOLD_PCT, sitting_s=_HOUR_S)


def compare(request: Request) -> Response:
    """Answer with two runs side by side: the first named is the base."""
    from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT
    from enginescope.render.compare.compare_page import compare_page
    from enginescope.render.plan_comparison.compare_tables import Chosen

    kept: KeptRuns = request.app.state.kept
    names = request.query_params.getlist("run")
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(
            f"{len(set(names))} runs to compare", hint="choose two in the list of runs"
        )
    a, b = (kept.run(name) for name in names)
    measured, plans = comparison_of(a, b, kept.store.path)
    chosen = Chosen(only=None, top=10, threshold_pct=THRESHOLD_PCT)
    links = (
        ("/runs", "Runs"),
        (f"/runs/{a.id}", f"A: {a.id[:6]}"),
        (f"/runs/{b.id}", f"B: {b.id[:6]}"),
        (f"/compare?{urlencode({'run': [b.id, a.id]}, doseq=True)}", "The other way round"),
    )
    return framed(
        compare_page(plans, chosen, None, measured=measured, script_address=script_address()), links
    )


def comparison_of(
    a: Run, b: Run, folder: Path
) -> tuple[MeasuredComparison | None, Comparison | None]:
    """Return verdicts, where both were measured, and what explains them, where both have a plan.

    Args:
        folder: Of noise floors.
    """
    runs = (a, b)
    names = side_names([run.job for run in runs])
    if len(set(names)) < len(names):
        names = [f"{name} ({one.id[:6]})" for name, one in zip(names, runs, strict=True)]
    measured = plans = None
    if all(run.headline is not None for run in runs):
        sides = [
            MeasuredSide(label=label, name=name, runs=(one,))
            for label, name, one in zip("AB", names, runs, strict=True)
        ]
        measured = compare_sides(
            sides, CompareConfig(spreads=SPREADS.usable(folder, lambda _why: None)), _floors(folder)
        )
    if all(run.plan is not None for run in runs):
        plans = compare_plans(list(runs), names=names, plan_profile=0)
    if measured is None and plans is None:
        raise UsageError(
            "these two runs cannot be compared",
            why="neither were both measured, nor have both a plan",
            hint="choose two runs that succeeded",
        )
    return measured, plans


def _floors(folder: Path) -> tuple[NoiseFloor, ...]:
    try:
        return FLOORS.read(folder)
    except (FormatError, StoreError):  # verdicts are given without, and more carefully
        return ()
