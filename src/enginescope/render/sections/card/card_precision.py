"""Precisions of the layers."""

from __future__ import annotations

from enginescope.render.charts.card.registry import charts_of
from enginescope.render.html.spec import Chart
from enginescope.render.plans.page_subject import PageSubject
from enginescope.render.sections.section import Section

_CHARTS = (
    "precision-rollup",
    "precision-changes",
    "precision-per-layer",
    "output-precision-per-layer",
)
_NOTHING = (
    "The plan does not say in which precision its layers compute: it was built or written "
    "without detailed verbosity."
)


def _is_trivial(chart: Chart) -> bool:
    """Whether it shows but one type, which the first chart says already."""
    if chart.key == "precision-rollup":
        return False
    rows = chart.spec["data"]["values"]
    return len({row.get("group", (row.get("from"), row.get("to"))) for row in rows}) == 1


def card_precision(subject: PageSubject) -> Section | None:
    """What part each precision has, and where precisions change; ``None`` without a plan."""
    if subject.plan is None or subject.plan.plan.source_schema == "names-only":
        return None
    charts = tuple(one for one in charts_of(subject.plan, *_CHARTS) if not _is_trivial(one))
    known = any(chart.key == "precision-rollup" for chart in charts)
    return Section(
        key="card-precision",
        title="Precisions",
        charts=charts,
        empty=None if known else _NOTHING,
    )
