"""Where an error starts, as a part of a side's section on the page."""

from __future__ import annotations

from enginescope.analysis.error_growth import Bisected
from enginescope.analysis.growth_rows import telling_steps
from enginescope.analysis.precision_trials import PrecisionTrials
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.render.bisect_phrases import (
    also_text,
    growth_row,
    not_finite_text,
    scope_text,
    start_text,
    why_text,
)
from enginescope.render.charts.error_growth import error_growth
from enginescope.render.charts.spec import Chart
from enginescope.render.figures import Figures
from enginescope.render.precision_section import PrecisionSection, precision_section


class InsideSection(Record, frozen=True, kw_only=True):
    """What the page says of the inside of a side."""

    title: str
    facts: tuple[tuple[str, str], ...]
    table: Figures
    growth: tuple[Chart, ...]
    notices: tuple[Notice, ...]
    kept: PrecisionSection | None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All that the page draws for it."""
        return (*self.growth, *(self.kept.charts if self.kept else ()))


def inside_section(
    found: Bisected, key: str, precision: PrecisionTrials | None = None
) -> InsideSection:
    """Return the section; `key` sets its charts' names apart from other sides'."""
    told = (
        ("Why", why_text(found)),
        ("NaN and infinities", not_finite_text(found)),
        ("Also over the limits", also_text(found)),
        ("Looked at", scope_text(found)),
        ("Samples", "; ".join(found.samples)),
        ("Limits", f"those of {found.tolerance}, for every tensor"),
    )
    chart = error_growth(found, f"{key}-growth")
    steps = telling_steps(found)
    headers = ["Tensor", "Operator", "", "RMSE ÷ spread", "Its inputs'", "Its own", "|reference|"]
    rows = [growth_row(one, found) for one in steps]
    if all(one.own_error is None for one in steps):
        headers.pop(5)
        rows = [(*row[:5], *row[6:]) for row in rows]
    return InsideSection(
        title=f"{'Where the error starts' if found.first else 'Inside'}: {start_text(found)}",
        facts=tuple((name, text) for name, text in told if text),
        table=Figures(
            caption="The start, what leads to it and what follows, and the outputs",
            headers=tuple(headers),
            rows=tuple(rows),
            numbers=tuple(range(3, len(headers))),
        ),
        growth=(chart,) if chart else (),
        notices=found.notices,
        kept=precision_section(precision, key, found.limit) if precision else None,
    )
