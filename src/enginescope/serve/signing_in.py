"""The page that asks for the token, and keeps a cookie in its place."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from enginescope.serve.access import COOKIE, LOGIN, Access
from enginescope.serve.list_views import page

_MOST_BYTES = 4096
#: After a wrong token: guessing takes time.
_PAUSE_S = 0.5
_WEEK_S = 7 * 24 * 3600


async def login(request: Request) -> Response:
    """Answer with the form, or take the token."""
    access: Access = request.app.state.access
    if access.cookie is None:
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
        access.cookie,
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
