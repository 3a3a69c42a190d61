"""Sections of a run: its build, latency, throughput, time line, GPU, providers, machine."""

from collections.abc import Sequence

from enginescope.analysis.claims.run_claims import highest, value_text
from enginescope.analysis.load.trials import trial_of
from enginescope.analysis.runs import throughput
from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.build import ToolReport
from enginescope.records.samples import QueryTrace
from enginescope.render.base import device_phrases
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.facts import Facts, machine_facts, method_facts, phase_facts
from enginescope.render.base.figures import percentile_rows, reported_rows, summary_rows
from enginescope.render.base.palette import BLUE, OTHER
from enginescope.render.base.phrases import layer_sum_sentence, pass_sentence, path_sentence
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.charts.distribution import percentiles as percentile_chart
from enginescope.render.charts.series import latency_series, memory_series
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.html import images
from enginescope.render.load.load_answer import parts_chart, parts_table, trial_text
from enginescope.render.plans.build_text import (
    build_fact_rows,
    build_facts,
    build_tables,
    message_table,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section, capitalized, known


def percentiles(subject: PageSubject) -> Section | None:
    """The percentile curve, and what the samples can carry; ``None`` for a plan's layers."""
    view = subject.view
    if not subject.is_measured:
        return None
    chart = percentile_chart(view)
    first = highest(view.latency) if view.latency else None
    return Section(
        key="percentiles",
        title="Percentiles",
        answer=value_text(first) if first else None,
        charts=known(chart),
        empty=None if chart else "This run has no samples, so no percentiles.",
        figures=(percentile_rows(view),),
    )


def distribution(subject: PageSubject) -> Section | None:
    """Every metric's figures, and latency over the run; ``None`` for a plan's layers.

    Beside layer times the histogram is here, else on the first screen.
    """
    view = subject.view
    if not subject.is_measured:
        return None
    series = latency_series(view)
    return Section(
        key="distribution",
        title="Distribution and series",
        charts=known(latency_distribution(view) if view.layer_sum is not None else None, series),
        empty=None if series else "This run has no samples: nothing was timed.",
        figures=(summary_rows(view),),
    )


def load(subject: PageSubject) -> Section | None:
    """Latency under load with its parts; ``None`` of a run without load or latencies."""
    view = subject.view
    if view.run.load is None or view.latency is None:
        return None
    trial = trial_of(view.run, None)
    answer, charts, figures = trial_text(trial), known(parts_chart(trial)), (parts_table(trial),)
    return Section(key="load", title="Load", answer=answer, charts=charts, figures=figures)


def where_the_time_goes(subject: PageSubject) -> Section:
    """The sum of the layers against the whole."""
    view = subject.view
    found = view.layer_sum
    unprofiled = (
        "No layer profile: layers cannot be timed. Measure with layer times, which is the "
        "default, or import the tool's profile together with its times."
    )
    of_layers = [layer_sum_sentence(found), pass_sentence(found)] if found else [unprofiled]
    return Section(
        key="time",
        title="Where the time goes",
        empty=None if view.layers else unprofiled,
        sentences=known(path_sentence(view), *of_layers),
    )


def gpu(subject: PageSubject) -> Section | None:
    """Clock, energy, other processes, and every quantity over time; ``None`` without a GPU."""
    view = subject.view
    if view.run.gpu is None:
        return None
    charts = telemetry_charts([view])
    note = (
        "No telemetry: enginescope bench --telemetry repeats the loop to sample it, and gives the "
        "energy per request."
    )
    if charts:
        note = (
            "Time starts with the first request of the pass; left of 0 the model is loaded and "
            "idle. The driver updates utilization every 1/6 to 1 s."
        )
    title = "GPU: clock, energy, telemetry"
    notes = (*(device_phrases.energy_sentences(view.energy) if view.energy else ()), note)
    return Section(
        key="gpu", title=title, pairs=device_phrases.gpu_facts(view), notes=notes, charts=charts
    )


KEY = "providers"


def providers(subject: PageSubject) -> Section | None:
    """Shares, what is left over with the reason, copies; ``None`` where one CPU did it all."""
    view = subject.view
    work = provider_work(view.run)
    if not is_shared(work) and view.run.preparation is None:
        return None
    has_nodes = any(one.nodes is not None for one in work)
    unreported = (
        "This ONNX Runtime does not report the provider of each node (1.24 and later do); kernels "
        "are counted after fusion."
    )
    shares = ", ".join(
        share.provider if share.time_pct is None else f"{share.provider} {share.time_pct:.1f} %"
        for share in work
    )
    of = " of the kernel time" if any(share.time_pct is not None for share in work) else ""
    return Section(
        key=KEY,
        title="Execution providers",
        answer=f"{shares}{of}",
        tables=known(_shares(work), _leftovers(work)),
        pairs=device_phrases.provider_facts(view),
        notes=known(device_phrases.caveat(work), None if has_nodes else unreported),
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
        (operator, count, one.provider, one.reasons.get(operator))
        for one in work[1:]
        for operator, count in one.operators.items()
    ]
    if not rows:
        return None
    operators, counts, names, reasons = zip(*rows, strict=True)
    columns = (
        column("Operator", operators),
        column("Nodes", counts, 0),
        column("Runs on", names),
        column("Why", reasons, meaning="by ONNX Runtime's log, where it says"),
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


def timeline(subject: PageSubject) -> Section | None:
    """One request with its parts on a scale; ``None`` without recorded stamps."""
    chart = request_timeline(subject.view.run.trace)
    return Section(key="timeline", title="Time line", charts=(chart,)) if chart else None


def request_timeline(trace: QueryTrace | None) -> images.Chart | None:
    """One typical request with its neighbors, by recorded stamps; ``None`` without any."""
    if not trace:
        return None
    count, chosen = len(trace), throughput.typical_query(trace)
    spans = throughput.part_spans(trace, range(max(0, chosen - 2), min(count, chosen + 3)))
    own = [one for one in spans if one.query == chosen]
    if not own:
        return None
    zero_ms = min(one.start_ms for one in own)
    lanes = ["enqueue (host)" if one.part == "enqueue" else one.part for one in spans]
    if len({one.stream for one in spans}) > 1:
        lanes = [f"stream {one.stream} · {lane}" for one, lane in zip(spans, lanes, strict=True)]
    times = [(one.start_ms - zero_ms, one.end_ms - zero_ms) for one in spans]
    rows = [
        {
            "lane": lane,
            "request": f"{one.query + 1:,} of {count:,}",
            "start": start,
            "end": end,
            "took": format_ms(one.end_ms - one.start_ms, 3),
            "fill": BLUE if one.query == chosen else OTHER,
        }
        for one, lane, (start, end) in zip(spans, lanes, times, strict=True)
    ]
    order = sorted(set(lanes), key=_lane_order)
    return images.Chart(
        key="request_timeline",
        title=_title(own, count),
        subtitle=_subtitle(trace, chosen),
        spec=_spec(rows, order, f"time since request {chosen + 1:,} began, ms"),
        table=images.ChartTable(
            headers=("Request", "Part", "Begins, ms", "Ends, ms", "Takes, ms"),
            rows=tuple(
                (f"{one.query + 1:,}", lane, *(f"{ms:.3f}" for ms in (start, end, end - start)))
                for one, lane, (start, end) in zip(spans, lanes, times, strict=True)
            ),
        ),
        height=24 * len(order),
        is_wide=True,
    )


def _spec(rows: list[images.Spec], order: Sequence[str], title: str) -> images.Spec:
    """Return bars that zoom; their edge is drawn, so that short ones are seen."""
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 160}
    color = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
    ends = {"start": "begins, ms#", "end": "ends, ms#"}
    bars = images.marks(
        rows,
        {"type": "bar", "height": {"band": 0.8}, "clip": True},
        x=images.quantity("start", title, scale={"nice": False}, axis=images.X_TICKS),
        x2={"field": "end"},
        y={"field": "lane", "type": "nominal", "sort": list(order), "axis": axis},
        fill=color,
        stroke=color,
        tooltip=images.tooltip(lane="part", request="request", took="takes", **ends),
    )
    return images.zoomable([bars])


def _lane_order(lane: str) -> tuple[str, int]:
    stream, _, name = lane.rpartition(" · ")
    return stream, list(throughput.PARTS).index(name.partition(" ")[0])


def _title(own: Sequence[throughput.PartSpan], count: int) -> str:
    longest = max(own, key=lambda one: one.end_ms - one.start_ms)
    on_gpu = [one for one in own if one.part != "enqueue"] or own
    whole_ms = max(one.end_ms for one in on_gpu) - min(one.start_ms for one in on_gpu)
    share = format_significant(100 * (longest.end_ms - longest.start_ms) / whole_ms, 3)
    return f"One request of {count:,}: {format_ms(whole_ms, 3)}, {longest.part} {share} % of it"


def _subtitle(trace: QueryTrace, chosen: int) -> tuple[str, ...]:
    request = f"Request {chosen + 1:,}, blue, takes about the median time"
    first = f"Recorded stamps. {request}; its neighbors are gray"
    differ_ms = throughput.clocks_differ_ms(trace)
    if differ_ms is None:
        return (first,)
    return first, (
        "Enqueue is on the host's clock, the rest on the GPU's: the clocks differ by at least "
        f"{format_ms(differ_ms, 3)}, since work begins before it is enqueued"
    )


def build(subject: PageSubject) -> Section | None:
    """Steps, fusions, choices, tuning, memory, messages; ``None`` for a run without a plan."""
    run, story = subject.view.run, subject.story
    pairs: Facts = ()
    if run.build:
        made = ((name.capitalize(), text) for name, text in build_facts(run.build))
        asked = (("Requested precision", run.build.precision), ("Command", run.build.command))
        pairs = stated(*made, *asked, *run.build.options.items())
    no_log = (
        "No build log, so fusions and tactics are unknown. Build with a verbose log (trtexec "
        "--verbose, enginescope build) and name it: enginescope explore … --build-log LOG --html "
        "FILE."
    )
    if run.plan is None and not pairs and story is None:
        return None
    section = Section(key="build", title="Build", pairs=pairs)
    if story is None:
        answer = ", ".join(f"{name.lower()} {value}" for name, value in pairs[:2]) or None
        return replace(section, answer=answer, empty=None if pairs else no_log, notes=(no_log,))
    rows = [table for table in build_fact_rows(story) if table.rows]
    tables = known(*build_tables(story), message_table("build-messages", story.messages))
    nothing = f"{story.source} has nothing about a build: is the log verbose?"
    return replace(
        section,
        answer=f"by {story.source}",
        empty=None if rows or tables else nothing,
        figures=tuple(map(capitalized, rows)),
        tables=tables,
    )


def tool_report(subject: PageSubject) -> Section | None:
    """Printed figures beside ours, options, memory, warnings; ``None`` for our own runs."""
    tool = subject.view.run.tool
    if tool is None:
        return None
    version = f" {tool.tool_version}" if tool.tool_version else ""
    silent = "It logged no warnings, or its log was not imported."
    groups = {**tool.options, "Device": tool.device_facts}
    rows = [(name, text, group) for group, some in groups.items() for name, text in some.items()]
    names, texts, of = zip(*rows, strict=True) if rows else ((),) * 3
    columns = (column("Option", names), column("Value", texts), column("Of", of, is_choice=True))
    options = data_table(
        "tool-options", "Options and device, as it printed them", ("option", "options"), columns
    )
    return Section(
        key="tool",
        title=f"What {tool.tool}{version} says",
        pairs=_tool_facts(tool),
        notes=() if tool.messages else (silent,),
        figures=known(reported_rows(subject.view)),
        tables=known(message_table("tool-messages", tool.messages), options),
    )


def _tool_facts(tool: ToolReport) -> Facts:
    sizes = {
        "Engine": tool.engine_bytes,
        "Context memory": tool.context_memory_bytes,
        **tool.memory,
    }
    figures = {
        "Throughput, queries/s": tool.throughput_per_s,
        "Host wall time, s": tool.host_walltime_s,
        "Total GPU compute time, s": tool.total_gpu_compute_s,
        "Build, s": tool.build_s,
        "Parse, s": tool.parse_s,
        "Deserialize, s": tool.deserialize_s,
        "Load, s": tool.load_s,
    }
    return stated(
        ("Verdict", None if tool.passed is None else "passed" if tool.passed else "failed"),
        *((name, format_significant(n, 6)) for name, n in figures.items() if n is not None),
        *((name, format_bytes(size)) for name, size in sizes.items() if size is not None),
    )
