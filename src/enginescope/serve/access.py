"""Who may ask for what: hosts, tokens, signing in, and the headers of every answer."""

import asyncio
import hashlib
import hmac
from collections.abc import Iterable
from urllib.parse import parse_qs

from itsdangerous import BadSignature, TimestampSigner
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record
from enginescope.serve.list_views import page
from enginescope.store.server_tokens import AccessToken, ServerTokens, TokenScope, digest_of

COOKIE = "enginescope"
#: Enough of a digest to tell tokens apart.
_COOKIE_DIGITS = 32
_WEEK_S = 7 * 24 * 3600
LOGIN = "/login"
#: The one token of ``--token-file``; no named token can be called so.
SHARED = "shared token"
#: What this machine's own address is called.
OWN_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: Below this a token could be guessed.
LEAST_TOKEN_CHARACTERS = 16
#: What the pages of the server themselves need; a report brings its own policy.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: Who pushed what, from where.
ADMIN_PATH = "/pushes"
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
        token: One that allows everything.
        named: Others, with scopes; with neither, whoever reaches the address may ask.
        hosts: What the address may be called; ``None``: anything. Without a token it must be known:
            a name that was made to point here is how a page elsewhere would read ours.
    """

    token: str | None = None
    named: ServerTokens | None = None
    hosts: frozenset[str] | None = OWN_NAMES

    @property
    def needs_token(self) -> bool:
        """Whether nobody may ask without a token."""
        return self.token is not None or self.named is not None

    def holder(self, headers: Headers) -> AccessToken | None:
        """Return the token that a request brings, itself or by a cookie."""
        return self.bearer(headers) or self._signed_in(headers)

    def bearer(self, headers: Headers) -> AccessToken | None:
        """Return the token that a request brings itself."""
        kind, _, text = headers.get("authorization", "").partition(" ")
        return self.find(text.strip()) if kind.lower() == "bearer" else None

    def find(self, text: str) -> AccessToken | None:
        """Return the token that is `text`; takes as long whatever is wrong with it."""
        digest = digest_of(text)
        fitting = [one for one in self._valid() if hmac.compare_digest(digest, one.digest)]
        return next(iter(fitting), None)

    def new_cookie(self, token: AccessToken) -> str:
        """Return what a browser keeps in place of a token: a date and whose it is, signed."""
        return self._signer().sign(token.digest[:_COOKIE_DIGITS]).decode()

    def _signed_in(self, headers: Headers) -> AccessToken | None:
        cookie = Request({"type": "http", "headers": headers.raw}).cookies.get(COOKIE, "")
        try:
            start = self._signer().unsign(cookie, max_age=_WEEK_S).decode()
        except (BadSignature, ValueError):  # or too old; or there is nothing to sign with
            return None
        return next((one for one in self._valid() if one.digest.startswith(start)), None)

    def _valid(self) -> list[AccessToken]:
        tokens = [one for one in self.named.all() if not one.is_expired] if self.named else []
        if self.token is not None:
            tokens.append(AccessToken(name=SHARED, digest=digest_of(self.token), scopes=("admin",)))
        return tokens

    def _signer(self) -> TimestampSigner:
        key = self.token or (self.named.cookie_key if self.named else None)
        if not key:
            raise ValueError("no token was ever created")
        return TimestampSigner(key, salt=b"enginescope cookie", digest_method=hashlib.sha256)


def check_token(token: str) -> str:
    """Return a token that cannot be guessed."""
    stripped = token.strip()
    if len(stripped) < LEAST_TOKEN_CHARACTERS or not stripped.isascii():
        why = f"it has {len(stripped)} characters, or some that no header can hold"
        least = f"at least {LEAST_TOKEN_CHARACTERS} letters and digits"
        raise UsageError("the token", why=why, hint=f"{least}; --token-file creates a missing file")
    return stripped


def lacks(token: AccessToken, scope: TokenScope) -> Response:
    """Return the answer to a token that does not allow what was asked."""
    return JSONResponse({"error": f"token {token.name} has no scope {scope}"}, status_code=403)


class Guard:
    """Turns away who may not ask, and puts headers on every answer, that of a bug too."""

    def __init__(self, app: ASGIApp, access: Access, open_paths: Iterable[str]) -> None:
        self.app = app
        self._access = access
        self._open = tuple(open_paths)
        hosts = ["*"] if access.hosts is None else sorted(access.hosts)
        self._inner = TrustedHostMiddleware(self._admit, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        try:
            refusal = self._refusal(Request(scope))
        except EnginescopeError as error:  # the file of tokens cannot be read: nobody may
            refusal = PlainTextResponse(f"{error}\n", status_code=500)
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        path: str = request.scope["path"]  # older Starlettes read url.path out of Host too
        is_open = any(path == p or (p[-1] == "/" and path.startswith(p)) for p in self._open)
        if is_open or not self._access.needs_token:
            return None
        holder = self._access.holder(request.headers)
        is_api = path.startswith("/api")
        if holder is not None:
            request.state.holder = holder
            needed: TokenScope = "admin" if path == ADMIN_PATH else "read"
            return None if is_api or holder.allows(needed) else lacks(holder, needed)
        if is_api or path.endswith((".json", ".svg")):
            headers = {"WWW-Authenticate": "Bearer"}
            return JSONResponse({"error": "a token is needed"}, status_code=401, headers=headers)
        return RedirectResponse(LOGIN, status_code=303)


_MOST_BYTES = 4096
#: After a wrong token: guessing takes time.
_PAUSE_S = 0.5
_WRONG = "That is not the token, or it has expired."


async def login(request: Request) -> Response:
    """Answer with the form, or take the token."""
    access: Access = request.app.state.access
    if not access.needs_token:
        return RedirectResponse("/", status_code=303)
    if request.method != "POST":
        return page(request, "login", here="login", wrong=None)
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > _MOST_BYTES:
            return page(request, "login", here="login", status=413, wrong=_WRONG)
    fields = parse_qs(body.decode("utf-8", errors="replace"))
    token = access.find(fields.get("token", [""])[0].strip())
    if token is None or not token.allows("read"):
        await asyncio.sleep(_PAUSE_S)
        wrong = _WRONG if token is None else f"Token {token.name} has no scope read."
        return page(request, "login", here="login", status=401, wrong=wrong)
    answer = RedirectResponse("/", status_code=303)
    cookie, secure = access.new_cookie(token), request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, cookie, max_age=_WEEK_S, httponly=True, samesite="strict", secure=secure
    )
    return answer


async def logout(_request: Request) -> Response:
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(COOKIE)
    return answer
