"""Where the time goes."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.render.base.facts import Facts
from enginescope.render.base.phrases import layer_sum_sentence, pass_sentence, path_sentence
from enginescope.render.charts.layers import layer_bars, time_by_precision, time_by_type
from enginescope.render.plans.layer_counts import others_text, timed_at_rest
from enginescope.render.sections.section import Section


def where_the_time_goes(view: RunView, topk: int) -> Section:
    """Time by type, precision and layer; the sum of the layers against the whole."""
    charts = (time_by_type(view), time_by_precision(view), layer_bars(view, topk))
    found = view.layer_sum
    of_layers = [layer_sum_sentence(found), pass_sentence(found)] if found else [_NO_PROFILE]
    sentences = [path_sentence(view), *of_layers]
    return Section(
        key="time",
        title="Where the time goes",
        charts=tuple(chart for chart in charts if chart),
        empty=None if view.layers else _NO_PROFILE,
        facts={
            "sentences": [sentence for sentence in sentences if sentence],
            "totals": plan_facts(view),
        },
    )


_NO_PROFILE = (
    "No layer profile: layers cannot be timed. Measure with layer times, which is the default, "
    "or import the tool's profile together with its times."
)


def plan_facts(view: RunView) -> Facts:
    """Return the plan's counts and bytes for people; empty without a plan."""
    totals = view.plan_totals
    if totals is None:
        return ()
    others = totals.layers - totals.active_layers
    rest = f", {others_text(others, timed_at_rest(view.layers))}" if others else ""
    unsized = ("Tensors of unknown size, left out", f"{totals.unknown_tensors:,}")
    hidden = (
        "Layers that stand for a whole part, their inside left out",
        f"{totals.whole_parts:,}",
    )
    return (
        ("Layers", f"{totals.active_layers:,} that do work{rest}"),
        ("Weights", format_bytes(totals.weights_bytes)),
        ("Activations read and written", format_bytes(totals.activation_bytes)),
        ("The same with padding", format_bytes(totals.padded_activation_bytes)),
        *((hidden,) if totals.whole_parts else ()),
        *((unsized,) if totals.unknown_tensors else ()),
    )
