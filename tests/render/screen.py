"""What a terminal shows of a run, as text."""

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.text import summary
from enginescope.render.base.text_table import as_text


def summary_text(view: RunView, *, width: int = 80, color: bool = False) -> str:
    """Return one run as one screen, ending in a newline."""
    return as_text(summary(view, width=width), width=width, color=color)
