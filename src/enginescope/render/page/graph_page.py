"""A plan's graph as a page of its own, for a frame in another page."""

from __future__ import annotations

from types import SimpleNamespace

from enginescope.analysis.roofline.gpu_limits import GpuLimits
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.html.page_frame import (
    PageData,
    Script,
    data_script,
    graph_script,
    graph_style,
    page_bytes,
    style,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.graph import graph

_FRAME = "main { padding: 4px 8px; } section { margin: 0; }"


def graph_page(view: RunView, color: str, *, gpu: GpuLimits | None = None) -> bytes | None:
    """Return the graph; ``None`` for a plan in which nothing is connected.

    Args:
        color: What it is colored by at first: ``type``, ``precision``, ``time``, ``findings``.
    """
    section = graph(PageSubject(view, gpu=gpu))
    if section is None or section.empty:
        return None
    # In a frame of its own origin the address cannot be changed afterwards, so nothing is kept.
    begin = f"location.hash = '#graph?color={color}'; history.replaceState = () => {{}};"
    end = "parent.postMessage('enginescope-graph', '*');"
    return page_bytes(
        "graph_alone.html.j2",
        PageData(charts={}, files={}),
        parts=(Script(text=begin), data_script(), graph_script(), Script(text=end)),
        css=style() + graph_style() + _FRAME,
        title=section.title,
        section=section,
        run=SimpleNamespace(prefix=""),
    )
