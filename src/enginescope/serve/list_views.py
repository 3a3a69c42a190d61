"""What pages of the server have in common: the files that they load, and the list of runs."""

import gzip
import hashlib
import html
import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, cast, get_args
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from enginescope._version import __version__
from enginescope.analysis.claims.run_claims import ROUGH_PCT
from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.units import format_significant
from enginescope.records.run.run import OutcomeKind
from enginescope.render.base.short_names import NAME_LENGTH, outcome_word, told_apart
from enginescope.render.html.page_frame import every_script, page_template, style
from enginescope.serve.kept_runs import NotHereError
from enginescope.store.archive import Store
from enginescope.store.row import Filter, RunOrder, RunRow

_STATIC = files("enginescope.serve") / "static"
_SCRIPT = "text/javascript"
_OWN = {"htmx.min.js": _SCRIPT, "serve.js": _SCRIPT, "LICENSES.txt": "text/plain"}


class Packed(Record, frozen=True, kw_only=True):
    """An answer's content, compressed with gzip; its hash tells browsers whether they have it.

    Attributes:
        headers: Which every response has.
    """

    data: bytes
    digest: str
    kind: str
    headers: dict[str, str]

    def response(self, request: Request) -> Response:
        """Return the content, or 304 to a browser that has it."""
        takes_gzip = "gzip" in request.headers.get("accept-encoding", "")
        tag = f'"{self.digest}{"-gzip" if takes_gzip else ""}"'
        every = {**self.headers, "ETag": tag, "Vary": "Accept-Encoding"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=every)
        every |= {"Content-Encoding": "gzip"} if takes_gzip else {}
        data = self.data if takes_gzip else gzip.decompress(self.data)
        return Response(data, media_type=self.kind, headers=every)


def packed(data: bytes, kind: str, headers: dict[str, str], level: int = 9) -> Packed:
    """Return content compressed; `level` as zlib's, 0…9."""
    small = gzip.compress(data, level, mtime=0)
    return Packed(data=small, digest=_digest(data), kind=kind, headers=headers)


@cache
def script_name() -> str:
    """Return the name of the script of all report pages, with a hash of its content."""
    return f"pages-{_digest(every_script().text.encode())}.js"


def script_address() -> str:
    """Return where pages of the reading wing find their script."""
    return f"/static/{script_name()}"


@cache
def top_style() -> str:
    """Return the styles of the links at the top of every page."""
    return (_STATIC / "top.css").read_text(encoding="utf-8")


@cache
def _asset(name: str) -> Packed:
    if name == script_name():  # its name has a hash: another content has another name
        keep = {"Cache-Control": "public, max-age=31536000, immutable"}
        return packed(every_script().text.encode(), _SCRIPT, keep)
    keep = {"Cache-Control": "max-age=3600"}
    if name == "page.css":
        own = (_STATIC / "serve.css").read_text(encoding="utf-8")
        return packed((style() + top_style() + own).encode(), "text/css", keep)
    return packed((_STATIC / name).read_bytes(), _OWN[name], keep)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


_HERE = "enginescope.serve"
#: `Cache-Control` of a page that names a problem or is incomplete: it is made anew, here too.
NO_STORE = "no-store"
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_CONNECT = b"; connect-src &#39;self&#39;"
#: What the head of every page replaces in a page that the reading wing made.
_HEAD = b'<header class="top">\n<span class="brand">enginescope</span>\n'


def page(
    request: Request, name: str, /, *, status: int = 200, here: str = "", **values: Any
) -> HTMLResponse:
    """Return a page of ours.

    Args:
        name: Of the template.
        here: Which of the links at the top is this page's.
    """
    template = page_template(f"{name}.html.j2", package=_HERE)
    problems = [one for key in ("notices", "broken", "unread") for one in values.get(key, ())]
    text = template.render(
        here=here,
        version=__version__,
        has_token=request.app.state.access.needs_token,
        pages=_pages(request),
        outcome_word=outcome_word,
        **values,
    )
    headers = {"Cache-Control": NO_STORE} if problems else None
    return HTMLResponse(text, status_code=status, headers=headers)


def _pages(request: Request) -> tuple[tuple[str, str, str], ...]:
    pages = [("home", "/", "Overview"), ("runs", "/runs", "Runs"), ("suites", "/suites", "Suites")]
    pages += [("gate", "/gate", "Gates")] if request.app.state.gates.gates else []
    pages += [("pushes", "/pushes", "Pushes")] if shows_pushes(request) else []
    return tuple(pages)


def shows_pushes(request: Request) -> bool:
    """Whether pages lead whoever asks to the list of pushes."""
    holder = getattr(request.state, "holder", None)
    return request.app.state.accepts and (holder is None or holder.allows("admin"))


class LiveLine(Record, frozen=True, kw_only=True):
    """A line above a page that changes while somebody looks at it.

    Attributes:
        seen: What the page shows; once it is something else, the page is loaded again.
        address: Where the next line is.
    """

    text: str
    state: str
    is_running: bool
    seen: str
    address: str


def framed(
    request: Request,
    data: bytes,
    links: tuple[tuple[str, str], ...],
    *,
    here: str,
    live: LiveLine | None = None,
    problems: Sequence[object] = (),
) -> Response:
    """Return a page of the reading wing under the links of every page, with its own policy.

    Args:
        links: Address and text of what belongs to this page.
        here: As for `page`.
        live: Its line is asked for again, and may connect to this server alone.
        problems: What the page says is wrong.
    """
    if live is not None:  # the page's own policy holds besides that of the header
        data = _POLICY.sub(lambda meta: meta[0].replace(meta[1], meta[1] + _CONNECT), data, count=1)
    found = _POLICY.search(data)
    policy = html.unescape(found[1].decode()) if found else "default-src 'none'"
    head = page_template("head.html.j2", package=_HERE).render(
        links=links, live=live, here=here, pages=_pages(request), style=top_style()
    )
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    headers |= {"Cache-Control": NO_STORE} if problems else {}
    return Response(data.replace(_HEAD, head.encode(), 1), media_type="text/html", headers=headers)


def failure(request: Request, error: Exception) -> Response:
    """Return the page of an error: what, why, and the next step."""
    is_broken = isinstance(error, (StoreError, FormatError))
    status = 404 if isinstance(error, NotHereError) else 500 if is_broken else 400
    return page(request, "failure", status=status, error=error)


def not_found(request: Request, _error: Exception) -> Response:
    """Return the page of an address that there is not; programs get no page."""
    if request.scope["path"].startswith("/api"):
        return JSONResponse({"error": "there is nothing here"}, status_code=404)
    missing = NotHereError("this address", why="there is nothing here")
    return page(request, "failure", status=404, error=missing)


def static_file(request: Request) -> Response:
    """Answer with a file that our pages load, or with 304 to a browser that has it."""
    name = request.path_params["name"]
    is_there = name in {script_name(), "page.css", *_OWN}
    return _asset(name).response(request) if is_there else not_found(request, LookupError())


#: Rows of a page.
PAGE_ROWS = 50
#: How long a page waits for what is not known yet.
WAIT_S = 0.3
#: Runs that can be ticked: those of a comparison.
MOST_PICKED = 2
_MOST_PAGES = 100_000


def runs(request: Request) -> Response:
    """Answer with a page of the runs that were asked for."""
    store: Store = request.app.state.kept.store
    asked = _asked(request)
    picked = tuple(dict.fromkeys(request.query_params.getlist("pick")))[:MOST_PICKED]
    query: tuple[tuple[str, str], ...] = (*asked.items(), *(("pick", run) for run in picked))
    number = page_number(request)
    rows = run_rows(request)
    lines = rows[:PAGE_ROWS]
    warnings = request.app.state.warnings.read(lines, WAIT_S)
    apart = told_apart([row.backend for row in lines], NAME_LENGTH)
    return page(
        request,
        "runs",
        here="runs",
        asked=asked,
        outcomes=[(kind.value, outcome_word(kind.value)) for kind in OutcomeKind],
        lines=lines,
        backends={row.backend: name for row, name in zip(lines, apart.labels, strict=True)},
        options=apart.shared,
        warnings=warnings,
        unread=[row for row in lines if row.id not in warnings],
        median_of=_median,
        rough_pct=ROUGH_PCT,
        unstable=sum(one.is_unstable for one in warnings.values()),
        picked=picked,
        away=[run for run in picked if run not in {row.id for row in lines}],
        sorts={name: _sort_link(query, orders) for name, orders in _SORTS.items()},
        first=(number - 1) * PAGE_ROWS + 1,
        notices=store.notices,
        **places("/runs", query, number, has_more=len(rows) > PAGE_ROWS),
    )


def run_rows(request: Request) -> tuple[RunRow, ...]:
    """Return the runs of a page of the list, and the first of the next page."""
    terms, number = _asked(request), page_number(request)
    outcomes, orders = [kind.value for kind in OutcomeKind], get_args(RunOrder)
    for what, name, choices in (("outcome", "outcome", outcomes), ("order", "sort", orders)):
        if (value := terms.get(name, choices[0])) not in choices:
            raise UsageError(f"there is no {what} {value!r}", hint=did_you_mean(value, choices))
    for day in filter(None, (terms.get("since"), terms.get("until"))):
        try:
            date.fromisoformat(day)
        except ValueError as error:
            raise UsageError(f"{day!r} is not a day", hint="2026-11-21") from error
    wanted = Filter(
        **{name: terms.get(name) for name in ("model", "outcome", "tag", "since", "until")},
        backend=terms.get("on"),
        order=cast("RunOrder", terms.get("sort", "newest")),
        limit=PAGE_ROWS + 1,
        offset=(number - 1) * PAGE_ROWS,
    )
    return cast("tuple[RunRow, ...]", request.app.state.rows.select(wanted))


def _asked(request: Request) -> dict[str, str]:
    return asked_of(request, "model", "on", "outcome", "tag", "since", "until", "sort", "with")


#: Headings that sort: the order of the first click, and of the second.
_SORTS: dict[str, tuple[RunOrder, RunOrder]] = {
    "made": ("newest", "oldest"),
    "median": ("fastest", "slowest"),
    "model": ("model", "model"),
}
_FALLING = ("newest", "slowest")


def _sort_link(
    query: Sequence[tuple[str, str]], orders: tuple[RunOrder, RunOrder]
) -> tuple[str, str | None]:
    """Return the address of a heading, and which way the list is sorted by it."""
    now = dict(query).get("sort", "newest")
    order = orders[1] if now == orders[0] else orders[0]
    others = [(name, value) for name, value in query if name != "sort"]
    way = "descending" if now in _FALLING else "ascending"
    return f"/runs?{urlencode([*others, ('sort', order)])}", way if now in orders else None


def _median(row: RunRow) -> str:
    if row.median_ms is None:
        return ""
    text = f"{format_significant(row.median_ms, 4)} ms"
    return f"{text} (printed)" if row.is_printed else text


def page_number(request: Request) -> int:
    """Return which page of a list is asked for."""
    text = request.query_params.get("page", "1")
    if not re.fullmatch("[0-9]{1,19}", text) or not 1 <= int(text) <= _MOST_PAGES:
        raise UsageError(f"page {text[:20]!r}", why="pages are counted from 1")
    return int(text)


def places(
    path: str, query: Sequence[tuple[str, str]], number: int, *, has_more: bool
) -> dict[str, Any]:
    """Return the addresses of a page of a list, of the one before and of the one after."""
    pages = f"{path}?{urlencode([*query, ('page', '')])}"
    before = f"{pages}{number - 1}" if number > 1 else None
    after = f"{pages}{number + 1}" if has_more else None
    return {"address": f"{pages}{number}", "before": before, "after": after}


def asked_of(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of those names that have a value."""
    given = ((name, request.query_params.get(name, "").strip()) for name in names)
    return {name: value for name, value in given if value}
