"""Sides that were held against each other, as Python and notebooks show them."""

from __future__ import annotations

from enginescope.analysis.measured_sides import MeasuredComparison
from enginescope.model.notice import Notice
from enginescope.model.verdict import Verdict


class ShownVerdicts(MeasuredComparison, frozen=True, kw_only=True, eq=False):
    """Sides with their verdicts: printed as sentences, in notebooks as tables, plain HTML."""

    @classmethod
    def of(cls, found: MeasuredComparison) -> ShownVerdicts:
        """Return `found` with its display."""
        fields = {name: getattr(found, name) for name in found.__struct_fields__}
        return cls(**fields)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the second side: of latency, or of what was sampled in its place."""
        return self.pairs[0].headline

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What weakens the verdicts; warnings first."""
        from enginescope.analysis.measured_notices import measured_notices

        return measured_notices(self)

    def __repr__(self) -> str:
        """Return the verdict on each side as a sentence."""
        from enginescope.render.verdict_phrases import headline_sentence

        return "\n".join(headline_sentence(one) for one in self.pairs)

    def _repr_html_(self) -> str:
        from enginescope.render.notebook.verdicts import verdicts_html

        return verdicts_html(self)
