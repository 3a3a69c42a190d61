"""The pages of suites: which there are, and one as models by backends, also while it runs."""

from __future__ import annotations

import time
from collections.abc import Hashable
from contextlib import suppress
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from enginescope.core.errors import FormatError
from enginescope.judge.notice import Notice
from enginescope.render.suites.suite_answer import counts_sentence
from enginescope.serve.assets import script_address
from enginescope.serve.kept_runs import NotHereError
from enginescope.serve.list_views import LiveLine, framed, page
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder, suite_folders


def suites(request: Request) -> Response:
    """Answer with the list of suites."""
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
    folder = suite_folder(store, request.path_params["name"])
    live = _live_line(store, folder)
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
    """Return a time of a row, which is UTC, for people."""
    return f"{stamp[:19].replace('T', ' ')} UTC"


def table(request: Request) -> Response:
    """Answer with one of a suite's tables."""
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
