"""Imported runs as a notebook shows them."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.notebook.display import displayed
from enginescope.notebook.run import ShownRun
from enginescope.services.plans import import_artifacts as import_artifacts_service


def _shown(views: tuple[RunView, ...]) -> tuple[ShownRun, ...]:
    return tuple(ShownRun(view.given) for view in views)


import_artifacts = displayed(import_artifacts_service.import_artifacts, _shown)
