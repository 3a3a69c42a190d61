"""The pages of suites: which there are, and one as models by backends."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.records.suite.suite import SuiteResult
from enginescope.render.suites.suite_phrases import counts_sentence
from enginescope.serve.assets import script_address
from enginescope.serve.kept_pages import KeptPages, Page
from enginescope.serve.kept_runs import NotHereError
from enginescope.serve.list_views import framed, page
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder, suite_folders


class SuiteLine(Record, frozen=True, kw_only=True):
    """A suite in the list."""

    name: str
    created: str
    counts: str


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
        made = result.plan.created[:16].replace("T", " ")
        lines.append(SuiteLine(name=folder.path.name, created=made, counts=counts_sentence(result)))
        notices += result.notices
    return page(request, "suites", here="suites", lines=lines, broken=broken, notices=notices)


def suite(request: Request) -> Response:
    """Answer with the page of a suite; the cells of its matrix lead to the runs of the store."""
    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    folder = _folder(store, name)
    pages: KeptPages = request.app.state.pages
    states = (folder.state(), store.state())
    key = None if None in states else (folder.path, *states)
    data = pages.get(key, lambda: _suite_page(store, folder))
    links = (("/suites", "Suites"), (f"/suites/{quote(name)}/results.csv", "results.csv"))
    return framed(data, links)


def _suite_page(store: Store, folder: SuiteFolder) -> Page:
    from enginescope.render.suites.suite_page import suite_page

    result = folder.result()
    runs = {run: f"/runs/{quote(run)}" for run in store.ids()}
    return Page(
        data=suite_page(result, _table(result), runs=runs, script_address=script_address()),
        is_kept=not result.notices,
    )


def table(request: Request) -> Response:
    """Answer with a suite's tidy table."""
    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    data = _table(_folder(store, name).result())
    headers = {"Content-Disposition": 'attachment; filename="results.csv"'}
    return Response(data, media_type="text/csv", headers=headers)


def _table(result: SuiteResult) -> bytes:
    from enginescope.analysis.suites.suite_table import COLUMNS, tidy_columns
    from enginescope.render.base.data_table import csv_bytes

    return csv_bytes(COLUMNS, zip(*tidy_columns(result).values(), strict=True))


def _folder(store: Store, name: str) -> SuiteFolder:
    """Return a suite by its name in the list: no path is made of what comes over the network."""
    for folder in suite_folders(store.suite_home()):
        if folder.path.name == name:
            return folder
    raise NotHereError("this suite", why="no suite with that name")
