"""Files that the pages load: compressed once, and kept by browsers."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from enginescope.core.record import Record
from enginescope.render.html.page_frame import every_script, style

_STATIC = files("enginescope.serve") / "static"
_OWN = {
    "htmx.min.js": "text/javascript",
    "serve.js": "text/javascript",
    "LICENSES.txt": "text/plain",
}
#: A name without a hash is asked for again after an hour; one with a hash never changes.
_FOR_AN_HOUR = "max-age=3600"
_FOR_EVER = "public, max-age=31536000, immutable"


class Asset(Record, frozen=True, kw_only=True):
    """A file that pages load; `packed` is its content compressed with gzip."""

    data: bytes
    packed: bytes
    kind: str
    digest: str
    keep: str = _FOR_AN_HOUR


@cache
def script_name() -> str:
    """Return the name of the script of all report pages, with a hash of its content."""
    return f"pages-{_digest(every_script().text.encode())}.js"


def script_address() -> str:
    """Return where pages of the reading wing find their script."""
    return f"/static/{script_name()}"


@cache
def _asset(name: str) -> Asset | None:
    if name == script_name():
        return _packed(every_script().text.encode(), "text/javascript", _FOR_EVER)
    if name == "page.css":
        own = (_STATIC / "serve.css").read_text(encoding="utf-8")
        return _packed((style() + own).encode(), "text/css")
    if name in _OWN:
        return _packed((_STATIC / name).read_bytes(), _OWN[name])
    return None


def _packed(data: bytes, kind: str, keep: str = _FOR_AN_HOUR) -> Asset:
    packed = gzip.compress(data, mtime=0)
    return Asset(data=data, packed=packed, kind=kind, digest=_digest(data), keep=keep)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def asset_response(request: Request, name: str) -> Response | None:
    """Return a file, or 304 to a browser that has it; ``None``: there is no such file."""
    asset = _asset(name) if name in {script_name(), "page.css", *_OWN} else None
    if asset is None:
        return None
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{asset.digest}{"-gzip" if takes_gzip else ""}"'
    headers = {"Cache-Control": asset.keep, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if takes_gzip:
        headers["Content-Encoding"] = "gzip"
    data = asset.packed if takes_gzip else asset.data
    return Response(data, media_type=asset.kind, headers=headers)
