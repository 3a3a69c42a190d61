"""Histories with their display."""

from __future__ import annotations

from enginescope.notebook.display import displayed, shown_as
from enginescope.records.verdict.history import JobHistory
from enginescope.services.verdicts import history as history_service


class ShownHistory(JobHistory, frozen=True, kw_only=True):
    """A job's history; in notebooks its levels and their changes, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.verdicts.history_phrases import title_text

        return title_text(self)

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.history import history_html

        return history_html(self)


def _shown(histories: tuple[JobHistory, ...]) -> tuple[ShownHistory, ...]:
    return tuple(map(shown_as(ShownHistory), histories))


history = displayed(history_service.history, _shown)
