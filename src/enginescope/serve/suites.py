"""The pages of suites: which there are, and one as models by backends."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.suites.suite_phrases import (
    MatrixCell,
    backend_names,
    baseline_sentence,
    cell_text,
    counts_sentence,
    matrix,
    options_sentence,
    reason_text,
    status_text,
)
from enginescope.serve.kept_runs import NotHereError
from enginescope.serve.list_views import framed, page
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder, suite_folders

#: What the table leaves out, and what its figures are of.
_EXPLAINED = (options_sentence, baseline_sentence)


class SuiteLine(Record, frozen=True, kw_only=True):
    """A suite in the list."""

    name: str
    created: str
    counts: str


class CellView(Record, frozen=True, kw_only=True):
    """A cell of the matrix: what it says, how it looks, where it leads."""

    text: str
    looks: str
    run: str | None
    title: str


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
    """Answer with a suite's matrix."""
    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    result = _folder(store, name).result()
    kept = frozenset(store.ids())
    lines = [(line.name, [_view(cell, kept) for cell in line.cells]) for line in matrix(result)]
    bad = [
        (
            row.cell.label,
            status_text(row.status),
            reason_text(row),
            row.run if row.run in kept else None,
        )
        for row in result.rows
        if row.status is not CellStatus.OK
    ]
    return page(
        request,
        "suite",
        here="suites",
        name=name,
        specs=list(backend_names(result).values()),
        lines=lines,
        bad=bad,
        counts=counts_sentence(result),
        explained=[text for say in _EXPLAINED if (text := say(result))],
        notices=result.notices,
    )


def report(request: Request) -> Response:
    """Answer with the page of a suite: charts, every cell, conditions."""
    from enginescope.render.suites.suite_page import suite_page

    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    result = _folder(store, name).result()
    links = (("/suites", "Suites"), (f"/suites/{quote(name)}", "Cells and their runs"))
    return framed(suite_page(result, _table(result)), links)


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


def _view(cell: MatrixCell, kept: frozenset[str]) -> CellView:
    run = cell.row.run if cell.row is not None and cell.row.run in kept else None
    looks = "plain"
    if cell.row is not None and cell.row.status is not CellStatus.OK:
        looks = "unsupported" if cell.row.status is CellStatus.UNSUPPORTED else "bad"
    elif cell.is_baseline:
        looks = "base"
    elif cell.speed_up is not None:
        looks = _heat(cell.speed_up)
    reason = cell.row.reason if cell.row is not None else None
    return CellView(text=cell_text(cell), looks=looks, run=run, title=reason or "")


def _heat(speed_up: float) -> str:
    """Return a class of the style sheet: slower, alike, faster in four steps."""
    for bound, name in ((0.9, "slower"), (1.1, "alike"), (1.5, "faster-1"), (3.0, "faster-2")):
        if speed_up < bound:
            return name
    return "faster-3"
