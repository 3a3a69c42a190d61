"""How the engine was built, and what the tool reports that made an imported run."""

from __future__ import annotations

from enginescope.analysis.build_log.build_choices import choices
from enginescope.analysis.build_log.build_log_summary import (
    fusion_groups,
    reformat_costs,
    tuning_costs,
)
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.records.plan.tool_report import ToolReport
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.facts import Facts
from enginescope.render.base.figures import Figures, TextTable, reported_rows
from enginescope.render.charts.bars import tuning_bars
from enginescope.render.plans.build_text import (
    EVIDENCE,
    brief_format,
    build_fact_rows,
    chosen_formats,
    option_formats,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "build"
_MESSAGES = 100
_LAYERS = ("layer", "layers")
_NO_LOG = (
    "No build log, so fusions and tactics are unknown. Build with a verbose "
    "log (trtexec --verbose, enginescope build) and name it: enginescope explore … --build-log "
    "LOG --html FILE."
)


def build(subject: PageSubject) -> Section | None:
    """Steps, fusions, choices, tuning, memory, messages; ``None`` for a run without a plan."""
    run, story = subject.view.run, subject.story
    facts = (*_of_report(run.build), *_of_tool(run.tool))
    if run.plan is None and not facts and story is None:
        return None
    if story is None:
        empty = None if facts else _NO_LOG
        return Section(
            key=KEY,
            title="Build",
            answer=", ".join(f"{name.lower()} {value}" for name, value in facts[:2]) or None,
            empty=empty,
            facts={"pairs": facts, "figures": (), "no_log": _NO_LOG},
        )
    chart = tuning_bars(story)
    tables = (_choices(story), _fusions(story), _tuning(story), _conversions(story))
    rows = build_fact_rows(story, limit=_MESSAGES)
    return Section(
        key=KEY,
        title="Build",
        answer=f"by {story.source}",
        charts=(chart,) if chart else (),
        tables=tuple(table for table in tables if table is not None),
        empty=None if rows else f"{story.source} has nothing about a build: is the log verbose?",
        facts={"pairs": facts, "figures": tuple(map(_figures, rows)), "no_log": None},
    )


def _of_report(report: BuildReport | None) -> Facts:
    if report is None:
        return ()
    pairs = (
        ("Engine", format_bytes(report.engine_bytes)),
        ("Requested precision", report.precision),
        ("Parsing", None if report.parse_ms is None else format_ms(report.parse_ms)),
        ("Building", None if report.build_ms is None else format_ms(report.build_ms)),
        ("From the cache of engines", "yes" if report.from_cache else None),
        ("TensorRT", report.tensorrt),
        ("Command", report.command),
        *report.options.items(),
    )
    return tuple((name, value) for name, value in pairs if value)


def _of_tool(tool: ToolReport | None) -> Facts:
    if tool is None:
        return ()
    options = tool.options.get("Build Options", {})
    pairs = (
        ("Built in", None if tool.build_s is None else f"{format_significant(tool.build_s)} s"),
        ("Parsed in", None if tool.parse_s is None else f"{format_significant(tool.parse_s)} s"),
        ("Engine", None if tool.engine_bytes is None else format_bytes(tool.engine_bytes)),
        *options.items(),
    )
    return tuple((name, value) for name, value in pairs if value)


def _figures(table: TextTable) -> Figures:
    headers = tuple(f"{header[:1].upper()}{header[1:]}" for header in table.headers)
    return replace(table.figures(), headers=headers)


def _choices(story: BuildTrace) -> DataTable | None:
    found = (
        [choice for choice in choices(story) if choice.evidence != "inert"] if story.tuned else []
    )
    order = sorted(found, key=lambda one: (-(one.gap_ms or 0.0), -(one.chosen_ms or 0.0)))
    fastest = [one.fastest.tactic.time_ms if one.fastest else None for one in order]
    return data_table(
        "build-choices",
        "Chosen against fastest tried; the builder minimizes the sum, conversions included",
        _LAYERS,
        (
            column("Layer", (one.layer.name for one in order)),
            column("Chosen ms", (one.chosen_ms for one in order), 5, meaning="in tuning"),
            column("Fastest ms", fastest, 5),
            column("Gap ms", (one.gap_ms for one in order), 5),
            column("Formats", (chosen_formats(one) or None for one in order)),
            column(
                "Fastest in",
                (option_formats(one.fastest) if one.fastest else None for one in order),
            ),
            column("Tried", (one.trials for one in order), 0, meaning="tactics timed"),
            column("Evidence", (EVIDENCE[one.evidence] for one in order), is_choice=True),
            column("Tactic", (one.kernel for one in order)),
        ),
    )


def _fusions(story: BuildTrace) -> DataTable | None:
    order = sorted(fusion_groups(story), key=lambda one: (not one.in_engine, -len(one.nodes)))
    return data_table(
        "build-fusions",
        "Fusions, with most nodes first",
        ("fusion", "fusions"),
        (
            column("Result", (one.name for one in order)),
            column("Nodes", (len(one.nodes) for one in order), 0),
            column("By", (", ".join(dict.fromkeys(one.rules)) or None for one in order)),
            column(
                "Became",
                ("a layer" if one.in_engine else "a part of others" for one in order),
                is_choice=True,
            ),
        ),
    )


def _tuning(story: BuildTrace) -> DataTable | None:
    costs = tuning_costs(story)
    return data_table(
        "build-tuning",
        "What tuning cost, the longest first",
        _LAYERS,
        (
            column("Layer", (cost.name or f"unnamed: {cost.kind}s" for cost in costs)),
            column("s", (cost.tuning_s for cost in costs), 3),
            column("Share %", (cost.share_pct for cost in costs), 2, is_share=True),
            column("Formats", (cost.combinations for cost in costs), 0),
            column("Tactics timed", (cost.trials for cost in costs), 0),
            column("Rejected", (cost.pruned for cost in costs), 0),
            column("Kind", (cost.kind for cost in costs), is_choice=True),
        ),
    )


def _conversions(story: BuildTrace) -> DataTable | None:
    order = sorted(
        reformat_costs(story), key=lambda one: (one.became == "NoOp", -(one.time_ms or 0.0))
    )
    return data_table(
        "build-conversions",
        "Inserted conversions, most time first",
        ("conversion", "conversions"),
        (
            column("Conversion", (one.name for one in order)),
            column(
                "ms",
                (None if one.became == "NoOp" else one.time_ms for one in order),
                5,
                meaning="in tuning",
            ),
            column("From", (brief_format(one.source) for one in order)),
            column("To", (brief_format(one.target) for one in order)),
            column("Became", (one.became for one in order), is_choice=True),
            column("Tactics timed", (len(one.tried) for one in order), 0),
        ),
    )


def tool_report(view: RunView) -> Section | None:
    """Printed figures beside ours, options, memory, warnings; ``None`` for our own runs."""
    tool = view.run.tool
    if tool is None:
        return None
    version = f" {tool.tool_version}" if tool.tool_version else ""
    return Section(
        key="tool",
        title=f"What {tool.tool}{version} says",
        facts={
            "table": reported_rows(view),
            "pairs": _facts(view),
            "options": {**tool.options, "Device": tool.device_facts},
            "messages": tool.messages,
        },
    )


def _facts(view: RunView) -> Facts:
    tool = view.run.tool
    assert tool is not None
    passed = None if tool.passed is None else "passed" if tool.passed else "failed"
    pairs = (
        ("Verdict", passed),
        ("Throughput, queries/s", _number(tool.throughput_per_s)),
        ("Host wall time, s", _number(tool.host_walltime_s)),
        ("Total GPU compute time, s", _number(tool.total_gpu_compute_s)),
        ("Build, s", _number(tool.build_s)),
        ("Parse, s", _number(tool.parse_s)),
        ("Deserialize, s", _number(tool.deserialize_s)),
        ("Load, s", _number(tool.load_s)),
        ("Engine", format_bytes(tool.engine_bytes) if tool.engine_bytes is not None else None),
        (
            "Context memory",
            format_bytes(tool.context_memory_bytes)
            if tool.context_memory_bytes is not None
            else None,
        ),
        *((name, format_bytes(size)) for name, size in tool.memory.items()),
    )
    return tuple((name, value) for name, value in pairs if value is not None)


def _number(value: float | None) -> str | None:
    return None if value is None else format_significant(value, 6)
