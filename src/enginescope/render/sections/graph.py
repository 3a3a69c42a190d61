"""The plan as a graph to walk in: a section, and a page of its own for a frame in another page."""

from types import SimpleNamespace

from markupsafe import Markup

from enginescope.analysis.graph.folding.fold import folded
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.analysis.roofline.roofline import GpuLimits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.process_control import gc_paused
from enginescope.judge.units import counted, format_ms
from enginescope.records.plan.plan import Attribution
from enginescope.render.graph.node_labels import Times, times_of
from enginescope.render.graph.view.canvas import Canvas, canvas, container, packed
from enginescope.render.graph.write.svg import draw, svg
from enginescope.render.html.page_frame import PageData, Script, own_scripts, page_bytes
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "graph"
#: Nodes of the picture for paper and without JavaScript; a page with more says so instead.
MOST_STILL = 200


def graph(subject: PageSubject) -> Section | None:
    """Return the interactive graph, or why there is none; ``None`` for a run without a plan."""
    view = subject.plan
    if view is None or not view.all_layers:
        return None
    found = subject.graph
    if found is None:
        nothing = "No layer of the plan uses a tensor or launches work, so there is no graph."
        return Section(key=KEY, title="Graph", empty=nothing)
    with gc_paused():
        times = times_of(view.attribution) or Times(time_ms={}, sum_ms=0.0)
        findings, overlay = subject.findings_of_layer, subject.overlay
        made = canvas(found, subject.trees, times, findings, overlay=overlay)
        of_layer = subject.row_of_layer
        indexes = (node.layer.index if node.layer else -1 for node in found.nodes)
        rows = packed("i4", [of_layer.get(index, -1) for index in indexes])
    layers = counted(sum(node.kind == "layer" for node in found.nodes), "layer")
    tensors = {edge.tensor.name for edge in found.edges if edge.tensor is not None}
    between = f"{layers}, {counted(len(tensors), 'tensor')} between them"
    time = "no profile, so layers have no times (trtexec --exportProfile writes one)"
    if view.total_ms is not None:
        time = f"{format_ms(view.total_ms)} over all layers"
    return Section(
        key=KEY,
        title="Graph",
        facts={
            "data": container({**made.data, "rows": rows}),
            "still": still(found, made, view.attribution),
            "sentence": f"{between}; {time}.",
        },
    )


def still(graph: PlanGraph, made: Canvas, attribution: Attribution | None) -> Markup | None:
    """Return the graph as it opens, for paper and for readers without JavaScript."""
    if len(made.seen.members) > MOST_STILL:
        return None
    drawing = draw(folded(graph, made.seen), attribution)
    return Markup(svg(drawing, is_light=True, is_titled=False))  # noqa: S704 - ours, escaped


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
