"""Pages of the server: what they have in common, and files that they load."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from enginescope._version import __version__
from enginescope.core.errors import EnginescopeError, FormatError, StoreError
from enginescope.render.html.page_frame import page_template
from enginescope.render.html.vendored import style
from enginescope.serve.kept_runs import NotHereError

_HERE = "enginescope.serve"
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
#: Where links of ours go in a page that the reading wing made.
_BODY = b"<body>\n"


def page(
    request: Request, name: str, /, *, status: int = 200, here: str = "", **values: Any
) -> HTMLResponse:
    """Return a page of ours.

    Args:
        name: Of the template.
        here: Which of the links at the top is this page's.
    """
    template = page_template(f"{name}.html.j2", package=_HERE)
    text = template.render(
        here=here,
        version=__version__,
        has_token=request.app.state.access.token is not None,
        **values,
    )
    return HTMLResponse(text, status_code=status)


def framed(data: bytes, links: tuple[tuple[str, str], ...]) -> Response:
    """Return a page of the reading wing under links of ours, with its own policy.

    Args:
        links: Address and text.
    """
    found = _POLICY.search(data)
    policy = html.unescape(found[1].decode()) if found else "default-src 'none'"
    bar = page_template("bar.html.j2", package=_HERE).render(links=links).encode()
    return Response(
        data.replace(_BODY, _BODY + bar, 1),
        media_type="text/html",
        headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"},
    )


def failure(request: Request, error: Exception) -> Response:
    """Return the page of an error: what, why, and the next step."""
    assert isinstance(error, EnginescopeError)
    return page(request, "failure", status=_status(error), error=error)


def _status(error: EnginescopeError) -> int:
    if isinstance(error, NotHereError):
        return 404
    return 500 if isinstance(error, (StoreError, FormatError)) else 400


def not_found(request: Request, error: Exception) -> Response:
    """Return the page of an address that there is not; programs get no page."""
    del error
    if request.scope["path"].startswith("/api"):
        return JSONResponse({"error": "there is nothing here"}, status_code=404)
    return page(
        request,
        "failure",
        status=404,
        error=NotHereError("this address", why="there is nothing here"),
    )


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """Return a file that our pages load, and its kind; ``None``: there is none."""
    if name == "page.css":
        own = (files(_HERE) / "static" / "serve.css").read_text(encoding="utf-8")
        return (style() + own).encode(), "text/css"
    kinds = {"htmx.min.js": "text/javascript", "serve.js": "text/javascript"}
    if name not in kinds and name != "LICENSES.txt":
        return None
    data = (files(_HERE) / "static" / name).read_bytes()
    return data, kinds.get(name, "text/plain")


def static_file(request: Request) -> Response:
    """Answer with a file that our pages load."""
    found = asset(request.path_params["name"])
    if found is None:
        return not_found(request, LookupError())
    data, kind = found
    return Response(data, media_type=kind, headers={"Cache-Control": "max-age=3600"})
