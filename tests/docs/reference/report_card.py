"""The charts of the report card and the quantities they draw."""

from enginescope.analysis.report_card.card_data import QUANTITIES
from enginescope.render.charts.card.registry import PLAN_CHARTS
from tests.docs.reference.marked_page import table


def charts_part() -> str:
    """Return the charts with their options."""
    rows = [
        (f"`{one.name}`", one.shows, ", ".join(f"`{option}`" for option in one.options))
        for one in PLAN_CHARTS.values()
    ]
    return table(("chart", "shows", "options"), rows)


def quantities_part() -> str:
    """Return the quantities with their columns."""
    rows = [(f"`{one.name}`", one.title, f"`{one.column}`") for one in QUANTITIES.values()]
    return table(("quantity", "meaning", "column"), rows)
