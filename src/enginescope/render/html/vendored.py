"""The JavaScript, styles and licences that a page carries."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from enginescope.core.record import Record

_ASSETS = files("enginescope.render") / "assets"
_LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
_OWN = ("data.js", "tables.js", "page.js")
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=\S+\s*$")


class Script(Record, frozen=True, kw_only=True):
    """JavaScript to be written into a page, and the hash that lets it run there."""

    text: str

    @property
    def csp_source(self) -> str:
        """The source expression for a content security policy: ``'sha256-…'``."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


def scripts(*more: str) -> tuple[Script, ...]:
    """Return the libraries, our own scripts and those of one page, in the order they must run."""
    libraries = (_read(f"vendor/{name}") for name in _LIBRARIES)
    # A source map would be looked for beside the page, where there is none.
    stripped = (_SOURCE_MAP.sub("\n", text) for text in libraries)
    return tuple(Script(text=text) for text in (*stripped, *map(_read, (*_OWN, *more))))


def style(*more: str) -> str:
    """Return the style sheet of every page, and those of one."""
    return "".join(map(_read, ("page.css", *more)))


def licences() -> str:
    """Return the licence texts of the libraries."""
    return _read("vendor/LICENSES.txt")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")
