"""Findings as a notebook shows them."""

from __future__ import annotations

from typing import Any

from enginescope.analysis import frames
from enginescope.notebook.display import displayed, shown_as
from enginescope.rules.engine import LintReport
from enginescope.services.plans import lint as lint_service


class ShownFindings(LintReport, frozen=True, kw_only=True):
    """Findings of a plan, with data frames; in notebooks a table, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.plans.findings import headline

        return headline(self)

    def columns(self) -> dict[str, list[Any]]:
        """Return the findings as columns, one row each."""
        names = ("code", "rule", "subject", "message", "advice", "stake_ms", "share_pct")
        columns: dict[str, list[Any]] = {
            name: [getattr(finding, name) for finding in self.findings] for name in names
        }
        columns["severity"] = [finding.severity.value for finding in self.findings]
        columns["layers"] = [list(finding.layers) for finding in self.findings]
        return columns

    def to_pandas(self) -> Any:
        """Return `columns` as a ``pandas.DataFrame``.

        Raises:
            MissingDependencyError: pandas is not installed. The same for the other frames.
        """
        return frames.to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return `columns` as a ``polars.DataFrame``."""
        return frames.to_polars(self.columns())

    def to_arrow(self) -> Any:
        """Return `columns` as a ``pyarrow.Table``."""
        return frames.to_arrow(self.columns())

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.findings import findings_html

        return findings_html(self)


lint = displayed(lint_service.lint, shown_as(ShownFindings))
