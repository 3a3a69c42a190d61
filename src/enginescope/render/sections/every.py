"""The sections of the page, in their order."""

from __future__ import annotations

from enginescope.render.page_subject import PageSubject
from enginescope.render.sections.distribution import distribution
from enginescope.render.sections.layers import layers
from enginescope.render.sections.machine import machine
from enginescope.render.sections.method import method
from enginescope.render.sections.percentiles import percentiles
from enginescope.render.sections.section import Section
from enginescope.render.sections.time import where_the_time_goes
from enginescope.render.sections.tool_report import tool_report


def sections_of(subject: PageSubject, topk: int) -> tuple[Section, ...]:
    """Return the sections that apply to a run."""
    view = subject.view
    every = (
        distribution(view),
        percentiles(view),
        where_the_time_goes(view, topk),
        layers(subject),
        tool_report(view),
        machine(view),
        method(view),
    )
    return tuple(one for one in every if one is not None)
