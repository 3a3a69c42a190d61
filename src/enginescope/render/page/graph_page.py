"""A plan's graph as a page of its own, for a frame in another page."""

from __future__ import annotations

from types import SimpleNamespace

from enginescope.analysis.roofline.gpu_limits import GpuLimits
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.html.page_frame import PageData, Script, own_scripts, page_bytes
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.graph import graph


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
    end = "pageStart(() => parent.postMessage('enginescope-graph', '*'));"
    return page_bytes(
        "graph_alone.html.j2",
        PageData(charts={}, files={}),
        parts=("graph",),
        own=(Script(text=begin), *own_scripts("data.js", "graph.js"), Script(text=end)),
        title=section.title,
        section=section,
        run=SimpleNamespace(prefix=""),
    )
