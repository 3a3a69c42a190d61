"""What every page shares: its frame, its policy against network access, its scripts and styles."""

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
from enginescope.render.base.data_table import aligned_rows, printable
from enginescope.render.base.palette import DARK, LIGHT, chart_config
from enginescope.render.html.images import Chart

_LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
#: What some pages have beside it. Each script does nothing on a page without its elements.
_PARTS = {
    "pairs": ("compare.css", "compare.js"),
    "suite": ("suite.js", "suite.css"),
    "graph": ("graph.js", "graph/graph.css"),
}


class Script(Record, frozen=True, kw_only=True):
    """JavaScript to be written into a page, and the hash that lets it run there."""

    text: str

    @property
    def csp_source(self) -> str:
        """The source expression for a content security policy: ``'sha256-…'``."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def scripts(*parts: str, has_charts: bool = True) -> tuple[Script, ...]:
    """Return the charts' libraries, our own scripts and those of `parts`, in their order."""
    libraries = map(_library, _LIBRARIES) if has_charts else ()
    own = ("data.js", "tables.js", "charts.js", "page.js", "icicle.js", "explore.js")
    return (*libraries, *own_scripts(*own, *_of(parts, ".js")))


def own_scripts(*names: str) -> tuple[Script, ...]:
    """Return scripts of the assets; ``"graph.js"`` is the graph's, whose names stay its own."""
    parts = (  # in the order in which each uses those before it
        *("data", "scene", "colors", "paint", "panel", "controls", "pointer", "view"),
        *("rising", "side", "pair", "start"),
    )
    graph = "\n".join(_read(f"graph/{part}.js") for part in parts if "graph.js" in names)
    whole = f'"use strict";\npageStart(() => {{\n{graph}}});\n'
    return tuple(Script(text=whole if name == "graph.js" else _read(name)) for name in names)


@cache
def every_script() -> Script:
    """Return what pages of every kind run, as one script for a server's pages to share."""
    every = [one.text for one in scripts(*_PARTS)]
    libraries, own = every[: len(_LIBRARIES)], "\n".join(every[len(_LIBRARIES) :])
    return Script(text=";\n".join((*libraries, f'(() => {{\n"use strict";\n{own}}})();\n')))


def style(*parts: str) -> str:
    """Return the style sheet of every page, and those of `parts`."""
    return "".join(map(_read, ("page.css", *_of(parts, ".css"))))


def live_script() -> Script:
    """Return what outputs of notebooks share: pictures are replaced by charts and graphs."""
    return Script(text=_read("live.js"))


def vega_script() -> Script:
    """Return Vega alone, for charts that are compiled already."""
    return _library(_LIBRARIES[0])


def licences() -> str:
    """Return the license texts of the libraries."""
    return _read("vendor/LICENSES.txt")


@cache  # a server makes pages again and again
def _read(name: str) -> str:
    path = files("enginescope.render") / "assets" / name
    return path.read_text(encoding="utf-8").replace("\r\n", "\n")


def _library(name: str) -> Script:
    # A source map would be looked for beside the page, where there is none.
    return Script(text=re.sub(r"\n//# sourceMappingURL=\S+\s*$", "\n", _read(f"vendor/{name}")))


def _of(parts: Iterable[str], suffix: str) -> list[str]:
    return [name for part in parts for name in _PARTS[part] if name.endswith(suffix)]


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
    parts: Sequence[str] = (),
    own: Sequence[Script] | None = None,
    script_address: str | None = None,
    **content: Any,
) -> bytes:
    """Return a page: a template, what it says, and what stands in every page.

    Args:
        parts: What it has beside every page: ``"pairs"``, ``"suite"``, ``"graph"``.
        own: In place of `scripts`.
        script_address: Where a server has `every_script`; ``None``: the page holds its scripts,
            and needs nothing else.
        content: What the template names; escaped unless it is `Markup`.
    """
    if script_address is None:
        run = scripts(*parts, has_charts=bool(data.charts)) if own is None else own
        sources = [one.csp_source for one in run]
        elements = [f"<script>{one.text}</script>" for one in run]
    else:
        sources = ["'self'"]
        elements = [f'<script src="{escape(script_address)}"></script>']
    themes = {one.name: chart_config(one, background="transparent") for one in (LIGHT, DARK)}
    carried = {name: getattr(data, name) for name in ("charts", "tables", "files")}
    shared = {
        "files": {name: len(text) for name, text in data.files.items()},
        # styles come from Vega's tooltip
        "policy": f"default-src 'none'; script-src {' '.join(sources)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'",
        "style": Markup(style(*parts)),  # noqa: S704 - ours
        "scripts": Markup("\n".join(elements)),  # noqa: S704 - ours and vendored
        "data": deflated({**carried, "themes": themes, **data.more}),
        "licences": licences() if data.charts or script_address else None,
        "version": __version__,
    }
    return page_template(template).render(**content, **shared).encode()


def deflated(value: Any) -> Markup:
    """Return `value` as JSON that `pageInflate` of the pages reads."""
    return deflated_bytes(msgspec.json.encode(value, enc_hook=_plain_text))


def deflated_bytes(data: bytes) -> Markup:
    """Return bytes as text that `pageInflate` of the pages reads."""
    # a large plan's data is an eighth of its size at level 4; higher ones take long for little
    return Markup(base64.b64encode(zlib.compress(data, 4)).decode())  # noqa: S704 - base64


def charts_data(charts: Iterable[Chart], prefix: str = "") -> dict[str, Any]:
    """Return charts for `PageData`, by the `id` that templates give their elements."""
    return {f"{prefix}chart-{chart.key}": chart.complete(titled=False) for chart in charts}


def page_template(name: str, *, package: str = "enginescope.render") -> Template:
    """Return a template; what it is given is escaped unless it is `Markup`.

    Args:
        package: With a folder ``templates``.
    """
    return _environment(package).get_template(name)


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
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters |= {"aligned": aligned_rows, "weightiest": weightiest}
    return environment
