"""Compared plans as a notebook shows them."""

from __future__ import annotations

from enginescope.analysis.comparison import Comparison


class ShownComparison(Comparison, frozen=True, kw_only=True):
    """Compared plans; in notebooks the answer and its tables, plain HTML."""

    @classmethod
    def of(cls, found: Comparison) -> ShownComparison:
        """Return `found` with its display."""
        return cls(overview=found.overview, layers=found.layers, notices=found.notices)

    def _repr_html_(self) -> str:
        from enginescope.render.notebook.comparison import comparison_html

        return comparison_html(self)
