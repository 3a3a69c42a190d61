"""The sections of the page, in their order."""

from __future__ import annotations

import msgspec

from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.build import build, tool_report
from enginescope.render.sections.card.report_card import report_card
from enginescope.render.sections.findings import findings
from enginescope.render.sections.graph import graph
from enginescope.render.sections.layers import layers, reformat_layers, tactics
from enginescope.render.sections.load import load
from enginescope.render.sections.measurement import (
    distribution,
    gpu,
    machine,
    method,
    percentiles,
    providers,
    where_the_time_goes,
)
from enginescope.render.sections.onnx_nodes import onnx_nodes
from enginescope.render.sections.roofline import roofline_of
from enginescope.render.sections.section import Section
from enginescope.render.sections.timeline import timeline

#: What stands open; the heading of every other section has its answer, and opens it.
_OPEN = ("findings", "graph", "load", "distribution")


def sections_of(subject: PageSubject, topk: int) -> tuple[Section, ...]:
    """Return the sections that apply to a run: findings first, then what explains them."""
    view = subject.view
    every = (
        findings(subject),
        graph(subject),
        load(view),
        distribution(view) if subject.is_measured else None,
        percentiles(view) if subject.is_measured else None,
        where_the_time_goes(view, topk),
        timeline(subject),
        providers(view),
        layers(subject),
        *report_card(subject),
        tactics(subject),
        reformat_layers(subject),
        roofline_of(subject),
        onnx_nodes(subject),
        build(subject),
        tool_report(view),
        gpu(view),
        machine(view),
        method(view),
    )
    return tuple(
        msgspec.structs.replace(one, is_folded=one.key not in _OPEN)
        for one in every
        if one is not None
    )
