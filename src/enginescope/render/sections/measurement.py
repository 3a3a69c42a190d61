"""Sections of a measured run: latency, throughput, GPU, providers, machine."""

from __future__ import annotations

from enginescope.analysis.claims.percentile import highest, value_text
from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.facts import Facts, machine_facts, method_facts, phase_facts
from enginescope.render.base.figures import percentile_rows, summary_rows
from enginescope.render.base.gpu_phrases import energy_sentences, gpu_facts
from enginescope.render.base.phrases import layer_sum_sentence, pass_sentence, path_sentence
from enginescope.render.base.provider_phrases import caveat, provider_facts
from enginescope.render.charts.bars import time_by_type
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.distribution import percentiles as percentile_chart
from enginescope.render.charts.series import latency_series, memory_series
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.plans.plan_headline import layers_text, timed_at_rest
from enginescope.render.sections.section import Section


def percentiles(view: RunView) -> Section:
    """The percentile curve, and the table with what the samples can carry."""
    chart = percentile_chart(view)
    return Section(
        key="percentiles",
        title="Percentiles",
        answer=_highest(view),
        charts=(chart,) if chart else (),
        empty=None if chart else "This run has no samples, so no percentiles.",
        facts={"table": percentile_rows(view)},
    )


def _highest(view: RunView) -> str | None:
    """Say the highest percentile that the samples can carry."""
    found = highest(view.latency) if view.latency else None
    return value_text(found) if found else None


def distribution(view: RunView) -> Section:
    """Every metric's figures, and latency over the run; with its histogram beside layers."""
    series = latency_series(view)
    charts = (latency_distribution(view) if view.layers else None, series)
    return Section(
        key="distribution",
        title="Distribution and series",
        charts=tuple(chart for chart in charts if chart),
        empty=None if series else "This run has no samples: nothing was timed.",
        facts={"table": summary_rows(view)},
    )


def where_the_time_goes(view: RunView) -> Section:
    """Time by type, where no plan tells precisions; the sum of the layers against the whole."""
    chart = time_by_type(view) if view.run.plan is None else None
    found = view.layer_sum
    of_layers = [layer_sum_sentence(found), pass_sentence(found)] if found else [_NO_PROFILE]
    sentences = [path_sentence(view), *of_layers]
    return Section(
        key="time",
        title="Where the time goes",
        charts=(chart,) if chart else (),
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
    unsized = ("Tensors of unknown size, not counted", f"{totals.unknown_tensors:,}")
    hidden = (
        "Layers that stand for a part of the network, contents not counted",
        f"{totals.whole_parts:,}",
    )
    return (
        ("Layers", layers_text(totals, timed_at_rest(view.layers))),
        ("Weights", format_bytes(totals.weights_bytes)),
        ("Activations read and written", format_bytes(totals.activation_bytes)),
        ("The same with padding", format_bytes(totals.padded_activation_bytes)),
        *((hidden,) if totals.whole_parts else ()),
        *((unsized,) if totals.unknown_tensors else ()),
    )


_NOT_SAMPLED = (
    "No telemetry: enginescope bench --telemetry repeats the loop to sample it, and gives the "
    "energy per request."
)
_IDLE = (
    "Time starts with the first request of the pass; left of 0 the model is loaded and idle. "
    "The driver updates utilization every 1/6 to 1 s."
)


def gpu(view: RunView) -> Section | None:
    """Clock, energy, other processes, and every quantity over time; ``None`` without a GPU."""
    found = view.run.gpu
    if found is None:
        return None
    charts = telemetry_charts([view])
    return Section(
        key="gpu",
        title="GPU: clock, energy, telemetry",
        charts=charts,
        facts={
            "pairs": gpu_facts(view),
            "energy": energy_sentences(view.energy) if view.energy else (),
            "about": _IDLE if charts else _NOT_SAMPLED,
        },
    )


KEY = "providers"
_NOT_SAID = (
    "This ONNX Runtime does not report the provider of each node (1.24 and later do); kernels are "
    "counted after fusion."
)


def providers(view: RunView) -> Section | None:
    """Shares, what is left over with the reason, copies; ``None`` where one CPU did it all."""
    work = provider_work(view.run)
    prepared = view.run.preparation
    if not is_shared(work) and prepared is None:
        return None
    tables = (_shares(work), _leftovers(work))
    has_nodes = any(one.nodes is not None for one in work)
    return Section(
        key=KEY,
        title="Execution providers",
        answer=", ".join(
            share.provider if share.time_pct is None else f"{share.provider} {share.time_pct:.1f} %"
            for share in work
        ),
        tables=tuple(table for table in tables if table is not None),
        facts={
            "pairs": provider_facts(view),
            "about": (caveat(work), None if has_nodes else _NOT_SAID),
        },
    )


def _shares(work: tuple[ProviderWork, ...]) -> DataTable | None:
    columns = (
        column("Provider", (one.provider for one in work)),
        column("Nodes", (one.nodes for one in work), 0, meaning="before they were fused"),
        column("Nodes %", (one.nodes_pct for one in work), 1, is_share=True),
        column(
            "Subgraphs",
            (one.subgraphs for one in work),
            0,
            meaning="a provider that compiles makes an engine of each; others count every node",
        ),
        column("Kernels", (one.kernels for one in work), 0, meaning="that ran, after fusion"),
        column("Kernel ms", (one.time_ms for one in work), 4),
        column("Time %", (one.time_pct for one in work), 1, is_share=True),
    )
    title = "Nodes and kernel time by provider"
    return data_table(f"{KEY}-shares", title, ("provider", "providers"), columns)


def _leftovers(work: tuple[ProviderWork, ...]) -> DataTable | None:
    rows = [
        (one.provider, operator, count, one.reasons.get(operator))
        for one in work[1:]
        for operator, count in one.operators.items()
    ]
    if not rows:
        return None
    columns = (
        column("Operator", (row[1] for row in rows)),
        column("Nodes", (row[2] for row in rows), 0),
        column("Runs on", (row[0] for row in rows)),
        column("Why", (row[3] for row in rows), meaning="by ONNX Runtime's log, where it says"),
    )
    title = f"What {work[0].provider} left"
    return data_table(f"{KEY}-left", title, ("operator", "operators"), columns)


def machine(view: RunView) -> Section:
    """Host, processor, GPUs, load; memory of the worker over time."""
    chart = memory_series(view) if view.run.telemetry else None
    facts = machine_facts(view.run)
    nothing = "The machine is unknown: the imported files do not name it."
    return Section(
        key="machine",
        title="Machine and memory",
        answer=facts[0][1] if facts else None,
        charts=(chart,) if chart else (),
        empty=None if facts or chart else nothing,
        facts={
            "pairs": facts,
            "no_memory": None if chart else "Memory was not sampled over time in this run.",
        },
    )


def method(view: RunView) -> Section:
    """The command to repeat it, rules, providers, phases, versions."""
    run = view.run
    return Section(
        key="method",
        title="How it was measured",
        answer="the command, the rules, versions and phases",
        facts={
            "command": run.command or (run.tool.command if run.tool else None),
            "pairs": [pair for pair in method_facts(run) if pair[0] != "Command"],
            "phases": phase_facts(run),
            "outcome": run.outcome,
        },
    )
