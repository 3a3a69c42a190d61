"""The record of pushes: who sent which run, when, from where, and what became of it."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timezone
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from enginescope.core.errors import StoreError
from enginescope.core.jsonio import prepared
from enginescope.core.record import Record
from enginescope.serve.list_views import PAGE_ROWS, page, page_number
from enginescope.store.server_tokens import FOLDER

FILE = "pushes.jsonl"
#: Beyond that, what is older moves to a second file, and what was there is gone.
MOST_BYTES = 16 << 20
_PRIVATE_FOLDER = 0o700
#: Of what a program gets at once.
MOST_ENTRIES = 1_000


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
        """Write a line.

        Raises:
            StoreError: It cannot be written.
        """
        line = msgspec.json.encode(push) + b"\n"
        try:
            with self._lock:
                self.file.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
                if self.file.exists() and self.file.stat().st_size > MOST_BYTES:
                    self.file.replace(self._older)
                with self.file.open("ab") as file:
                    if file.tell() and not _ends_a_line(self.file):
                        line = b"\n" + line  # a kill cut the last one off
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.file}", why=error.strerror) from error

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


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as opened:
        opened.seek(-1, os.SEEK_END)
        return opened.read() == b"\n"


def recorded(
    request: Request, name: str, answer: JSONResponse, *, is_suite: bool = False
) -> JSONResponse:
    """Write what became of a pushed run or suite, and return the answer, or that of a full disk."""
    holder = getattr(request.state, "holder", None)
    result = msgspec.json.decode(bytes(answer.body))
    log: PushLog = request.app.state.pushes
    try:
        log.add(
            Push(
                at=datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
                token=holder.name if holder else "",
                address=request.client.host if request.client else "",
                run=name,
                status=answer.status_code,
                result=result.get("error") or next(iter(result)),
                is_suite=is_suite,
            )
        )
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
        before=f"/pushes?page={number - 1}" if number > 1 else None,
        after=f"/pushes?page={number + 1}" if end < len(every) else None,
    )


def pushes_json(request: Request) -> Response:
    """Answer with the newest pushes as JSON."""
    log: PushLog = request.app.state.pushes
    data = msgspec.json.encode({"pushes": log.newest()[:MOST_ENTRIES]})
    return Response(data, media_type="application/json")
