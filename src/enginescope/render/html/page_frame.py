"""What every page shares: its frame, its policy against network access, its scripts and styles."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from enginescope._version import __version__
from enginescope.core.record import Record
from enginescope.records.notice import weightiest
from enginescope.render.base.data_table import aligned_rows
from enginescope.render.base.palette import DARK, LIGHT, chart_config
from enginescope.render.html.images import Chart

_ASSETS = files("enginescope.render") / "assets"
_LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
_OWN = ("data.js", "tables.js", "charts.js", "page.js", "icicle.js", "explore.js")
#: Each does nothing on a page without its elements.
_OF_SOME_PAGES = ("compare.js", "walk.js", "suite.js")
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=\S+\s*$")


class Script(Record, frozen=True, kw_only=True):
    """JavaScript to be written into a page, and the hash that lets it run there."""

    text: str

    @property
    def csp_source(self) -> str:
        """The source expression for a content security policy: ``'sha256-…'``."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def scripts(*more: str) -> tuple[Script, ...]:
    """Return the libraries, our own scripts and those of one page, in the order they must run."""
    libraries = (_read(f"vendor/{name}") for name in _LIBRARIES)
    # A source map would be looked for beside the page, where there is none.
    stripped = (_SOURCE_MAP.sub("\n", text) for text in libraries)
    return tuple(Script(text=text) for text in (*stripped, *map(_read, (*_OWN, *more))))


@cache
def every_script() -> Script:
    """Return what pages of every kind run, as one script for a server's pages to share."""
    libraries = scripts()[: len(_LIBRARIES)]
    own = "\n".join((*map(_read, (*_OWN, *_OF_SOME_PAGES)), graph_script().text))
    parts = (*(library.text for library in libraries), f'(() => {{\n"use strict";\n{own}}})();\n')
    return Script(text=";\n".join(parts))


def style(*more: str) -> str:
    """Return the style sheet of every page, and those of one."""
    return "".join(map(_read, ("page.css", *more)))


def data_script() -> Script:
    """Return what the graph calls of the page's own scripts."""
    return Script(text=_read("data.js"))


def live_script() -> Script:
    """Return what outputs of notebooks share: pictures are replaced by charts and graphs."""
    return Script(text=_read("live.js"))


def vega_script() -> Script:
    """Return Vega alone, for charts that are compiled already."""
    return Script(text=_SOURCE_MAP.sub("\n", _read("vendor/vega.min.js")))


def licences() -> str:
    """Return the license texts of the libraries."""
    return _read("vendor/LICENSES.txt")


@cache  # a server makes pages again and again
def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")


_GRAPH_ASSETS = files("enginescope.render") / "assets" / "graph"
#: In the order in which each uses those before it.
_PARTS = (
    *("data", "scene", "colors", "paint", "panel", "controls", "pointer", "view"),
    *("rising", "side", "pair", "start"),
)


def graph_script() -> Script:
    """Return the graph's parts as one script, whose names stay its own."""
    parts = "\n".join(_read_graph_asset(f"{part}.js") for part in _PARTS)
    return Script(text=f'"use strict";\n(() => {{\n{parts}}})();\n')


def graph_style() -> str:
    """Return what the graph adds to the page's style sheet."""
    return _read_graph_asset("graph.css")


@cache
def _read_graph_asset(name: str) -> str:
    return (_GRAPH_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")


class PageData(Record, frozen=True, kw_only=True, eq=False):
    """What the scripts of a page work on.

    Attributes:
        charts: By the `id` of their elements.
        files: What can be saved from the page, by name.
        tables: As the charts.
        more: For the page's own script.
    """

    charts: dict[str, Any]
    files: dict[str, str]
    tables: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
    more: dict[str, Any] = {}  # noqa: RUF012


def page_bytes(
    template: str,
    data: PageData,
    *,
    parts: Sequence[Script] | None = None,
    css: str | None = None,
    script_address: str | None = None,
    **content: Any,
) -> bytes:
    """Return a page: a template, what it says, and what stands in every page.

    Args:
        parts: By default those of every page.
        css: Likewise.
        script_address: Where a server has `every_script`; ``None``: the page holds its scripts,
            and needs nothing else.
        content: What the template names; escaped unless it is `Markup`.
    """
    if script_address is None:
        run = scripts() if parts is None else parts
        sources = [one.csp_source for one in run]
        elements = [f"<script>{one.text}</script>" for one in run]
    else:
        sources = ["'self'"]
        elements = [f'<script src="{escape(script_address)}"></script>']
    shared = {
        "files": {name: len(text) for name, text in data.files.items()},
        "policy": _content_policy(sources),
        "style": Markup(style() if css is None else css),  # noqa: S704 - ours
        "scripts": Markup("\n".join(elements)),  # noqa: S704 - ours and vendored
        "data": script_json(
            {
                "charts": data.charts,
                "tables": data.tables,
                "files": {name: _carried(text) for name, text in data.files.items()},
                "themes": _chart_themes(),
                **data.more,
            }
        ),
        "licences": licences(),
        "version": __version__,
    }
    return page_template(template).render(**content, **shared).encode()


#: Longer files are deflated: series of samples become a fifth as long.
_LONG = 50_000


def _carried(text: str) -> str | dict[str, str]:
    return {"deflated": deflated(text.encode())} if len(text) > _LONG else text


def deflated(data: bytes) -> str:
    """Return data as `pageInflate` of the pages reads it."""
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def charts_data(charts: Iterable[Chart], prefix: str = "") -> dict[str, Any]:
    """Return charts for `PageData`, by the `id` that templates give their elements."""
    return {f"{prefix}chart-{chart.key}": chart.complete(titled=False) for chart in charts}


def page_template(name: str, *, package: str = "enginescope.render") -> Template:
    """Return a template; what it is given is escaped unless it is `Markup`.

    Args:
        package: With a folder ``templates``.
    """
    return _environment(package).get_template(name)


def _content_policy(script_sources: Sequence[str]) -> str:
    """Return the content security policy of a page with these scripts: no connection at all."""
    # Styles come from Vega's tooltip.
    return (
        f"default-src 'none'; script-src {' '.join(script_sources)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def script_json(value: Any) -> Markup:
    """Return `value` as JSON that cannot end the script element it stands in."""
    text = msgspec.json.encode(value, enc_hook=_plain_text).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character of it is markup any more


def _plain_text(value: Any) -> str:
    if isinstance(value, str):  # a text that carries its number, too
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} in a page's data")


@cache  # a template is compiled once: a server renders it again and again
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"aligned": aligned_rows, "weightiest": weightiest}
    return environment


def _chart_themes() -> dict[str, Any]:
    """Return the look of charts by theme, on the page's own background."""
    return {one.name: chart_config(one, background="transparent") for one in (LIGHT, DARK)}
