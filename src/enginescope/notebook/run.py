"""A run as a notebook shows it."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView


class ShownRun(RunView):
    """A run with its figures, and a table of them in notebooks: plain HTML."""

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.run import run_html

        return run_html(self)
