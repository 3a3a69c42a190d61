"""The report card: sections of charts about a plan, in their order."""

from __future__ import annotations

from enginescope.render.plans.page_subject import PageSubject
from enginescope.render.sections.card.card_memory import card_memory
from enginescope.render.sections.card.card_overview import card_overview
from enginescope.render.sections.card.card_pointwise import card_pointwise
from enginescope.render.sections.card.card_precision import card_precision
from enginescope.render.sections.card.card_products import card_convolutions, card_matrix_products
from enginescope.render.sections.section import Section


def report_card(subject: PageSubject) -> tuple[Section | None, ...]:
    """Return the sections of the report card; those that do not apply are ``None``."""
    return (
        card_overview(subject),
        card_precision(subject),
        card_memory(subject),
        card_convolutions(subject),
        card_matrix_products(subject),
        card_pointwise(subject),
    )
