"""What every page has in common: templates, the policy that keeps it offline, data for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from enginescope.render.theme import DARK, LIGHT, chart_config


def page_template(name: str, *, package: str = "enginescope.render") -> Template:
    """Return a template; what it is given is escaped unless it is `Markup`.

    Parameters
    ----------
    package : str
        With a folder ``templates``.
    """
    return _environment(package).get_template(name)


def content_policy(script_sources: Sequence[str]) -> str:
    """Return the content security policy of a page with these scripts: no connection at all."""
    # Styles come from Vega's tooltip.
    return (
        f"default-src 'none'; script-src {' '.join(script_sources)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def script_json(value: Any) -> Markup:
    """Return `value` as JSON that cannot end the script element it stands in."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character of it is markup any more


@cache  # a template is compiled once: a server renders it again and again
def _environment(package: str) -> Environment:
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def chart_themes() -> dict[str, Any]:
    """Return the look of charts by theme, on the page's own background."""
    return {one.name: chart_config(one, background="transparent") for one in (LIGHT, DARK)}
