"""Who may ask for what: hosts, the token, signing in, and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Iterable
from urllib.parse import parse_qs

from itsdangerous import BadSignature, TimestampSigner
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.serve.list_views import page

COOKIE = "enginescope"
_SIGNED_IN = b"in"
_WEEK_S = 7 * 24 * 3600
LOGIN = "/login"
#: What this machine's own address is called.
OWN_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: Below this a token could be guessed.
LEAST_TOKEN_CHARACTERS = 16
#: What the pages of the server themselves need; a report brings its own policy.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}


class Access(Record, frozen=True, kw_only=True):
    """Who may ask.

    Attributes:
        token: ``None``: whoever reaches the address.
        hosts: What the address may be called; ``None``: anything. Without a token it must be known:
            a name that was made to point here is how a page elsewhere would read ours.
    """

    token: str | None = None
    hosts: frozenset[str] | None = OWN_NAMES

    def new_cookie(self) -> str | None:
        """Return what a browser keeps in place of the token: a date, signed with it."""
        signer = self._signer()
        return None if signer is None else signer.sign(_SIGNED_IN).decode()

    def is_token(self, given: str) -> bool:
        """Whether that is the token; takes as long whatever is wrong with it."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def is_allowed(self, headers: Headers) -> bool:
        """Whether a request brings the token, or the cookie."""
        if self.token is None:
            return True
        return self.has_bearer(headers) or self._has_cookie(headers)

    def has_bearer(self, headers: Headers) -> bool:
        """Whether a request brings the token itself."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self.is_token(given.strip())

    def _has_cookie(self, headers: Headers) -> bool:
        signer = self._signer()
        given = Request({"type": "http", "headers": headers.raw}).cookies.get(COOKIE, "")
        try:
            return signer is not None and signer.unsign(given, max_age=_WEEK_S) == _SIGNED_IN
        except BadSignature:  # or too old
            return False

    def _signer(self) -> TimestampSigner | None:
        if self.token is None:
            return None
        return TimestampSigner(self.token, salt=b"enginescope cookie", digest_method=hashlib.sha256)


def check_token(token: str) -> str:
    """Return a token that cannot be guessed.

    Raises:
        UsageError
    """
    stripped = token.strip()
    if len(stripped) < LEAST_TOKEN_CHARACTERS or not stripped.isascii():
        raise UsageError(
            "the token",
            why=f"it has {len(stripped)} characters, or some that no header can hold",
            hint=f"at least {LEAST_TOKEN_CHARACTERS} letters and digits; "
            "--token-file creates a missing file",
        )
    return stripped


class Guard:
    """Turns away who may not ask, and puts headers on every answer, that of a bug too."""

    def __init__(self, app: ASGIApp, access: Access, open_paths: Iterable[str]) -> None:
        self.app = app
        self._access = access
        self._open = tuple(open_paths)
        hosts = ["*"] if access.hosts is None else sorted(access.hosts)
        self._inner = TrustedHostMiddleware(self._admit, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets here

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", PAGE_POLICY)
            await send(message)

        await self._inner(scope, receive, with_headers)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._refusal(Request(scope)) or self.app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        path: str = request.scope["path"]  # older Starlettes read url.path out of Host too
        if self._is_open(path) or self._access.is_allowed(request.headers):
            return None
        if path.startswith("/api"):
            return JSONResponse(
                {"error": "a token is needed"},
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
        return RedirectResponse(LOGIN, status_code=303)

    def _is_open(self, path: str) -> bool:
        return any(path == one or (one[-1] == "/" and path.startswith(one)) for one in self._open)


_MOST_BYTES = 4096
#: After a wrong token: guessing takes time.
_PAUSE_S = 0.5


async def login(request: Request) -> Response:
    """Answer with the form, or take the token."""
    access: Access = request.app.state.access
    cookie = access.new_cookie()
    if cookie is None:
        return RedirectResponse("/", status_code=303)
    if request.method != "POST":
        return page(request, "login", here="login", is_wrong=False)
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > _MOST_BYTES:
            return page(request, "login", here="login", status=413, is_wrong=True)
    fields = parse_qs(body.decode("utf-8", errors="replace"))
    if not access.is_token(fields.get("token", [""])[0].strip()):
        await asyncio.sleep(_PAUSE_S)
        return page(request, "login", here="login", status=401, is_wrong=True)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=_WEEK_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


async def logout(request: Request) -> Response:
    """Forget the cookie."""
    del request
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(COOKIE)
    return answer
