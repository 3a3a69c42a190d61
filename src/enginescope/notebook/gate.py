"""A gate's report with its display."""

from __future__ import annotations

from enginescope.notebook.display import displayed, shown_as
from enginescope.records.verdict.gate import GateReport
from enginescope.services.verdicts import gate as gate_service


class ShownGate(GateReport, frozen=True, kw_only=True):
    """A gate's report; in notebooks the result and its rows, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.verdicts.gate_phrases import answer_text

        return answer_text(self)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.gate import gate_html

        return gate_html(self)


gate = displayed(gate_service.gate, shown_as(ShownGate))
