"""Sections of a measured run: latency, throughput, GPU, providers, machine."""

from __future__ import annotations

from enginescope.analysis.claims.percentile import highest, value_text
from enginescope.analysis.load.trials import trial_of
from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.facts import machine_facts, method_facts, phase_facts
from enginescope.render.base.figures import percentile_rows, summary_rows
from enginescope.render.base.gpu_phrases import energy_sentences, gpu_facts
from enginescope.render.base.phrases import layer_sum_sentence, pass_sentence, path_sentence
from enginescope.render.base.provider_phrases import caveat, provider_facts
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.distribution import percentiles as percentile_chart
from enginescope.render.charts.series import latency_series, memory_series
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.load.load_answer import parts_chart, parts_table, trial_text
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section, known


def percentiles(subject: PageSubject) -> Section | None:
    """The percentile curve, and what the samples can carry; ``None`` for a plan's layers."""
    view = subject.view
    if not subject.is_measured:
        return None
    chart = percentile_chart(view)
    return Section(
        key="percentiles",
        title="Percentiles",
        answer=_highest(view),
        charts=known(chart),
        empty=None if chart else "This run has no samples, so no percentiles.",
        figures=(percentile_rows(view),),
    )


def _highest(view: RunView) -> str | None:
    found = highest(view.latency) if view.latency else None
    return value_text(found) if found else None


def distribution(subject: PageSubject) -> Section | None:
    """Every metric's figures, and latency over the run; ``None`` for a plan's layers.

    Beside layers the histogram is here, else on the first screen.
    """
    view = subject.view
    if not subject.is_measured:
        return None
    series = latency_series(view)
    charts = (latency_distribution(view) if view.layers else None, series)
    return Section(
        key="distribution",
        title="Distribution and series",
        charts=known(*charts),
        empty=None if series else "This run has no samples: nothing was timed.",
        figures=(summary_rows(view),),
    )


def load(subject: PageSubject) -> Section | None:
    """Latency under load with its parts; ``None`` of a run without load or latencies."""
    view = subject.view
    if view.run.load is None or view.latency is None:
        return None
    trial = trial_of(view.run, None)
    chart = parts_chart(trial)
    return Section(
        key="load",
        title="Load",
        answer=trial_text(trial),
        charts=known(chart),
        figures=(parts_table(trial),),
    )


def where_the_time_goes(subject: PageSubject) -> Section:
    """The sum of the layers against the whole."""
    view = subject.view
    found = view.layer_sum
    of_layers = [layer_sum_sentence(found), pass_sentence(found)] if found else [_NO_PROFILE]
    sentences = (path_sentence(view), *of_layers)
    return Section(
        key="time",
        title="Where the time goes",
        empty=None if view.layers else _NO_PROFILE,
        sentences=known(*sentences),
    )


_NO_PROFILE = (
    "No layer profile: layers cannot be timed. Measure with layer times, which is the default, "
    "or import the tool's profile together with its times."
)


_NOT_SAMPLED = (
    "No telemetry: enginescope bench --telemetry repeats the loop to sample it, and gives the "
    "energy per request."
)
_IDLE = (
    "Time starts with the first request of the pass; left of 0 the model is loaded and idle. "
    "The driver updates utilization every 1/6 to 1 s."
)


def gpu(subject: PageSubject) -> Section | None:
    """Clock, energy, other processes, and every quantity over time; ``None`` without a GPU."""
    view = subject.view
    found = view.run.gpu
    if found is None:
        return None
    charts = telemetry_charts([view])
    return Section(
        key="gpu",
        title="GPU: clock, energy, telemetry",
        pairs=gpu_facts(view),
        notes=(
            *(energy_sentences(view.energy) if view.energy else ()),
            _IDLE if charts else _NOT_SAMPLED,
        ),
        charts=charts,
    )


KEY = "providers"
_NOT_SAID = (
    "This ONNX Runtime does not report the provider of each node (1.24 and later do); kernels are "
    "counted after fusion."
)


def providers(subject: PageSubject) -> Section | None:
    """Shares, what is left over with the reason, copies; ``None`` where one CPU did it all."""
    view = subject.view
    work = provider_work(view.run)
    prepared = view.run.preparation
    if not is_shared(work) and prepared is None:
        return None
    has_nodes = any(one.nodes is not None for one in work)
    of = " of the kernel time" if any(share.time_pct is not None for share in work) else ""
    return Section(
        key=KEY,
        title="Execution providers",
        answer=", ".join(
            share.provider if share.time_pct is None else f"{share.provider} {share.time_pct:.1f} %"
            for share in work
        )
        + of,
        tables=known(_shares(work), _leftovers(work)),
        pairs=provider_facts(view),
        notes=known(caveat(work), None if has_nodes else _NOT_SAID),
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


def machine(subject: PageSubject) -> Section:
    """Host, processor, GPUs, load; memory of the worker over time."""
    view = subject.view
    chart = memory_series(view) if view.run.telemetry else None
    facts = machine_facts(view.run)
    nothing = "The machine is unknown: the imported files do not name it."
    return Section(
        key="machine",
        title="Machine and memory",
        answer=facts[0][1] if facts else None,
        charts=known(chart),
        empty=None if facts or chart else nothing,
        pairs=facts,
        notes=() if chart else ("Memory was not sampled over time in this run.",),
    )


def method(subject: PageSubject) -> Section:
    """The command to repeat it, rules, providers, phases, versions."""
    run = subject.view.run
    return Section(
        key="method",
        title="How it was measured",
        answer="the command, the rules, versions and phases",
        pairs=tuple(pair for pair in method_facts(run) if pair[0] != "Command"),
        facts={
            "command": run.command or (run.tool.command if run.tool else None),
            "phases": phase_facts(run),
        },
    )
