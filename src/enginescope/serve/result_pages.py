"""The pages on a run and on suites: report, files, history, comparison, a suite as it runs."""

import time
from collections.abc import Hashable, Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.compared_figures import check_metric
from enginescope.analysis.verdicts.history import RunFigure, histories_of
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.core.units import format_bytes
from enginescope.judge.notice import Notice
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.run import Run
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.facts import subject_line
from enginescope.render.suites.suite_answer import counts_sentence
from enginescope.serve.kept_runs import KeptFigures, KeptRuns, NotHereError
from enginescope.serve.list_views import LiveLine, framed, page, script_address
from enginescope.services.observer import PlanObserver
from enginescope.services.verdicts.compare import CompareRequest, CompareResult, compare_inputs
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunRow
from enginescope.store.suite_folder import SuiteFolder, suite_folders

#: The newest runs that a history is made of: each is read whole.
MOST_HISTORY_RUNS = 500
_HOUR_S = 3600.0
_HISTORY_THRESHOLD_PCT = 2.0


def run(request: Request) -> Response:
    from enginescope.render.page.page import report_page

    kept: KeptRuns = request.app.state.kept
    found = kept.run(request.path_params["run_id"])
    model = found.job.subject.name
    links = (
        (f"/history?{urlencode({'model': model})}", "History of this model"),
        (f"/runs?{urlencode({'model': model, 'with': found.id})}", "Compare with …"),
        (f"/runs/{found.id}/files", "Files"),
    )
    data = report_page([RunView(found)], script_address=script_address())
    return framed(request, data, links, here="runs")


def files(request: Request) -> Response:
    kept: KeptRuns = request.app.state.kept
    found = kept.run(request.path_params["run_id"])
    lines = [(one, kept.has_file(found, one.path) is not False) for one in found.artifacts]
    subject = subject_line(found)
    return page(
        request, "files", here="runs", run=found, subject=subject, lines=lines, size_of=format_bytes
    )


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
    background = BackgroundTask(held.close)
    return FileResponse(
        made, media_type="application/zip", filename=made.name, background=background
    )


def history(request: Request) -> Response:
    """Answer with a figure over the runs of a model."""
    from enginescope.render.verdicts.history_page import history_page
    from enginescope.render.verdicts.history_text import across_change

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
    if not (found := histories_in(read.figures, metric)):
        why = f"{len(read.figures)} runs have none"
        raise UsageError(f"no {metric} in the runs of {model}", why=why)
    runs = {row.id: f"/runs/{quote(row.id)}" for row in chosen}
    data = history_page(
        found, model=model, notices=read.notices, runs=runs, script_address=script_address()
    )
    links: tuple[tuple[str, str], ...] = ((f"/runs?{urlencode({'model': model})}", "Its runs"),)
    if (pair := across_change(found)) is not None:
        across = f"/compare?{urlencode({'run': pair}, doseq=True)}"
        links = ((across, "Compare across the change"), *links)
    return framed(request, data, links, here="home", problems=read.notices)


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
    """Answer with two runs side by side, the first named is the base; or with a comparison."""
    from enginescope.analysis.plan_comparison.comparison import THRESHOLD_PCT
    from enginescope.render.compare.compare_page import compare_page
    from enginescope.render.plan_comparison.compare_tables import Chosen

    kept: KeptRuns = request.app.state.kept
    names, tag = request.query_params.getlist("run"), request.query_params.get("tag")
    links: tuple[tuple[str, str], ...]
    if tag is not None:
        found = comparison_of_tag(tag, kept)
        links = ((f"/runs?{urlencode({'tag': tag})}", "Its runs"),)
    elif len(names) == 2 and names[0] != names[1]:
        found = compared([(kept.run(name),) for name in names], kept.store)
        sides = (
            (f"/runs/{one}", f"{side}: {one[:6]}") for side, one in zip("AB", names, strict=True)
        )
        other = f"/compare?{urlencode({'run': names[::-1]}, doseq=True)}"
        links = (*sides, (other, "The other way round"))
    else:
        what = f"{len(set(names))} runs to compare"
        raise UsageError(what, hint="choose two in the list of runs")
    chosen = Chosen(only=None, top=10, threshold_pct=THRESHOLD_PCT)
    data = compare_page(
        found.plans, chosen, None, measured=found.measured, script_address=script_address()
    )
    return framed(request, data, links, here="runs")


def comparison_of_tag(tag: str, kept: KeptRuns) -> CompareResult:
    """Compare the sides of an interleaved comparison."""
    rows = kept.store.select(Filter(tag=tag)) if tag.startswith(COMPARISON_TAG) else ()
    if not rows:
        raise NotHereError("this comparison", why="no comparison with that tag")
    return compared([[kept.run(row.id) for row in rows]], kept.store)


def compared(sides: Iterable[Iterable[Run]], store: Store) -> CompareResult:
    """Return verdicts where all sides were measured; what explains them where all have a plan.

    Args:
        sides: One alone is an interleaved comparison, of which the runs are.
    """
    request = CompareRequest(sides=tuple(map(tuple, sides)), store=store.place)
    return compare_inputs(request, PlanObserver())


def suites(request: Request) -> Response:
    store: Store = request.app.state.kept.store
    lines, broken = [], []
    notices: list[Notice] = []
    for folder in suite_folders(store.suite_home()):
        try:
            result = folder.result()
        except FormatError as error:
            broken.append(f"{folder.path.name}: {error.why}")
            continue
        live, created = _live_line(store, folder), result.plan.created[:16].replace("T", " ")
        state = live.state if live is not None else "finished"
        lines.append((folder.path.name, created, counts_sentence(result), state))
        notices += result.notices
    return page(request, "suites", here="suites", lines=lines, broken=broken, notices=notices)


def running_suites(store: Store) -> list[tuple[str, LiveLine]]:
    """Return the suites that are running now by name; one that cannot be read is left out."""
    found = []
    for folder in suite_folders(store.suite_home()):
        with suppress(FormatError):
            live = _live_line(store, folder)
            if live is not None and live.is_running:
                found.append((folder.path.name, live))
    return found


def suite(request: Request) -> Response:
    """Answer with the page of a suite; the cells of its matrix lead to the runs of the store."""
    from enginescope.render.suites.suite_page import suite_page

    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    folder = suite_folder(store, name)
    result = folder.result()
    runs = {run: f"/runs/{quote(run)}" for run in store.ids()}
    data = suite_page(result, runs=runs, script_address=script_address())
    live = _live_line(store, folder)
    links = tuple((f"/suites/{quote(name)}/{file}", file) for file in ("cells.csv", "results.csv"))
    return framed(request, data, links, here="suites", live=live, problems=result.notices)


def progress(request: Request) -> Response:
    """Answer with the line on a suite that runs; a page that shows other rows is loaded again."""
    store: Store = request.app.state.kept.store
    live = _live_line(store, suite_folder(store, request.path_params["name"]))
    if live is None or live.seen != request.query_params.get("seen"):
        return Response(headers={"HX-Refresh": "true"})
    return page(request, "live", live=live)


@lru_cache(maxsize=256)
def _standing(path: Path, state: Hashable) -> tuple[int, int, str | None, str]:
    """Return cells done and in all, when the last ended, and when the suite began.

    They are read once for as long as the folder stays as it is.
    """
    del state
    result = SuiteFolder(path).result()
    ended = max((row.ended for row in result.rows), default=None)
    return len(result.rows), len(result.plan.cells), ended, result.plan.created


def _live_line(store: Store, folder: SuiteFolder) -> LiveLine | None:
    """Return how far a suite is, and whether it runs; ``None``: it has finished."""
    lease, state = store.suite_lease(folder.path.name), folder.state()
    read = _standing if state is not None else _standing.__wrapped__
    done, total, ended, begun = read(folder.path, state)
    is_running = lease is not None and lease.expires > time.time()
    if not is_running and done == total:
        return None
    if lease is not None and is_running:
        text = f"running on {lease.owner}"
    else:
        since = ended or begun
        if lease is not None:
            since = max(since, datetime.fromtimestamp(lease.renewed, timezone.utc).isoformat())
        text = f"stopped since {_time_text(since)}"
    last = f"the last at {_time_text(ended)}" if ended is not None else "none has ended"
    return LiveLine(
        state=text,
        text=f"{done:,} of {total:,} cells, {last}",
        is_running=is_running,
        seen=f"{done} {ended} {is_running}",
        address=f"/suites/{quote(folder.path.name)}/progress",
    )


def _time_text(stamp: str) -> str:
    return f"{stamp[:19].replace('T', ' ')} UTC"


def table(request: Request) -> Response:
    from enginescope.render.suites.suite_page import suite_files

    store: Store = request.app.state.kept.store
    file: str = request.path_params["file"]
    data = suite_files(suite_folder(store, request.path_params["name"]).result()).get(file)
    if data is None:
        raise NotHereError("this file", why="no table of a suite with that name")
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(data, media_type="text/csv", headers=headers)


def suite_folder(store: Store, name: str) -> SuiteFolder:
    """Return a suite by its name in the list: no path is made of what comes over the network."""
    for folder in suite_folders(store.suite_home()):
        if folder.path.name == name:
            return folder
    raise NotHereError("this suite", why="no suite with that name")
