"""A store on another machine, behind ``enginescope serve --accept-push``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

import msgspec

from enginescope.core.errors import StoreError, UsageError
from enginescope.core.http_pool import http_retries, reason_of_http
from enginescope.core.jsonio import encode
from enginescope.records.suite.suite import SuiteChange
from enginescope.store.suite_folder import WAIT, SuiteRunsError

_TIMEOUT_S = 60.0
#: Ids asked for in one request.
_MOST_IDS = 10_000
_ZIP = "application/zip"
_TOO_LARGE, _UNAUTHORIZED, _LOCKED, _NOT_FOUND, _BUSY = 413, 401, 423, 404, 503


class UnreachableError(StoreError):
    """The server does not answer, or is too busy to: a later request may succeed."""


class RemoteStore:
    """Sends runs to a server.

    Args:
        url: Of the server: ``https://host:port``, with a folder where it is behind a proxy.
        token: Sent with every request, and never followed to another address.
    """

    def __init__(self, url: str, token: str) -> None:
        try:
            self._parts = urlsplit(url)
            self._parts.port  # noqa: B018 - raises where it is no number
        except ValueError as error:
            raise UsageError(f"server {url}", why=str(error)) from None
        if self._parts.scheme not in ("http", "https") or not self._parts.hostname:
            raise UsageError(f"server {url}", why="it is not an http:// or https:// address")
        if self._parts.username or self._parts.password:
            what = "the server's address holds credentials"
            raise UsageError(what, hint="omit them; the token is enough")
        self._token = token

    def __str__(self) -> str:
        return f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path.rstrip('/')}"

    @property
    def is_plain(self) -> bool:
        """Whether what is sent can be read on the way."""
        return self._parts.scheme == "http"

    @property
    def host(self) -> str:
        return self._parts.hostname or ""

    def check(self) -> None:
        """Raise `StoreError` unless the server takes runs from who has this token."""
        if not self._ask("GET", "/api").get("accepts_runs"):
            hint = "start it with enginescope serve --accept-push"
            raise StoreError(f"server {self}", why="it accepts no runs", hint=hint)

    def missing(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of `ids` that the server does not have."""
        found: list[str] = []
        for start in range(0, len(ids), _MOST_IDS):
            body = json.dumps({"ids": list(ids[start : start + _MOST_IDS])}).encode()
            wanted = self._ask("POST", "/api/missing", body).get("missing")
            if not isinstance(wanted, list):
                raise StoreError(f"server {self}", why="the response is not a list of runs")
            found += [one for one in wanted if isinstance(one, str)]
        asked = set(ids)
        return tuple(one for one in found if one in asked)

    def put(self, run_id: str, file: Path) -> bool:
        """Send a run as the zip file that `Store.export` writes.

        Returns:
            Whether the server took it; ``False``: it had it already.
        """
        with file.open("rb") as body:
            answer = self._ask(
                "PUT", f"/api/runs/{run_id}", body, kind=_ZIP, size=file.stat().st_size
            )
        return "stored" in answer

    def put_suite(self, name: str, change: SuiteChange) -> None:
        self._ask("PUT", f"/api/suites/{quote(name, safe='')}", encode(change))

    def suite_ended(self, name: str) -> dict[str, str]:
        """Return when the cells of a suite ended that the server has, by their keys."""
        ended = self._ask("GET", f"/api/suites/{quote(name, safe='')}").get("ended")
        if not isinstance(ended, dict):
            raise StoreError(f"server {self}", why="the response has no rows")
        return {str(key): str(value) for key, value in ended.items()}

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None = None,
        *,
        kind: str = "application/json",
        size: int | None = None,
    ) -> dict[str, Any]:
        import urllib3  # as long to import as the rest of a verb

        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        if size is not None:
            headers["Content-Length"] = str(size)
        try:
            response = urllib3.request(
                method,
                f"{self}{path}",
                body=body,
                headers=headers,
                timeout=_TIMEOUT_S,
                retries=http_retries(),
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(
                f"server {self}",
                why=reason_of_http(error),
                hint="is it running there: enginescope serve",
            ) from error
        try:
            decoded = msgspec.json.decode(response.data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            decoded = None
        answer: dict[str, Any] = decoded if isinstance(decoded, dict) else {}
        if response.status // 100 == 2:
            return answer
        why = answer.get("error") or f"it returned {response.status} {response.reason}"
        hint = None
        if response.status == _UNAUTHORIZED:
            why = "the token that was sent is not the server's"
            hint = "--token-file FILE with the server's token, or set ENGINESCOPE_TOKEN"
        elif response.status == _TOO_LARGE:
            hint = "start the server with a larger --max-upload"
        elif response.status == _NOT_FOUND:
            hint = "a server of an older enginescope has no suites to push to"
        elif response.status == _LOCKED:
            raise SuiteRunsError(f"server {self}", why=str(why), hint=WAIT)
        kind_of_error = UnreachableError if response.status == _BUSY else StoreError
        raise kind_of_error(f"server {self}", why=str(why), hint=hint)
