"""Explored plans with their display."""

from __future__ import annotations

from enginescope.notebook.display import displayed, shown_as
from enginescope.services.plans import explore as explore_service
from enginescope.services.plans.explore_request import Explored


class ShownExploration(Explored):
    """An explored plan; in notebooks its summary and tables, plain HTML."""

    def _summary(self) -> str:
        time = self.found.time
        total = f", {time.sum_ms:.6g} ms" if time is not None else ""
        return f"{self.found.name}: {len(self.found.layers):,} layers{total}"

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.plan import exploration_html

        return exploration_html(self.found, self.notices)


explore = displayed(explore_service.explore, shown_as(ShownExploration))
