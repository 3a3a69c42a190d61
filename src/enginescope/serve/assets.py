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
#: Level of compression of what is compressed once.
_BEST = 9


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
        if not takes_gzip:
            return Response(gzip.decompress(self.data), media_type=self.kind, headers=every)
        every["Content-Encoding"] = "gzip"
        return Response(self.data, media_type=self.kind, headers=every)


def packed(data: bytes, kind: str, headers: dict[str, str], level: int = _BEST) -> Packed:
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
    if name == script_name():
        keep = {"Cache-Control": _FOR_EVER}
        return packed(every_script().text.encode(), "text/javascript", keep)
    keep = {"Cache-Control": _FOR_AN_HOUR}
    if name == "page.css":
        own = (_STATIC / "serve.css").read_text(encoding="utf-8")
        return packed((style() + top_style() + own).encode(), "text/css", keep)
    return packed((_STATIC / name).read_bytes(), _OWN[name], keep)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def asset_response(request: Request, name: str) -> Response | None:
    """Return a file, or 304 to a browser that has it; ``None``: there is no such file."""
    is_there = name in {script_name(), "page.css", *_OWN}
    return _asset(name).response(request) if is_there else None
