"""Operations in pointwise layers and generated kernels."""

from __future__ import annotations

from enginescope.render.charts.card.registry import charts_of
from enginescope.render.plans.page_subject import PageSubject
from enginescope.render.sections.section import Section


def card_pointwise(subject: PageSubject) -> Section | None:
    """Operations with the time of the layers that hold them; ``None`` where there are none."""
    charts = charts_of(subject.plan, "pointwise-operations") if subject.plan else ()
    if not charts:
        return None
    return Section(key="card-pointwise", title="Pointwise operations", charts=charts)
