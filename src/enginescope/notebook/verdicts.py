"""Sides that were held against each other, as Python and notebooks show them."""

from __future__ import annotations

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.records.notice import Notice
from enginescope.records.verdict.verdict import Verdict


class ShownVerdicts(MeasuredComparison, frozen=True, kw_only=True, eq=False):
    """Sides with their verdicts: printed as sentences, in notebooks as tables, plain HTML."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the second side: of latency, or of what was sampled in its place."""
        return self.pairs[0].headline

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What weakens the verdicts; warnings first."""
        from enginescope.analysis.verdicts.measured_notices import measured_notices

        return measured_notices(self)

    def _summary(self) -> str:
        from enginescope.render.verdicts.verdict_phrases import headline_sentence

        return "; ".join(map(headline_sentence, self.pairs))

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.verdicts import verdicts_html

        return verdicts_html(self)
