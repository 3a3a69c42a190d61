"""Runs that are pushed: which are missing, and one at a time as a zip file; suites row by row.

A log records who sent which run, when, from where, and the outcome.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from enginescope._version import __version__
from enginescope.core.errors import EnginescopeError, FormatError, StoreError, os_errors_as
from enginescope.core.jsonio import prepared
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import SuiteChange
from enginescope.serve.access import lacks
from enginescope.serve.kept_runs import KeptRuns
from enginescope.serve.list_views import PAGE_ROWS, page, page_number, places
from enginescope.store.archive import Store
from enginescope.store.run_names import is_id, is_tag
from enginescope.store.server_tokens import FOLDER
from enginescope.store.suite_folder import SuiteRunsError

FILE = "pushes.jsonl"
#: Beyond that, what is older moves to a second file, and what was there is gone.
MOST_BYTES = 16 << 20
_PRIVATE_FOLDER = 0o700


class Push(Record, frozen=True, kw_only=True):
    """One run, or some rows of a suite, that was sent.

    Attributes:
        at: UTC, ISO 8601.
        token: Name of the token.
        address: Of the client, or of a proxy before this server.
        run: Its id, or the name of the suite.
        result: ``stored``, ``there``, ``written``, or why it was refused.
    """

    at: str
    token: str
    address: str
    run: str
    status: int
    result: str
    is_suite: bool = False


class PushLog:
    """Pushes, one line each, on the disk before the client is answered."""

    def __init__(self, store: Path) -> None:
        self.file = store / FOLDER / FILE
        self._older = self.file.with_name(f"older-{FILE}")
        self._lock = threading.Lock()

    def add(self, push: Push) -> None:
        line = msgspec.json.encode(push) + b"\n"
        with os_errors_as(StoreError, f"cannot write {self.file}"), self._lock:
            self.file.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            if self.file.exists() and self.file.stat().st_size > MOST_BYTES:
                self.file.replace(self._older)
            with self.file.open("a+b") as file:
                file.seek(max(file.tell() - 1, 0))
                if file.read() not in (b"", b"\n"):
                    line = b"\n" + line  # a kill cut the last one off
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

    def newest(self) -> tuple[Push, ...]:
        """Return pushes, the newest first; a line that was cut off is left out."""
        pushes = []
        for file in (self._older, self.file):
            for line in file.read_bytes().splitlines() if file.is_file() else ():
                try:
                    pushes.append(msgspec.json.decode(line, type=prepared(Push)))
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue
        return tuple(reversed(pushes))


def recorded(
    request: Request, name: str, answer: JSONResponse, *, is_suite: bool = False
) -> JSONResponse:
    """Write what became of a pushed run or suite, and return the answer, or that of a full disk."""
    holder = getattr(request.state, "holder", None)
    result = msgspec.json.decode(bytes(answer.body))
    push = Push(
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        token=holder.name if holder else "",
        address=request.client.host if request.client else "",
        run=name,
        status=answer.status_code,
        result=result.get("error") or next(iter(result)),
        is_suite=is_suite,
    )
    log: PushLog = request.app.state.pushes
    try:
        log.add(push)
    except StoreError as error:  # a push that nobody can trace is not acknowledged
        return JSONResponse({"error": str(error)}, status_code=500)
    return answer


def pushes(request: Request) -> Response:
    """Answer with the list of pushes, the newest first."""
    log: PushLog = request.app.state.pushes
    every, number = log.newest(), page_number(request)
    start, end = (number - 1) * PAGE_ROWS, number * PAGE_ROWS
    return page(
        request,
        "pushes",
        here="pushes",
        lines=every[start:end],
        total=len(every),
        **places("/pushes", (), number, has_more=end < len(every)),
    )


#: What the zip file of a run may grow to, in multiples of what may be sent.
MOST_GROWTH = 8
#: Ids that can be asked for at once; the list of them is no larger than that.
MOST_IDS = 100_000
_MOST_LIST_BYTES = 16 << 20
#: Of a suite: a plan of some 25,000 cells.
_MOST_SUITE_BYTES = 64 << 20
_CREATED = 201
_ZIP = "application/zip"
#: So much of a body that is too large is read before its connection is closed.
_MOST_DROPPED = 64 << 20


Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class Ids(Record, frozen=True, kw_only=True):
    """Runs by their ids."""

    ids: tuple[str, ...]


class TooLarge(Exception):  # noqa: N818 - an answer, no error of ours
    """More was sent than is taken."""


def about(request: Request) -> Response:
    """Answer with what this server is, and takes."""
    takes = {"accepts_runs": request.app.state.accepts, "most_bytes": request.app.state.most_bytes}
    return JSONResponse({"enginescope": __version__, **takes})


async def missing(request: Request) -> Response:
    """Answer with those of the named runs that are not here."""
    try:
        body = [block async for block in _blocks(request, _MOST_LIST_BYTES)]
        asked = msgspec.json.decode(b"".join(body), type=prepared(Ids)).ids
    except TooLarge:
        return _error(413, "the list is too long")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return _error(400, f"not a list of ids: {error}")
    if len(asked) > MOST_IDS:
        return _error(413, f"{len(asked):,} ids, more than {MOST_IDS:,}")
    kept: KeptRuns = request.app.state.kept
    here = set(await asyncio.to_thread(kept.store.ids))
    return JSONResponse({"missing": [one for one in asked if one not in here]})


async def suite_rows(request: Request) -> Response:
    """Answer with when the cells of a suite ended, by their keys."""
    store: Store = request.app.state.kept.store
    name: str = request.path_params["name"]
    return JSONResponse({"ended": await asyncio.to_thread(store.suites.suite_ended, name)})


async def put_suite(request: Request) -> Response:
    """Write parts of a suite: its plan, rows, or the lease of the machine that runs it."""
    name: str = request.path_params["name"]
    try:
        body = [block async for block in _blocks(request, _MOST_SUITE_BYTES)]
        change = msgspec.json.decode(b"".join(body), type=prepared(SuiteChange))
    except TooLarge:
        return _error(413, f"more than {_MOST_SUITE_BYTES:,} bytes")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _error(422, f"not of a suite: {error}")
    store: Store = request.app.state.kept.store
    answer = await asyncio.to_thread(_write_suite, store, name, change)
    if change.plan is None and not change.rows:
        return answer  # a lease is renewed twice a minute
    return await asyncio.to_thread(recorded, request, name, answer, is_suite=True)


def _write_suite(store: Store, name: str, change: SuiteChange) -> JSONResponse:
    if change.plan is not None:
        if change.plan.suite.name != name:
            return _error(422, f"the plan is of suite {change.plan.suite.name!r}")
        # its runs are pushed here; a store that a stranger names is not opened
        change = replace(change, plan=replace(change.plan, store=str(store.place)))
    try:
        store.suites.put_suite(name, change)
    except SuiteRunsError as error:
        return _error(423, error.why or str(error))
    except EnginescopeError as error:
        return _error(409, f"{error.what}: {error.why}")
    return JSONResponse({"written": name})


async def put_run(request: Request) -> Response:
    """Take up a run, and record who sent it; one that is here already stays as it is."""
    run_id: str = request.path_params["run_id"]
    if not is_id(run_id):
        return _error(400, "not an id of a run")
    answer = await _put_run(request, run_id)
    if answer.status_code == _CREATED:
        for hook in request.app.state.webhooks:
            hook.wake()
    return await asyncio.to_thread(recorded, request, run_id, answer)


async def _put_run(request: Request, run_id: str) -> JSONResponse:
    kept: KeptRuns = request.app.state.kept
    if await asyncio.to_thread(kept.store.has, run_id):
        return JSONResponse({"there": run_id})
    if request.headers.get("content-type") != _ZIP:
        return _error(415, f"a run is sent as {_ZIP}")
    most_bytes: int = request.app.state.most_bytes
    with temporary_folder() as folder:
        packed = folder / "run.zip"
        try:
            with packed.open("wb") as file:
                await _receive(request, file, most_bytes)
        except TooLarge:
            return _error(413, f"more than {most_bytes:,} bytes")
        except ClientDisconnect:  # nobody is there to read an answer
            return _error(400, "the connection was closed")
        return await asyncio.to_thread(_take_up, kept, run_id, packed, most_bytes)


async def _blocks(request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    """Yield a body's blocks.

    What is beyond the limit is read and dropped, so that a client that is still sending gets the
    answer instead of a closed connection.
    """
    count = 0
    async for block in request.stream():
        count += len(block)
        if count <= most_bytes:
            yield block
        elif count > most_bytes + _MOST_DROPPED:
            break
    if count > most_bytes:
        raise TooLarge


async def _receive(request: Request, file: IO[bytes], most_bytes: int) -> None:
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > most_bytes:
        raise TooLarge
    async for block in _blocks(request, most_bytes):
        file.write(block)


def _take_up(kept: KeptRuns, run_id: str, file: Path, most_bytes: int) -> JSONResponse:
    try:
        kept.store.import_zip(file, run_id=run_id, most_bytes=most_bytes * MOST_GROWTH)
    except FormatError as error:
        return _error(422, f"not a run: {error.why}")
    except StoreError as error:
        if kept.store.has(run_id):  # another client was first
            return JSONResponse({"there": run_id})
        return _error(409, error.why or str(error))
    except EnginescopeError as error:
        return _error(500, str(error))
    return JSONResponse({"stored": run_id}, status_code=_CREATED)


def pushed(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that takes pushes with a token alone; a cookie is not a leave to write."""

    async def admit(request: Request) -> Response:
        if not request.app.state.accepts:
            return _error(403, "this server accepts no runs: it was started without --accept-push")
        if (token := request.app.state.access.bearer(request.headers)) is None:
            return _error(401, "a token is needed")
        if not token.allows("push"):
            return lacks(token, "push")
        suite = request.path_params.get("name", "suite")
        if not is_tag(suite) or not suite.isprintable() or suite.startswith("."):
            return _error(400, "not the name of a suite")
        return await endpoint(request)

    return admit


def _error(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status_code=status)
