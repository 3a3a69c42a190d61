"""The look of charts, light and dark, as Vega-Lite configuration."""

from __future__ import annotations

from typing import Any

from enginescope.core.record import Record

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"

#: For pictures that are measured here and shown elsewhere: these are equally wide, and one of them
#: is on nearly every machine.
PICTURE_FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"


class Theme(Record, frozen=True, kw_only=True):
    """Colours of a surface and what is drawn on it."""

    name: str
    background: str
    ink: str
    soft: str
    line: str
    accent: str


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#1b1f27",
    soft="#5b6472",
    line="#e3e6eb",
    accent="#0072B2",
)
DARK = Theme(
    name="dark",
    background="#14171c",
    ink="#e8eaee",
    soft="#a0a8b5",
    line="#2c323c",
    accent="#56B4E9",
)


def chart_config(theme: Theme, *, background: str | None = None) -> dict[str, Any]:
    """Return the configuration for `theme`; the background is the theme's unless given."""
    return {
        "background": background or theme.background,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "domainColor": theme.line,
            "gridColor": theme.line,
            "tickColor": theme.line,
            "labelColor": theme.soft,
            "titleColor": theme.soft,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titlePadding": 10,
        },
        "title": {
            "anchor": "start",
            "color": theme.ink,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": theme.soft,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
        },
        "legend": {
            "labelColor": theme.soft,
            "titleColor": theme.soft,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "bottom",
        },
        "bar": {"color": theme.accent},
        "area": {"color": theme.accent},
        "line": {"color": theme.accent},
        "point": {"color": theme.accent},
        "rule": {"color": theme.ink},
        "text": {"color": theme.ink, "fontSize": 12},
        "style": {
            "accent-band": {"color": theme.accent, "opacity": 0.3},
            "folded": {"color": theme.soft},
            "halo": {"stroke": theme.background, "strokeWidth": 3, "strokeJoin": "round"},
        },
    }
