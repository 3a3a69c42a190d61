"""Validations with their display."""

from __future__ import annotations

from enginescope.analysis.validation.validation import Validation
from enginescope.notebook.display import displayed, shown_as
from enginescope.services.validation import validate as validate_service


class ShownValidation(Validation, frozen=True, kw_only=True):
    """Compared outputs; in notebooks the result and the figures of each output, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.accuracy.validate_phrases import answer

        return answer(self)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.validate import validation_html

        return validation_html(self)


validate = displayed(validate_service.validate, shown_as(ShownValidation))
