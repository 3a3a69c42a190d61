"""Every section in its order: tabs of the page, parts of the Markdown."""

from collections.abc import Callable

from enginescope.core.record import Record
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.first_screen import findings
from enginescope.render.sections.graph import graph
from enginescope.render.sections.layers import (
    layers,
    memory,
    onnx_nodes,
    precisions,
    reformat_layers,
    roofline_of,
    tactics,
)
from enginescope.render.sections.measurement import (
    build,
    distribution,
    gpu,
    load,
    machine,
    method,
    percentiles,
    providers,
    timeline,
    tool_report,
    where_the_time_goes,
)
from enginescope.render.sections.section import Section, known

GRAPH, SAMPLES = "Graph", "Samples"
_TABS: tuple[tuple[str, tuple[Callable[[PageSubject], Section | None], ...]], ...] = (
    (GRAPH, (graph,)),
    ("Layers", (layers, findings, roofline_of, where_the_time_goes, onnx_nodes)),
    ("Memory", (memory,)),
    ("Precision and formats", (precisions, reformat_layers)),
    ("Tactics", (tactics,)),
    ("Build and machine", (build, tool_report, providers, machine, gpu, method)),
    (SAMPLES, (load, distribution, percentiles, timeline)),
)


class Tab(Record, frozen=True, kw_only=True):
    """Sections that are shown together; the first one's anchor is the tab's."""

    title: str
    sections: tuple[Section, ...]


def tabs_of(subject: PageSubject, *, has_graph: bool = True) -> tuple[Tab, ...]:
    """Return the tabs that apply to a run; samples come first where there are no layers."""
    tabs = [
        Tab(title=title, sections=known(*(make(subject) for make in makes)))
        for title, makes in _TABS
        if has_graph or title != GRAPH
    ]
    if not subject.layers:
        tabs.sort(key=lambda tab: tab.title != SAMPLES)
    return tuple(tab for tab in tabs if tab.sections)
