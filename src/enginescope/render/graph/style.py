"""The style sheet of a drawing, for light and dark surfaces."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.core.errors import UsageError
from enginescope.render.graph.categories import Category
from enginescope.render.html.theme import DARK, FONT, LIGHT, Theme

THEMES = ("auto", "light", "dark")


def style_sheet(found: Iterable[Category], theme: str) -> str:
    """Return CSS; with ``"auto"`` the viewer's preference decides, light where it has none.

    Plain rules without variables: converters to PNG know no more.

    Raises:
        UsageError: No such theme.
    """
    if theme not in THEMES:
        raise UsageError(f"no such theme: {theme!r}", hint=", ".join(THEMES))
    colored = list(found)
    first = DARK if theme == "dark" else LIGHT
    text = _SHAPES.format(font=FONT) + _surface(first) + _colored(colored)
    if theme == "auto":
        text += f"@media (prefers-color-scheme: dark) {{\n{_surface(DARK)}{_colored(colored)}}}\n"
    return text


_SHAPES = """\
text {{ font-family: {font}; font-size: 11px; text-anchor: middle; }}
.h {{ font-size: 12px; font-weight: 600; }}
.l {{ text-anchor: start; }}
.x {{ font-size: 10px; paint-order: stroke; stroke-width: 3; stroke-linejoin: round; }}
.t {{ font-size: 16px; font-weight: 600; text-anchor: start; }}
.n rect {{ stroke-width: 1.2; fill-opacity: .2; }}
.n .bar {{ stroke: none; fill-opacity: .85; }}
.r .box {{ stroke-dasharray: 4 2; }}
.c .box {{ stroke-width: 4; }}
.io .box {{ fill-opacity: 1; stroke-width: 2; }}
.e path {{ fill: none; stroke-width: 1.4; }}
.e:hover path {{ stroke-width: 4; }}
.reuse path {{ stroke-dasharray: 6 4; }}
.order path {{ stroke-dasharray: 2 4; }}
.back path {{ stroke-dasharray: 9 3; stroke-width: 2.2; }}
"""


def _surface(theme: Theme) -> str:
    return (
        f".paper {{ fill: {theme.background}; }}\n"
        f"text {{ fill: {theme.ink}; }}\n"
        f".s {{ fill: {theme.soft}; }}\n"
        f".x {{ fill: {theme.soft}; stroke: {theme.background}; }}\n"
        f".n rect {{ fill: {theme.soft}; stroke: {theme.soft}; }}\n"
        f".io .box {{ fill: {theme.background}; }}\n"
        f".e path {{ stroke: {theme.soft}; }}\n"
        f".n.c .box {{ stroke: {theme.ink}; }}\n"
        f"marker path {{ fill: {theme.soft}; stroke: none; }}\n"
    )


def _colored(found: list[Category]) -> str:
    return "".join(
        f".n.k{number} rect {{ fill: {one.color}; stroke: {one.color}; }}\n"
        f".e.k{number} path {{ stroke: {one.color}; }}\n"
        + (_filled(number, one.ink) if one.ink else "")
        for number, one in enumerate(found)
    )


def _filled(number: int, ink: str) -> str:
    return (
        f".n.k{number} .box {{ fill-opacity: 1; }}\n"
        f".n.k{number} .bar {{ fill: {ink}; fill-opacity: .6; }}\n"
        f".n.k{number} text {{ fill: {ink}; }}\n"
    )
